//! Deliberate defects of the API server and the driver that surround the programs under test. They prove that the cases that check those
//! two can fail.
//!
//! A defect changes how the cluster is built and which faults are injected. The expectations stay the same, because the judge uses the
//! original plan.

mod actions;
mod calls;
mod driver;
mod objects;
mod requests;
mod server;

use std::fmt;
use std::str::FromStr;

use fake_apiserver::{Release, ResourceRef};
use fake_csi::Method;

use crate::journal::Fact;
use crate::plan::Plan;

/// A deliberate defect of the API server or the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The API server ignores feature gates.
    ServerIgnoresGates,
    /// The API server always emulates the newest release.
    ServerIsNewest,
    /// The API server always emulates a release before KEP-1472.
    ServerIsOldest,
    /// The API server always emulates the last release in which `storageCapacity` of a CSIDriver is immutable.
    ServerIsBeta,
    /// The API server drops the spec of created CSIDrivers.
    ServerForgetsDriverSpec,
    /// The API server responds to requests for CSINodes with 404 (Not Found).
    ServerLacksCsiNodes,
    /// The API server treats an update (PUT) as a creation and ignores its resourceVersion.
    ServerCreatesInstead,
    /// The API server accepts changes of storageClassName and nodeTopology of a CSIStorageCapacity.
    ServerAllowsClassChange,
    /// The API server rejects changes of capacity and maximumVolumeSize of a CSIStorageCapacity.
    ServerMakesCapacityImmutable,
    /// The API server accepts invalid CSIStorageCapacity objects and corrects the invalid fields.
    ServerAcceptsInvalidObjects,
    /// The API server ignores `generateName`.
    ServerGeneratesNoNames,
    /// When a StorageClass is deleted, the API server also deletes its CSIStorageCapacity objects.
    ServerKnowsOneNamespace,
    /// The API server deletes the CSIStorageCapacity objects of a deleted class.
    ServerDeletesWithTheClass,
    /// The API server sets the capacity of a CSIStorageCapacity to zero if it is unset.
    ServerFillsInCapacity,
    /// The API server stores only the first of several CSIStorageCapacity objects for the same class and topology.
    ServerKeepsOneObject,
    /// The API server's metrics contain no request durations.
    ServerTimesNoRequests,
    /// The API server's metrics contain no request counts.
    ServerCountsNoRequests,
    /// The driver ignores the storage cost of a class: a volume uses as many raw bytes as its size.
    DriverForgetsCosts,
    /// The driver's name is not a DNS subdomain.
    DriverHasOddName,
    /// The driver's Probe always fails.
    DriverIsNeverReady,
    /// The driver advertises VOLUME_ACCESSIBILITY_CONSTRAINTS, but NodeGetInfo returns no topology segment.
    DriverHidesItsSegment,
    /// The driver advertises the capability GET_CAPACITY, but GetCapacity fails with UNIMPLEMENTED.
    DriverPromisesCapacity,
    /// GetCapacity returns the initial total capacity for every segment.
    DriverReturnsConstantCapacity,
    /// GetCapacity returns twice the capacity.
    DriverExaggerates,
    /// GetCapacity returns half of the capacity.
    DriverUnderstates,
    /// GetCapacity returns a negative number.
    DriverReturnsNegativeCapacity,
    /// The second GetCapacity response has a lower capacity, although nothing has changed.
    DriverLowersSecondResponse,
    /// GetCapacity fails with INTERNAL for unknown parameters.
    DriverFailsOnUnknownParameters,
    /// A second CreateVolume or DeleteVolume call for the same volume fails.
    DriverRefusesRepeats,
    /// GetCapacity returns a minimum_volume_size above the available capacity.
    DriverRaisesMinimum,
    /// The pools have a thousand times the configured capacity; only the first GetCapacity response returns the configured one.
    DriverGrowsLater,
    /// GetCapacity returns the whole capacity as maximum_volume_size.
    DriverIgnoresFragmentation,
    /// The driver uses every device for every class.
    DriverIgnoresParameters,
    /// The driver uses every device for every access type (block or mount).
    DriverIgnoresUses,
    /// The driver does not count raw block devices as storage.
    DriverForgetsRawDevices,
    /// CreateVolume fails without a reservation.
    DriverNeedsReservations,
    /// The driver ignores reservations.
    DriverReservesNothing,
    /// The driver forgets for which PVC a device is reserved, so that creating the volume does not end the reservation.
    DriverForgetsHolders,
    /// CreateVolume without sufficient capacity fails with INTERNAL.
    DriverReturnsWrongErrorCode,
    /// A client other than the publisher calls GetCapacity whenever a pod is created or the storage changes.
    DriverIsCalledByAnotherClient,
}

