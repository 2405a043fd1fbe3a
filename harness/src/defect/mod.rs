//! Deliberate defects of the API server and of the driver. They prove that cases which check the API server or the driver can fail.
//!
//! A defect changes how the cluster is built and which faults are injected. The expectations stay the same, because the judge uses the
//! original plan.

mod actions;
mod driver;
mod evidence;
mod objects;
mod server;

use std::fmt;
use std::str::FromStr;

use fake_apiserver::{Release, ResourceRef};
use fake_csi::{Access, Code, Method};
use serde_json::json;

use actions::each_object;

use crate::journal::Fact;
use crate::plan::Plan;

/// A deliberate defect of the API server or the driver.
#[derive(Clone, Copy)]
pub struct Defect {
    name: &'static str,
    change: fn(&mut Plan),
}

macro_rules! defects {
    ($($name:literal => $change:expr;)+) => {
        const DEFECTS: &[Defect] = &[$(Defect { name: $name, change: $change }),+];
    };
}

// `suites/defects.yaml` describes each defect.
defects! {
    "server-ignores-gates" => |plan| server::each_release(plan, |_, gates| gates.clear());
    "server-is-newest" => |plan| server::emulate_only_release(plan, Release::default());
    "server-is-oldest" => |plan| server::emulate_only_release(plan, Release::OLDEST);
    "server-is-beta" => |plan| server::emulate_only_release(plan, server::last_beta());
    "server-forgets-driver-spec" => |plan| each_object(plan, "CSIDriver", |object| object["spec"] = json!({}));
    "server-lacks-csi-nodes" => |plan| server::hide_resource(plan, "csinodes");
    "server-creates-instead" => objects::create_instead_of_replacing;
    "server-allows-class-change" => objects::allow_class_change;
    "server-makes-capacity-immutable" => objects::make_capacity_immutable;
    "server-accepts-invalid-objects" => objects::accept_invalid_objects;
    "server-generates-no-names" => objects::generate_no_names;
    "server-knows-one-namespace" => objects::know_one_namespace;
    "server-deletes-with-the-class" => objects::delete_with_the_class;
    "server-fills-in-capacity" => objects::fill_in_capacity;
    "server-keeps-one-object" => objects::drop_duplicate_objects;
    "server-times-no-requests" => |plan| server::withhold_metric(plan, "apiserver_request_duration_seconds");
    "server-counts-no-requests" => |plan| server::withhold_metric(plan, "apiserver_request_total");
    "driver-forgets-costs" => |plan| plan.driver.costs.clear();
    "driver-has-odd-name" => |plan| plan.driver.name = "Disk_1".to_owned();
    "driver-is-never-ready" => |plan| driver::fail_method(plan, Method::Probe, Code::FailedPrecondition);
    "driver-hides-its-segment" => clear_segments;
    "driver-promises-capacity" => driver::advertise_unimplemented_get_capacity;
    "driver-returns-constant-capacity" => |plan| driver::add_rule(plan, driver::get_capacity_rule);
    "driver-exaggerates" => |plan| driver::add_rule(plan, |all| driver::get_capacity_rule(all.saturating_mul(2)));
    "driver-understates" => |plan| driver::add_rule(plan, |all| driver::get_capacity_rule(all / 2));
    "driver-returns-negative-capacity" => |plan| driver::add_rule(plan, |_| driver::get_capacity_rule(-1));
    "driver-lowers-second-response" => |plan| driver::add_rule(plan, |all| driver::apply_once(driver::skip_first_call(driver::get_capacity_rule(all / 2))));
    "driver-fails-on-unknown-parameters" => driver::fail_on_unknown_parameters;
    "driver-refuses-repeats" => driver::fail_repeated_calls;
    "driver-raises-minimum" => driver::raise_minimum;
    "driver-grows-later" => driver::grow_pools_after_first_call;
    "driver-ignores-fragmentation" => |plan| driver::add_rule(plan, |all| driver::apply_once(driver::get_capacity_rule(all)));
    "driver-ignores-parameters" => |plan| driver::each_device(plan, |device| device.parameters.clear());
    "driver-ignores-uses" => |plan| driver::each_device(plan, |device| device.access = Access::Any);
    "driver-forgets-raw-devices" => driver::forget_raw_devices;
    "driver-needs-reservations" => driver::need_reservations;
    "driver-reserves-nothing" => driver::reserve_nothing;
    "driver-forgets-holders" => driver::forget_holders;
    "driver-returns-wrong-error-code" => driver::return_wrong_error_code;
    "driver-is-called-by-another-client" => driver::add_calls_of_another_client;
}

/// Error for a name that no defect has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("API server and driver have no defect {0:?}; choose one of {names}", names = names())]
pub struct UnknownDefect(String);

fn names() -> String {
    let names: Vec<&str> = DEFECTS.iter().map(|defect| defect.name).collect();
    names.join(", ")
}

impl Defect {
    /// All defects, in the order of their definition.
    pub fn all() -> impl Iterator<Item = Self> {
        DEFECTS.iter().copied()
    }

    pub(crate) fn inject_into(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        (self.change)(&mut plan);
        plan
    }

    /// Whether this defect can change the result of a run of the plan. `facts`: the journal of a run without the defect.
    pub fn may_change_result(self, plan: &Plan, facts: &[Fact]) -> bool {
        let spoiled = self.inject_into(plan);
        if plan.delays_responses() {
            return spoiled != *plan;
        }
        let (scripts, own) = (
            actions::driver_fault_rules(&spoiled),
            actions::driver_fault_rules(plan),
        );
        let is_met = match scripts.strip_suffix(own.as_slice()) {
            Some(added) => added
                .iter()
                .any(|script| evidence::matches_any_call(facts, script)),
            None => true,
        };
        is_met || observable_part(spoiled, plan, facts) != observable_part(plan.clone(), plan, facts)
    }
}

/// Removes the parts of a plan that cannot affect a run with these facts: driver faults, an error code that was never returned, node
/// segments that no client requested, and objects that no client read.
fn observable_part(spoiled: Plan, plan: &Plan, facts: &[Fact]) -> Plan {
    let mut observable = actions::without_driver_faults(spoiled);
    if !evidence::any_is_refused(facts, "RESOURCE_EXHAUSTED") {
        observable.driver.exhausted = 0;
    }
    if !evidence::contains_call_of(facts, Method::NodeGetInfo) {
        clear_segments(&mut observable);
    }
    observable.objects.retain(|object| {
        let resource = ResourceRef::plural_of(object);
        resource
            .is_none_or(|resource| plan.depends_on(resource) || evidence::contains_access_to(facts, resource))
    });
    observable
}

fn clear_segments(plan: &mut Plan) {
    let segments = plan.driver_nodes.iter_mut().map(|(_, segment)| segment);
    segments.for_each(|segment| segment.clear());
}

impl PartialEq for Defect {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Defect {}

impl fmt::Debug for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let known = Self::all().find(|defect| defect.name == name);
        known.ok_or_else(|| UnknownDefect(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defect_names_round_trip() {
        for defect in Defect::all() {
            assert_eq!(defect.to_string().parse(), Ok(defect));
        }
        assert!(
            "server-sleeps"
                .parse::<Defect>()
                .unwrap_err()
                .to_string()
                .contains("server-is-newest")
        );
    }
}
