//! RuntimeClass: validation and columns.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, internal_form, pod};
use crate::config::release::Life;
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;
use std::collections::HashSet;

pub(super) static RUNTIME_CLASS: ResourceDefinition = ResourceDefinition {
    kind: "RuntimeClass",
    metadata_checks: MetadataChecks::machinery(2),
    plural: "runtimeclasses",
    singular: "runtimeclass",
    group: "node.k8s.io",
    namespaced: false,
    unconditional_update: false,
    hooks: Hooks {
        validate,
        validate_update: |new, old, errors| errors.members_unchanged(new, old, &["handler"]),
        ..NO_HOOKS
    },
    columns: &[NAME, text("Handler", Text("/handler")), AGE],
    life: Life::since(20),
    ..PLAIN
};

fn validate(class: &Value, errors: &mut ErrorList) {
    errors.require_valid("handler", string(class, "handler"), names::label);
    if class["overhead"].is_object() {
        // The pod overhead is validated like the limits of a container.
        pod::resources::overhead(&class["overhead"]["podFixed"], "overhead", errors);
    }
    let scheduling = &class["scheduling"];
    metadata::labels(&scheduling["nodeSelector"], "scheduling.nodeSelector", errors);
    tolerations(&scheduling["tolerations"], errors);
}

/// Validates tolerations, which must be unique.
fn tolerations(all: &Value, errors: &mut ErrorList) {
    let field = "scheduling.tolerations";
    pod::tolerations(all, field, errors);
    let mut seen = HashSet::new();
    for (i, toleration) in list(all).iter().enumerate() {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|name| string(toleration, name));
        if !seen.insert((key, operator, value, effect)) {
            let shown = internal_form::shown("Toleration", toleration);
            errors.duplicate_as(format!("{field}[{i}]"), &shown);
        }
    }
}