/// Removes from a plan what cannot affect a run with these facts: driver faults, an error code that was never returned, node segments that
/// were never requested, and objects that were never read.
fn observable(spoiled: Plan, plan: &Plan, facts: &[Fact]) -> Plan {
    let mut observable = actions::without_scripts(spoiled);
    if !calls::any_is_refused(facts, "RESOURCE_EXHAUSTED") {
        observable.driver.exhausted = 0;
    }
    if !calls::any_is_of(facts, Method::NodeGetInfo) {
        let segments = observable.driver_nodes.iter_mut().map(|(_, segment)| segment);
        segments.for_each(|segment| segment.clear());
    }
    observable.objects.retain(|object| {
        let resource = ResourceRef::plural_of(object);
        resource.is_none_or(|resource| plan.depends_on(resource) || requests::any_is_for(facts, resource))
    });
    observable
}

/// All defects by their command-line names.
const NAMES: [(&str, Defect); 40] = [
    ("server-ignores-gates", Defect::ServerIgnoresGates),
    ("server-is-newest", Defect::ServerIsNewest),
    ("server-is-oldest", Defect::ServerIsOldest),
    ("server-is-beta", Defect::ServerIsBeta),
    ("server-forgets-driver-spec", Defect::ServerForgetsDriverSpec),
    ("server-lacks-csi-nodes", Defect::ServerLacksCsiNodes),
    ("server-creates-instead", Defect::ServerCreatesInstead),
    ("server-allows-class-change", Defect::ServerAllowsClassChange),
    (
        "server-makes-capacity-immutable",
        Defect::ServerMakesCapacityImmutable,
    ),
    (
        "server-accepts-invalid-objects",
        Defect::ServerAcceptsInvalidObjects,
    ),
    ("server-generates-no-names", Defect::ServerGeneratesNoNames),
    ("server-knows-one-namespace", Defect::ServerKnowsOneNamespace),
    ("server-deletes-with-the-class", Defect::ServerDeletesWithTheClass),
    ("server-fills-in-capacity", Defect::ServerFillsInCapacity),
    ("server-keeps-one-object", Defect::ServerKeepsOneObject),
    ("server-times-no-requests", Defect::ServerTimesNoRequests),
    ("server-counts-no-requests", Defect::ServerCountsNoRequests),
    ("driver-forgets-costs", Defect::DriverForgetsCosts),
    ("driver-has-odd-name", Defect::DriverHasOddName),
    ("driver-is-never-ready", Defect::DriverIsNeverReady),
    ("driver-hides-its-segment", Defect::DriverHidesItsSegment),
    ("driver-promises-capacity", Defect::DriverPromisesCapacity),
    (
        "driver-returns-constant-capacity",
        Defect::DriverReturnsConstantCapacity,
    ),
    ("driver-exaggerates", Defect::DriverExaggerates),
    ("driver-understates", Defect::DriverUnderstates),
    (
        "driver-returns-negative-capacity",
        Defect::DriverReturnsNegativeCapacity,
    ),
    (
        "driver-lowers-second-response",
        Defect::DriverLowersSecondResponse,
    ),
    (
        "driver-fails-on-unknown-parameters",
        Defect::DriverFailsOnUnknownParameters,
    ),
    ("driver-refuses-repeats", Defect::DriverRefusesRepeats),
    ("driver-raises-minimum", Defect::DriverRaisesMinimum),
    ("driver-grows-later", Defect::DriverGrowsLater),
    ("driver-ignores-fragmentation", Defect::DriverIgnoresFragmentation),
    ("driver-ignores-parameters", Defect::DriverIgnoresParameters),
    ("driver-ignores-uses", Defect::DriverIgnoresUses),
    ("driver-forgets-raw-devices", Defect::DriverForgetsRawDevices),
    ("driver-needs-reservations", Defect::DriverNeedsReservations),
    ("driver-reserves-nothing", Defect::DriverReservesNothing),
    ("driver-forgets-holders", Defect::DriverForgetsHolders),
    (
        "driver-returns-wrong-error-code",
        Defect::DriverReturnsWrongErrorCode,
    ),
    (
        "driver-is-called-by-another-client",
        Defect::DriverIsCalledByAnotherClient,
    ),
];

/// The unknown name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("API server and driver have no defect {0:?}; choose one of {names}", names = NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownDefect(String);

