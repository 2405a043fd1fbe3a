//! Leases of coordination.k8s.io. The feature gate of coordinated leader election is off, as by default.

use super::{Generation, Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json;
use serde_json::Value;

pub(super) static LEASE: ResourceDefinition = ResourceDefinition {
    group: "coordination.k8s.io",
    kind: "Lease",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "leases",
    generation: Generation::None,
    unconditional_update: false,
    create_on_update: true,
    hooks: Hooks {
        create: |lease, _| drop_election(lease),
        update: |lease, _, _| drop_election(lease),
        validate: lease_validate,
        ..NO_HOOKS
    },
    columns: &[NAME, text("Holder", Text("/spec/holderIdentity")), AGE],
    ..PLAIN
};

/// Drops the fields of coordinated leader election, whose feature gate is off.
fn drop_election(lease: &mut Value) {
    for field in ["preferredHolder", "strategy"] {
        json::assign(&mut lease["spec"], field, Value::Null);
    }
}

fn lease_validate(object: &Value, errors: &mut ErrorList) {
    let spec = &object["spec"];
    if let Some(seconds) = spec["leaseDurationSeconds"].as_i64()
        && seconds <= 0
    {
        errors.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    if let Some(count) = spec["leaseTransitions"].as_i64()
        && count < 0
    {
        errors.invalid(
            "spec.leaseTransitions",
            count,
            "must be greater than or equal to 0",
        );
    }
}
