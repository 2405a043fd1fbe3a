//! The `object`, `merge`, `replace`, `apply` and `delete` actions: write objects of any resource.

use std::collections::BTreeMap;

use fake_apiserver::ResourceRef;
use serde::Deserialize;
use serde_json::Value;

use super::Resolved;
use crate::plan::scope::Scope;
use crate::plan::{Action, Labelled, Target, WORKLOADS};
use crate::scenario::{ApplySpec, ReplaceSpec};

/// Deletes one or several objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeleteAction {
    /// Name of a pod to delete.
    Pod(String),
    /// Name of a PVC to delete.
    Claim(String),
    /// Any other object to delete: `{resource: pods, namespace: default, name: app}`.
    Object {
        /// Plural resource name, such as `replicasets`.
        resource: String,
        /// metadata.namespace, for namespaced resources.
        namespace: Option<String>,
        /// metadata.name.
        name: String,
    },
    /// Deletes all objects with some labels one by one, as `kubectl delete -l` does: `{resource: pods, namespace: default, labels: {app:
    /// db}}`.
    All {
        /// Plural resource name.
        resource: String,
        /// Deletes only objects in this namespace.
        namespace: Option<String>,
        /// Labels of the objects to delete.
        labels: BTreeMap<String, String>,
    },
}

/// A patch of an object of any resource.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MergeSpec {
    /// Plural resource name.
    pub resource: String,
    /// metadata.namespace, for namespaced resources.
    pub namespace: Option<String>,
    /// metadata.name.
    pub name: String,
    /// The JSON merge patch.
    pub merge: Value,
}

pub(super) fn resolve_delete(scope: &mut Scope<'_>, action: &DeleteAction) -> Resolved {
    let (resource, namespace, name) = match action {
        DeleteAction::All {
            resource,
            namespace,
            labels,
        } => return delete_all(resource, namespace.as_deref(), labels),
        DeleteAction::Pod(name) => {
            scope.defined.check_deleted_pod(name)?;
            ("pods", Some(WORKLOADS), name)
        }
        DeleteAction::Claim(name) => {
            scope.defined.check_deleted_claim(name)?;
            ("persistentvolumeclaims", Some(WORKLOADS), name)
        }
        DeleteAction::Object {
            resource,
            namespace,
            name,
        } => (resource.as_str(), namespace.as_deref(), name),
    };
    let target = named_target(resource, namespace, name)?;
    Ok(vec![(
        Action::Delete(target),
        format!("delete {resource} {name}"),
    )])
}

fn delete_all(resource: &str, namespace: Option<&str>, labels: &BTreeMap<String, String>) -> Resolved {
    is_namespaced(resource)?;
    if labels.is_empty() {
        return Err("`all` needs `labels`: set the labels of the objects to delete".to_owned());
    }
    let note = format!(
        "delete {resource} with {}",
        capacity_types::segment::format(labels)
    );
    let labelled = Labelled {
        resource: resource.to_owned(),
        namespace: namespace.map(str::to_owned),
        labels: labels.clone(),
    };
    Ok(vec![(Action::Delete(Target::Labelled(labelled)), note)])
}

pub(super) fn resolve_merge(_: &mut Scope<'_>, spec: &MergeSpec) -> Resolved {
    let target = named_target(&spec.resource, spec.namespace.as_deref(), &spec.name)?;
    let note = format!("change {} {}: {}", spec.resource, spec.name, spec.merge);
    Ok(vec![(Action::Merge(target, spec.merge.clone()), note)])
}

pub(super) fn resolve_replace(scope: &mut Scope<'_>, spec: &ReplaceSpec) -> Resolved {
    scope.register_class_object(&spec.object);
    scope.dry_run.check_kind(&spec.object)?;
    Ok(vec![replace(spec)])
}

pub(super) fn resolve_apply(scope: &mut Scope<'_>, spec: &ApplySpec) -> Resolved {
    scope.register_class_object(&spec.object);
    scope.dry_run.check_kind(&spec.object)?;
    Ok(vec![apply(spec)])
}

pub(super) fn resolve_object(scope: &mut Scope<'_>, object: &Value) -> Resolved {
    scope.check_accepted(object)?;
    Ok(vec![create_object(object)])
}

pub(super) fn replace(spec: &ReplaceSpec) -> (Action, String) {
    let at = match spec.resource_version.as_deref() {
        None => String::new(),
        Some("") => ", without a resourceVersion".to_owned(),
        Some(version) => format!(", as it was at resourceVersion {version}"),
    };
    let note = format!("replace {}{at}", kind_and_name(&spec.object));
    (Action::Replace(spec.clone()), note)
}

pub(super) fn apply(spec: &ApplySpec) -> (Action, String) {
    let force = if spec.force { ", with force" } else { "" };
    let note = format!("apply {} as {}{force}", kind_and_name(&spec.object), spec.manager);
    (Action::Apply(spec.clone()), note)
}

fn kind_and_name(object: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]))
}

pub(super) fn create_object(object: &Value) -> (Action, String) {
    let note = format!("create {}", kind_and_name(object));
    (Action::Create(object.clone()), note)
}

fn named_target(resource: &str, namespace: Option<&str>, name: &str) -> Result<Target, String> {
    match (is_namespaced(resource)?, namespace) {
        (true, None) => Err(format!(
            "objects of `{resource}` are in a namespace; add `namespace`"
        )),
        (false, Some(_)) => Err(format!(
            "objects of `{resource}` are not in a namespace; remove `namespace`"
        )),
        _ => Ok(Target::Named {
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        }),
    }
}

fn is_namespaced(resource: &str) -> Result<bool, String> {
    let known = ResourceRef::by_plural(resource).map(|(_, namespaced)| namespaced);
    known.ok_or_else(|| format!("unknown resource `{resource}`; use the plural name, such as `replicasets`"))
}
