//! Namespaces: defaults, validation, and marking as terminating.

use super::resource_definition::not_supported;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StrategyContext, Subresource};
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::selector::selectable;
use crate::machinery::{json, metadata, names};
use serde_json::{Value, json};

pub(super) static NAMESPACE: ResourceDefinition = ResourceDefinition {
    kind: "Namespace",
    metadata_checks: MetadataChecks::core_v1_checks(2).with_status_passes(1, true),
    plural: "namespaces",
    short_names: &["ns"],
    namespaced: false,
    status: true,
    subresources: &[Subresource::Finalize],
    name_rule: names::dns_label,
    deletes_collection: false,
    returns_deleted: true,
    end: Some(namespace_end),
    undeletable: &["default", "kube-public", "kube-system"],
    hooks: Hooks {
        default: namespace_default,
        create: namespace_create,
        update: namespace_update,
        validate: namespace_validate,
        validate_status: namespace_validate_status,
        ..NO_HOOKS
    },
    selectable: &[
        selectable("status.phase", &["/status/phase"]),
        selectable("name", &["/metadata/name"]),
    ],
    unknown_label: not_supported,
    columns: &[NAME, text("Status", Text("/status/phase")), AGE],
    ..PLAIN
};

const ACTIVE: &str = "Active";

fn namespace_default(object: &mut Value) {
    let name = metadata::text(object, "name").to_owned();
    if !name.is_empty() {
        json::member(&mut object["metadata"], "labels")
            .insert("kubernetes.io/metadata.name".to_owned(), name.into());
    }
    json::member(object, "status")
        .entry("phase")
        .or_insert_with(|| ACTIVE.into());
}

fn namespace_create(object: &mut Value, _: &StrategyContext<'_>) {
    let mut finalizers = object["spec"]["finalizers"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    if !finalizers.contains(&json!("kubernetes")) {
        finalizers.push("kubernetes".into());
    }
    object["spec"] = json!({"finalizers": finalizers});
    object["status"] = json!({"phase": ACTIVE});
}

fn namespace_end(object: &mut Value) {
    metadata::set(object, "deletionGracePeriodSeconds", None);
    object["status"]["phase"] = "Terminating".into();
}

/// Resets `spec.finalizers`, which only `/finalize` can change.
fn namespace_update(new: &mut Value, old: &Value, _: &StrategyContext<'_>) {
    new["spec"] = old["spec"].clone();
}

fn namespace_validate(object: &Value, errors: &mut ErrorList) {
    for finalizer in json::texts(&object["spec"]["finalizers"]) {
        errors.invalid_all("spec.finalizers", finalizer, names::qualified_name(finalizer));
        let standard = ["kubernetes", "orphan"];
        metadata::validate_core_finalizer(finalizer, &standard, "spec.finalizers".to_owned(), errors);
    }
}

/// The phase must be Terminating if, and only if, the namespace is being deleted.
fn namespace_validate_status(new: &Value, _: &Value, errors: &mut ErrorList) {
    let phase = new["status"]["phase"].as_str().unwrap_or_default();
    let (only, when) = match metadata::is_deleting(new) {
        true => ("Terminating", "not empty"),
        false => (ACTIVE, "empty"),
    };
    if phase != only {
        let text = format!("may only be '{only}' if `deletionTimestamp` is {when}");
        errors.invalid("status.Phase", phase, &text);
    }
}
