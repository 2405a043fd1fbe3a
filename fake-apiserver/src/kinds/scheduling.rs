//! scheduling.k8s.io, node.k8s.io and policy: what pods are scheduled and run by.

use super::{Generation, Hooks, Kind, NO_HOOKS, PLAIN, selectors};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Flag, Number, Of, Text};
use crate::kinds::columns::{AGE, NAME, boolean, integer, text};
use crate::machinery::faults::Faults;
use crate::machinery::{json, metadata};
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
        default: |object| json::default_member(object, "preemptionPolicy", "PreemptLowerPriority"),
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
    columns: &[
        NAME,
        integer("Value", Number("/value")),
        boolean("Global-Default", Flag("/globalDefault")),
        AGE,
        text("PreemptionPolicy", Text("/preemptionPolicy")),
    ],
    ..PLAIN
};

fn priority_validate(object: &Value, faults: &mut Faults) {
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
        faults.forbidden("metadata.name", &format!("{text} {why}"));
    } else if value > USER_PRIORITY_MAX && known.is_none() {
        let text = format!("maximum allowed value of a user defined priority is {USER_PRIORITY_MAX}");
        faults.forbidden("value", &text);
    }
    let policy = object["preemptionPolicy"].as_str().unwrap_or_default();
    faults.one_of("preemptionPolicy", policy, &["PreemptLowerPriority", "Never"]);
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
    columns: &[NAME, text("Handler", Text("/handler")), AGE],
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
    hooks: Hooks {
        validate: budget_validate,
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Min Available", Of(|o| bound(&o["spec"]["minAvailable"]))),
        text("Max Unavailable", Of(|o| bound(&o["spec"]["maxUnavailable"]))),
        integer("Allowed Disruptions", Number("/status/disruptionsAllowed")),
        AGE,
    ],
    life: Life::since(21),
    ..PLAIN
};

fn budget_validate(object: &Value, faults: &mut Faults) {
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        // The value that is shown is of the server's own type.
        let shown = format!(
            "{{\"MinAvailable\":{},\"Selector\":{},\"MaxUnavailable\":{},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["minAvailable"],
            spec["selector"],
            spec["maxUnavailable"],
            spec["unhealthyPodEvictionPolicy"]
        );
        faults.invalid_as(
            "spec",
            &shown,
            "minAvailable and maxUnavailable cannot be both set",
        );
    }
    for field in ["minAvailable", "maxUnavailable"] {
        share(&spec[field], &format!("spec.{field}"), faults);
    }
    selectors::labels(&spec["selector"], "spec.selector", faults);
    if let Some(policy) = spec["unhealthyPodEvictionPolicy"].as_str() {
        let known = ["AlwaysAllow", "IfHealthyBudget"];
        faults.one_of("spec.unhealthyPodEvictionPolicy", policy, &known);
    }
}

/// A number that is not negative, or so many of a hundred.
fn share(value: &Value, field: &str, faults: &mut Faults) {
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|number| number < 0) => {
            faults.invalid(field, value.clone(), "must be greater than or equal to 0");
        }
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or \
                    '93%', regex used for validation is '[0-9]+%')";
                faults.invalid(field, text.as_str(), why);
            } else if digits.trim_start_matches('0').len() > 2 && digits.trim_start_matches('0') != "100" {
                faults.invalid(field, text.as_str(), "must not be greater than 100%");
            }
        }
        _ => {}
    }
}

/// A number or a percentage of pods.
fn bound(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}
