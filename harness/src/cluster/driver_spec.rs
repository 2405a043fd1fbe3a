//! Converts the driver settings of a plan to those of the fake driver.

use std::time::Duration;

use fake_csi::{CostFactor, DriverSpec};

use crate::plan::Plan;

/// The fake driver's settings. `latency`: of every call; `Some` only in simulated time, in which the driver creates no target paths.
pub(super) fn driver_spec(plan: &Plan, latency: Option<Duration>) -> DriverSpec {
    DriverSpec {
        topology_keys: plan.segments.keys().to_vec(),
        advertise_get_capacity: plan.driver.get_capacity,
        advertise_clone_volume: plan.driver.clone_volume,
        snapshots: plan.driver.snapshots.clone(),
        mutable_parameters: plan.driver.mutable_parameters.clone(),
        reports_reserved: plan.driver.reports_reserved,
        exhausted: plan.driver.exhausted.into(),
        capacity_variation: plan.driver.varies_by,
        reports_volume_size: plan.driver.returns_volume_size,
        lenient: !plan.driver.strict,
        version: plan.driver.version,
        creates_target_paths: latency.is_none(),
        latency: latency.unwrap_or_default(),
        ..DriverSpec::new(plan.driver.name.clone())
    }
}

pub(super) fn cost_factor((parameter, value, factor): &(String, String, u64)) -> CostFactor {
    let (parameter, value) = (parameter.clone(), value.clone());
    CostFactor {
        parameter,
        value,
        numerator: *factor,
        denominator: 1,
    }
}
