//! Adapts a case without maximum volume sizes to a driver that always reports a maximum equal to the capacity.
//!
//! Does not change expectations and objects that already contain a maximum.

use serde_json::Value;

use super::{Action, Plan};
use crate::expectation::{Predicate, Row};

/// Sets the maximum volume size in expected capacities, initial objects and created objects to their capacity.
pub(super) fn set_maximum_to_capacity(plan: &mut Plan) {
    plan.objects.iter_mut().for_each(set_in_object);
    for step in &mut plan.steps {
        for (action, _) in &mut step.actions {
            if let Action::Create(created) = action {
                set_in_object(created);
            }
        }
        for expected in &mut step.expect {
            if let Predicate::Capacities(capacities) = &mut expected.predicate {
                capacities.0.values_mut().for_each(set_in_row);
            }
        }
    }
}

fn set_in_row(row: &mut Row) {
    if let Row::Values(values) = row {
        values.maximum = values.largest_volume();
    }
}

fn set_in_object(object: &mut Value) {
    if object["kind"] == "CSIStorageCapacity"
        && let Some(capacity) = object.get("capacity").cloned()
        && object.get("maximumVolumeSize").is_none()
    {
        object["maximumVolumeSize"] = capacity;
    }
}
