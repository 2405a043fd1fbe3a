//! PodDisruptionBudget. No controller counts pods; clients write the status.

use super::{Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, selectors};
use crate::config::release::ServedReleases;
use crate::kinds::columns::Cell::{Number, Of};
use crate::kinds::columns::{AGE, NAME, integer, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::names;
use serde_json::Value;

pub(super) static POD_DISRUPTION_BUDGET: ResourceDefinition = ResourceDefinition {
    kind: "PodDisruptionBudget",
    name_rule: names::path_segment,
    metadata_checks: MetadataChecks::core_v1_checks(0),
    plural: "poddisruptionbudgets",
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
        text(
            "Min Available",
            Of(|o| int_or_percent_cell(&o["spec"]["minAvailable"])),
        ),
        text(
            "Max Unavailable",
            Of(|o| int_or_percent_cell(&o["spec"]["maxUnavailable"])),
        ),
        integer("Allowed Disruptions", Number("/status/disruptionsAllowed")),
        AGE,
    ],
    life: ServedReleases::since(21),
    ..PLAIN
};

fn budget_validate(object: &Value, errors: &mut ErrorList) {
    let spec = &object["spec"];
    if !spec["minAvailable"].is_null() && !spec["maxUnavailable"].is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.invalid("spec", spec.clone(), detail);
    }
    selectors::labels(&spec["selector"], "spec.selector", errors);
}

fn int_or_percent_cell(value: &Value) -> Value {
    match value {
        Value::Null => "N/A".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}