impl Defect {
    /// All defects, in table order.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(_, defect)| defect)
    }

    /// The plan from which a cluster with this defect is built.
    pub(crate) fn spoil(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        self.change()(&mut plan);
        plan
    }

    /// Whether this defect can change the result of a run of the plan. `facts`: the journal of a run without the defect.
    pub fn shows(self, plan: &Plan, facts: &[Fact]) -> bool {
        let spoiled = self.spoil(plan);
        if plan.delays_responses() {
            return spoiled != *plan;
        }
        let (scripts, own) = (actions::scripts(&spoiled), actions::scripts(plan));
        let is_met = match scripts.strip_suffix(own.as_slice()) {
            Some(added) => added.iter().any(|script| calls::meet(facts, script)),
            None => true,
        };
        is_met || observable(spoiled, plan, facts) != observable(plan.clone(), plan, facts)
    }

    /// The function that edits a plan so that the cluster has the defect.
    fn change(self) -> fn(&mut Plan) {
        match self {
            Defect::ServerIgnoresGates => |plan| server::each_release(plan, |_, gates| gates.clear()),
            Defect::ServerIsNewest => |plan| server::always_be(plan, Release::default()),
            Defect::ServerIsOldest => |plan| server::always_be(plan, Release::OLDEST),
            Defect::ServerIsBeta => |plan| server::always_be(plan, server::last_beta()),
            Defect::ServerForgetsDriverSpec => objects::forget_driver_spec,
            Defect::ServerLacksCsiNodes => |plan| server::lack(plan, "csinodes"),
            Defect::ServerCreatesInstead => objects::create_instead,
            Defect::ServerAllowsClassChange => objects::allow_class_change,
            Defect::ServerMakesCapacityImmutable => objects::make_capacity_immutable,
            Defect::ServerAcceptsInvalidObjects => objects::accept_invalid_objects,
            Defect::ServerGeneratesNoNames => objects::generate_no_names,
            Defect::ServerKnowsOneNamespace => objects::know_one_namespace,
            Defect::ServerDeletesWithTheClass => objects::delete_with_the_class,
            Defect::ServerFillsInCapacity => objects::fill_in_capacity,
            Defect::ServerKeepsOneObject => objects::keep_one_object,
            Defect::ServerTimesNoRequests => {
                |plan| server::withhold_metric(plan, "apiserver_request_duration_seconds")
            }
            Defect::ServerCountsNoRequests => |plan| server::withhold_metric(plan, "apiserver_request_total"),
            Defect::DriverForgetsCosts => |plan| plan.driver.costs.clear(),
            Defect::DriverHasOddName => |plan| plan.driver.name = "Disk_1".to_owned(),
            Defect::DriverIsNeverReady => driver::never_be_ready,
            Defect::DriverHidesItsSegment => driver::hide_segments,
            Defect::DriverPromisesCapacity => driver::promise_capacity,
            Defect::DriverReturnsConstantCapacity => driver::return_constant_capacity,
            Defect::DriverExaggerates => driver::exaggerate,
            Defect::DriverUnderstates => driver::understate,
            Defect::DriverReturnsNegativeCapacity => driver::return_negative_capacity,
            Defect::DriverLowersSecondResponse => driver::lower_second_response,
            Defect::DriverFailsOnUnknownParameters => driver::fail_on_unknown_parameters,
            Defect::DriverRefusesRepeats => driver::refuse_repeats,
            Defect::DriverRaisesMinimum => driver::raise_minimum,
            Defect::DriverGrowsLater => driver::grow_later,
            Defect::DriverIgnoresFragmentation => driver::ignore_fragmentation,
            Defect::DriverIgnoresParameters => driver::ignore_parameters,
            Defect::DriverIgnoresUses => driver::ignore_uses,
            Defect::DriverForgetsRawDevices => driver::forget_raw_devices,
            Defect::DriverNeedsReservations => driver::need_reservations,
            Defect::DriverReservesNothing => driver::reserve_nothing,
            Defect::DriverForgetsHolders => driver::forget_holders,
            Defect::DriverReturnsWrongErrorCode => driver::return_wrong_error_code,
            Defect::DriverIsCalledByAnotherClient => driver::add_calls_of_another_client,
        }
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMES.iter().find(|(_, defect)| defect == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl FromStr for Defect {
    type Err = UnknownDefect;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let named = NAMES.iter().find(|(known, _)| *known == name);
        named
            .map(|(_, defect)| *defect)
            .ok_or_else(|| UnknownDefect(name.to_owned()))
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
