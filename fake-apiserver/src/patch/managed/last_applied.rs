//! The last-applied annotation of client-side apply, for the manager `kubectl`: fields in the annotation cause no conflict, and server-side
//! apply updates the annotation.

use super::check::check;
use super::compare::{compare, fields};
use super::set::Set;
use super::type_structure::TypeStructure;
use crate::kinds::Kind;
use crate::machinery::{json, metadata};
use serde_json::Value;

/// The default manager of `kubectl apply --server-side`.
pub(super) const KUBECTL: &str = "kubectl";

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Removes from `conflicts` the fields that have not changed since client-side apply set them.
pub(super) fn without_last_applied(
    kind: &Kind,
    live: &Value,
    conflicts: Vec<(String, Set<'_>)>,
) -> Vec<(String, Vec<String>)> {
    let document = last_applied(kind, live);
    let validated = kind.validated_version();
    let structure = TypeStructure::of_kind(&validated);
    let allowed = document.as_ref().map(|document| {
        let changes = compare(structure, document, live);
        let changed = changes.modified.union(changes.added).union(changes.removed);
        fields(structure, document).difference(&changed)
    });
    conflicts
        .into_iter()
        .map(|(manager, set)| {
            (
                manager,
                set.difference(&allowed.clone().unwrap_or_default()).paths(),
            )
        })
        .filter(|(_, paths)| !paths.is_empty())
        .collect()
}

/// The last configuration of client-side apply, in the stored version. `None` if the annotation is missing or invalid.
fn last_applied(kind: &Kind, live: &Value) -> Option<Value> {
    let text = live["metadata"]["annotations"][ANNOTATION].as_str()?;
    let mut document: Value = serde_json::from_str(text).ok()?;
    if document["apiVersion"] != kind.api_version() {
        return None;
    }
    for name in ["apiVersion", "kind"] {
        json::assign(&mut document, name, Value::Null);
    }
    check(TypeStructure::of_kind(kind), &document).ok()?;
    Some(kind.to_stored(document))
}

/// Updates the last-applied annotation, if the object has one, to the applied configuration.
pub(super) fn refresh(object: &mut Value, applied: &Value) {
    let current = object["metadata"]["annotations"][ANNOTATION].as_str();
    if current.is_none_or(str::is_empty) {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = applied.pointer_mut("/metadata/annotations") {
        json::assign(annotations, ANNOTATION, Value::Null);
    }
    let annotations = json::member(&mut object["metadata"], "annotations");
    annotations.insert(ANNOTATION.to_owned(), format!("{applied}\n").into());
    let bytes: usize = (annotations.iter())
        .map(|(name, value)| name.len() + value.as_str().unwrap_or_default().len())
        .sum();
    if bytes > metadata::ANNOTATIONS_BYTES_MAX {
        annotations.remove(ANNOTATION);
    }
}
