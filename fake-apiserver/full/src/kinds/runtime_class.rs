//! RuntimeClass: validation and table columns.

use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::{list, string};
use fake_apiserver::extension::resource::Cell::Text;
use fake_apiserver::extension::resource::ServedReleases;
use fake_apiserver::extension::resource::{AGE, NAME, text};
use fake_apiserver::extension::resource::{
    Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, internal_form, overhead, pod_tolerations,
};
use fake_apiserver::extension::{metadata, names};
use serde_json::Value;
use std::collections::HashSet;

pub(super) static RUNTIME_CLASS: ResourceDefinition = ResourceDefinition {
    kind: "RuntimeClass",
    metadata_checks: MetadataChecks::apimachinery_checks(2),
    plural: "runtimeclasses",
    group: "node.k8s.io",
    namespaced: false,
    unconditional_update: false,
    hooks: Hooks {
        validate,
        validate_update: |new, old, errors| errors.require_members_unchanged(new, old, &["handler"]),
        ..NO_HOOKS
    },
    columns: &[NAME, text("Handler", Text("/handler")), AGE],
    life: ServedReleases::since(20),
    ..PLAIN
};

fn validate(class: &Value, errors: &mut ErrorList) {
    errors.require_valid("handler", string(class, "handler"), names::dns_label);
    if class["overhead"].is_object() {
        // The pod overhead is validated like the limits of a container.
        overhead(&class["overhead"]["podFixed"], "overhead", errors);
    }
    let scheduling = &class["scheduling"];
    metadata::validate_labels(&scheduling["nodeSelector"], "scheduling.nodeSelector", errors);
    validate_tolerations(&scheduling["tolerations"], errors);
}

/// Validates the tolerations of a RuntimeClass, which must be unique.
fn validate_tolerations(all: &Value, errors: &mut ErrorList) {
    let field = "scheduling.tolerations";
    pod_tolerations(all, field, errors);
    let mut seen = HashSet::new();
    for (i, toleration) in list(all).iter().enumerate() {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|name| string(toleration, name));
        if !seen.insert((key, operator, value, effect)) {
            let shown = internal_form("Toleration", toleration);
            errors.duplicate_as(format!("{field}[{i}]"), &shown);
        }
    }
}
