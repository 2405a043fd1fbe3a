//! A case without largest volumes, as it is for a driver that always tells one: all that there is.
//!
//! Does not touch figures for which the case itself names a maximum.

use serde_json::Value;

use super::{Action, Plan};
use crate::expectation::{Predicate, Row};

/// Puts the maximum into what the case expects, and into the objects that it begins with or makes.
pub(super) fn tell(plan: &mut Plan) {
    plan.objects.iter_mut().for_each(object);
    for step in &mut plan.steps {
        for (action, _) in &mut step.actions {
            if let Action::Create(made) = action {
                object(made);
            }
        }
        for expected in &mut step.expect {
            if let Predicate::Capacities(capacities) = &mut expected.predicate {
                capacities.0.values_mut().for_each(row);
            }
        }
    }
}

fn row(row: &mut Row) {
    if let Row::Values(values) = row {
        values.maximum = values.largest_volume();
    }
}

fn object(object: &mut Value) {
    if object["kind"] == "CSIStorageCapacity"
        && let Some(capacity) = object.get("capacity").cloned()
        && object.get("maximumVolumeSize").is_none()
    {
        object["maximumVolumeSize"] = capacity;
    }
}
