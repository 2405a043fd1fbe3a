//! What a plan says about the driver and the systems under test, in the words of those who start them.

use std::time::Duration;

use fake_csi::{CostFactor, DriverSpec};

use crate::plan::Plan;
use crate::system::Settings;

pub(super) fn driver_spec(plan: &Plan) -> DriverSpec {
    DriverSpec {
        topology_keys: plan.segments.keys().to_vec(),
        advertise_get_capacity: plan.driver.get_capacity,
        advertise_clone_volume: plan.driver.clone_volume,
        mutable_parameters: plan.driver.mutable_parameters.clone(),
        tells_reserved: plan.driver.tells_reserved,
        lenient: !plan.driver.strict,
        version: plan.driver.version,
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

/// The poll interval of a publisher that is not to poll.
const UNPOLLED: Duration = Duration::from_secs(3600);

pub(super) fn settings(plan: &Plan, refresh: Duration) -> Settings {
    Settings {
        mode: plan.mode,
        refresh: if plan.publisher.polls { refresh } else { UNPOLLED },
        publish: plan.publisher.publish,
        by_owner: plan.publisher.by_owner,
        metadata: plan.publisher.metadata,
        asks_per_second: plan.publisher.asks_per_second,
        owner_level: plan.publisher.owner_level,
        immediate: plan.publisher.immediate,
        zero: plan.publisher.zero,
        strict_topology: plan.publisher.strict_topology,
        scheduler: plan.scheduler.clone(),
        withdraw: plan.publisher.withdraw,
        election: plan.publisher.replicas.is_some(),
        driver: plan.driver.name.clone(),
        orphan_after: plan.orphan_after,
        extenders: None,
    }
}
