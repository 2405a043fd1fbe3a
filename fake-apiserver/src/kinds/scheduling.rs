//! scheduling.k8s.io, node.k8s.io and policy: what pods are scheduled and run by.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN};
use crate::faults::Faults;
use crate::meta;
use crate::printer;
use crate::release::Life;
use serde_json::{Value, json};

/// The highest value that a class of users may have.
const USER_PRIORITY_MAX: i64 = 1_000_000_000;
/// Names with this beginning are the system's.
const SYSTEM: &str = "system-";

pub(super) static PRIORITY_CLASS: Kind = Kind {
    kind: "PriorityClass",
    plural: "priorityclasses",
    singular: "priorityclass",
    group: "scheduling.k8s.io",
    short_names: &["pc"],
    namespaced: false,
    generation: Generation::FromCreation,
    hooks: Hooks {
        default: |object| meta::default_member(object, "preemptionPolicy", "PreemptLowerPriority"),
        validate: priority_validate,
        validate_update: |new, old, faults| {
            for field in ["value", "preemptionPolicy"] {
                if new[field] != old[field] {
                    faults.forbidden(field, "may not be changed in an update.");
                }
            }
        },
        ..NO_HOOKS
    },
    printer: &printer::PRIORITY_CLASS,
    ..PLAIN
};

fn priority_validate(object: &Value, faults: &mut Faults) {
    let (name, value) = (
        meta::text(object, "name"),
        object["value"].as_i64().unwrap_or_default(),
    );
    let known = SYSTEM_CLASSES.iter().find(|(known, _)| *known == name);
    if name.starts_with(SYSTEM) && known.is_none_or(|(_, fixed)| *fixed != value) {
        faults.forbidden(
            "metadata.name",
            "priority class names with 'system-' prefix are reserved for system use only. error: \
             only system priority classes are allowed to start with 'system-'",
        );
    } else if value > USER_PRIORITY_MAX && known.is_none() {
        let text = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        faults.forbidden("value", &text);
    }
    let policy = object["preemptionPolicy"].as_str().unwrap_or_default();
    faults.one_of("preemptionPolicy", policy, &["Never", "PreemptLowerPriority"]);
}

/// The classes that every cluster has, with their values.
const SYSTEM_CLASSES: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// The classes that every cluster has.
pub(crate) fn system_classes() -> impl Iterator<Item = Value> {
    SYSTEM_CLASSES.iter().map(|(name, value)| {
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name, "generation": 1},
            "value": value, "preemptionPolicy": "PreemptLowerPriority",
            "description": "For pods without which the cluster, or a node, does not work.",
        })
    })
}

pub(super) static RUNTIME_CLASS: Kind = Kind {
    kind: "RuntimeClass",
    plural: "runtimeclasses",
    singular: "runtimeclass",
    group: "node.k8s.io",
    namespaced: false,
    unconditional_update: false,
    printer: &printer::RUNTIME_CLASS,
    life: Life::since(20),
    ..PLAIN
};

pub(super) static POD_DISRUPTION_BUDGET: Kind = Kind {
    kind: "PodDisruptionBudget",
    plural: "poddisruptionbudgets",
    singular: "poddisruptionbudget",
    group: "policy",
    short_names: &["pdb"],
    status: true,
    generation: Generation::FromCreation,
    unconditional_update: false,
    printer: &printer::POD_DISRUPTION_BUDGET,
    life: Life::since(21),
    ..PLAIN
};
