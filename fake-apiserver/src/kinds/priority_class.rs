//! PriorityClass, and the two system classes.

use super::{Generation, Hooks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::{Flag, Number, Text};
use crate::kinds::columns::{AGE, NAME, boolean, integer, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::{json, metadata};
use serde_json::{Value, json};

const USER_PRIORITY_MAX: i64 = 1_000_000_000;

const SYSTEM: &str = "system-";

pub(super) static PRIORITY_CLASS: ResourceDefinition = ResourceDefinition {
    kind: "PriorityClass",
    plural: "priorityclasses",
    group: "scheduling.k8s.io",
    short_names: &["pc"],
    namespaced: false,
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: |object| json::default_member(object, "preemptionPolicy", "PreemptLowerPriority"),
        validate_create: priority_validate,
        validate_update: |new, old, errors| {
            if new["value"] != old["value"] {
                errors.forbidden("value", "may not be changed in an update.");
            }
            errors.require_members_unchanged(new, old, &["preemptionPolicy"]);
        },
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        integer("Value", Number("/value")),
        boolean("Global-Default", Flag("/globalDefault")),
        AGE,
        text("PreemptionPolicy", Text("/preemptionPolicy")),
    ],
    ..PLAIN
};

fn priority_validate(object: &Value, errors: &mut ErrorList) {
    let (name, value) = (
        metadata::text(object, "name"),
        object["value"].as_i64().unwrap_or_default(),
    );
    let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name);
    if name.starts_with(SYSTEM) && known.is_none_or(|(_, fixed)| *fixed != value) {
        let why = match known {
            Some((_, fixed)) => format!("value of {name} PriorityClass must be {fixed}"),
            None => format!("{name} is not a known system priority class"),
        };
        let text = "priority class names with 'system-' prefix are reserved for system use only. error:";
        errors.forbidden("metadata.name", &format!("{text} {why}"));
    } else if value > USER_PRIORITY_MAX && known.is_none() {
        let text = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        errors.forbidden("value", &text);
    }
    let policy = object["preemptionPolicy"].as_str().unwrap_or_default();
    match policy {
        "" => errors.required("preemptionPolicy", ""),
        policy => errors.one_of("preemptionPolicy", policy, &["PreemptLowerPriority", "Never"]),
    }
}

const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

pub(crate) fn system_classes() -> impl Iterator<Item = Value> {
    SYSTEM_CLASSES.iter().map(|(name, value)| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name, "generation": 1},
            "value": value, "preemptionPolicy": "PreemptLowerPriority",
            "description": "Used for pods that are critical for the cluster or a node.",
        })
    })
}
