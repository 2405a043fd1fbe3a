//! Deliberate defects of what surrounds the systems under test: the API server and the driver. They show that cases about those two can
//! fail.
//!
//! A defect changes how the cluster is built and scripted, never what the case expects: the judge reads the plan as it was written.

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

/// One way in which the surroundings are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The API server takes no notice of feature gates.
    ServerIgnoresGates,
    /// The API server has the newest release, whatever the case requires.
    ServerIsNewest,
    /// The API server has a release from before KEP-1472, whatever the case requires.
    ServerIsOldest,
    /// The API server has the last release with the first rules for CSIDriver, whatever the case requires.
    ServerIsBeta,
    /// The API server keeps nothing of the spec of a CSIDriver that is created.
    ServerForgetsDriverSpec,
    /// The API server does not find CSINodes.
    ServerLacksCsiNodes,
    /// The API server takes a replacement for a creation, whatever version it replaces.
    ServerCreatesInstead,
    /// The API server lets class and topology of a CSIStorageCapacity be changed.
    ServerLetsClassesChange,
    /// The API server refuses changes of the figures of a CSIStorageCapacity.
    ServerFreezesFigures,
    /// The API server takes every CSIStorageCapacity, and corrects what is not legal.
    ServerTakesEverything,
    /// The API server makes no name of `generateName`.
    ServerGeneratesNoNames,
    /// The API server keeps all CSIStorageCapacity objects in one namespace.
    ServerKnowsOneNamespace,
    /// The API server deletes the CSIStorageCapacity objects of a class with the class.
    ServerDeletesWithTheClass,
    /// The API server writes a zero where a CSIStorageCapacity has no capacity.
    ServerFillsInCapacity,
    /// The API server keeps the first CSIStorageCapacity of a class and topology only.
    ServerKeepsOneObject,
    /// The metrics of the API server do not tell how long requests take.
    ServerTimesNoRequests,
    /// The metrics of the API server do not count requests.
    ServerCountsNoRequests,
    /// The driver takes a volume for as large as its bytes, whatever its class costs on top.
    DriverForgetsCosts,
    /// The driver's name is no DNS subdomain.
    DriverHasOddName,
    /// The driver never says that it is ready.
    DriverIsNeverReady,
    /// The driver claims accessibility constraints, and reports no node's segment.
    DriverHidesItsSegment,
    /// The driver advertises GET_CAPACITY, and does not implement it.
    DriverPromisesCapacity,
    /// GetCapacity answers what there was at first, in every segment and for ever.
    DriverTellsAConstant,
    /// GetCapacity answers twice of what there is.
    DriverExaggerates,
    /// GetCapacity answers half of what there is.
    DriverUnderstates,
    /// GetCapacity answers a negative number.
    DriverTellsNonsense,
    /// The second answer of GetCapacity is lower, though nothing has changed.
    DriverWavers,
    /// GetCapacity fails with INTERNAL where it does not know a parameter.
    DriverChokesOnParameters,
    /// A volume that was made or deleted already is an error.
    DriverRefusesRepeats,
    /// GetCapacity reports a smallest volume that is larger than the available capacity.
    DriverRaisesMinimum,
    /// There is a thousand times the storage that the case says, and only the first answer of GetCapacity hides it.
    DriverGrowsLater,
    /// GetCapacity reports all that there is as the largest volume.
    DriverIgnoresFragmentation,
    /// Every device is good for every class.
    DriverIgnoresParameters,
    /// Every device is good for every use.
    DriverIgnoresUses,
    /// Devices that are good for raw use alone are no storage.
    DriverForgetsRawDevices,
    /// The driver creates no volume for which nothing was reserved.
    DriverNeedsReservations,
    /// The driver holds nothing for anybody.
    DriverReservesNothing,
    /// The driver does not know for whom it holds a device, so no volume ends that.
    DriverForgetsHolders,
    /// A CreateVolume for which there is no room fails with INTERNAL.
    DriverMiscallsExhaustion,
    /// Something besides the publisher asks the driver for its capacity whenever a pod comes or storage changes.
    DriverIsAskedByOthers,
}

/// The plan without what nobody is told in a run with these facts: scripts of the driver, the code of a refusal that is not there, segments
/// of nodes that are not asked for, and objects that are not read.
fn told(spoiled: Plan, plan: &Plan, facts: &[Fact]) -> Plan {
    let mut told = actions::without_scripts(spoiled);
    if !calls::any_is_refused(facts, "RESOURCE_EXHAUSTED") {
        told.driver.exhausted = 0;
    }
    if !calls::any_is_of(facts, Method::NodeGetInfo) {
        let segments = told.driver_nodes.iter_mut().map(|(_, segment)| segment);
        segments.for_each(|segment| segment.clear());
    }
    told.objects.retain(|object| {
        let resource = ResourceRef::plural_of(object);
        resource.is_none_or(|resource| plan.depends_on(resource) || requests::any_is_for(facts, resource))
    });
    told
}

/// Every defect with its name on the command line.
const NAMES: [(&str, Defect); 40] = [
    ("server-ignores-gates", Defect::ServerIgnoresGates),
    ("server-is-newest", Defect::ServerIsNewest),
    ("server-is-oldest", Defect::ServerIsOldest),
    ("server-is-beta", Defect::ServerIsBeta),
    ("server-forgets-driver-spec", Defect::ServerForgetsDriverSpec),
    ("server-lacks-csi-nodes", Defect::ServerLacksCsiNodes),
    ("server-creates-instead", Defect::ServerCreatesInstead),
    ("server-lets-classes-change", Defect::ServerLetsClassesChange),
    ("server-freezes-figures", Defect::ServerFreezesFigures),
    ("server-takes-everything", Defect::ServerTakesEverything),
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
    ("driver-tells-a-constant", Defect::DriverTellsAConstant),
    ("driver-exaggerates", Defect::DriverExaggerates),
    ("driver-understates", Defect::DriverUnderstates),
    ("driver-tells-nonsense", Defect::DriverTellsNonsense),
    ("driver-wavers", Defect::DriverWavers),
    ("driver-chokes-on-parameters", Defect::DriverChokesOnParameters),
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
    ("driver-miscalls-exhaustion", Defect::DriverMiscallsExhaustion),
    ("driver-is-asked-by-others", Defect::DriverIsAskedByOthers),
];

/// The name given is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the surroundings have no defect {0:?}; choose one of {names}", names = NAMES.map(|(name, _)| name).join(", "))]
pub struct UnknownDefect(String);

impl Defect {
    /// All defects, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.into_iter().map(|(_, defect)| defect)
    }

    /// The plan by which a cluster with the defect is built and changed.
    pub(crate) fn spoil(self, plan: &Plan) -> Plan {
        let mut plan = plan.clone();
        self.change()(&mut plan);
        plan
    }

    /// Whether a run of the plan with the defect may differ, in what the case is about, from one without it, whose facts are these.
    pub fn shows(self, plan: &Plan, facts: &[Fact]) -> bool {
        let spoiled = self.spoil(plan);
        if plan.has_late_answers() {
            return spoiled != *plan;
        }
        let (scripts, own) = (actions::scripts(&spoiled), actions::scripts(plan));
        let is_met = match scripts.strip_suffix(own.as_slice()) {
            Some(added) => added.iter().any(|script| calls::meet(facts, script)),
            None => true,
        };
        is_met || told(spoiled, plan, facts) != told(plan.clone(), plan, facts)
    }

    /// What it does to a plan.
    fn change(self) -> fn(&mut Plan) {
        match self {
            Defect::ServerIgnoresGates => |plan| server::each_release(plan, |_, gates| gates.clear()),
            Defect::ServerIsNewest => |plan| server::always_be(plan, Release::default()),
            Defect::ServerIsOldest => |plan| server::always_be(plan, Release::OLDEST),
            Defect::ServerIsBeta => |plan| server::always_be(plan, server::last_beta()),
            Defect::ServerForgetsDriverSpec => objects::forget_driver_spec,
            Defect::ServerLacksCsiNodes => |plan| server::lack(plan, "csinodes"),
            Defect::ServerCreatesInstead => objects::create_instead,
            Defect::ServerLetsClassesChange => objects::let_classes_change,
            Defect::ServerFreezesFigures => objects::freeze_figures,
            Defect::ServerTakesEverything => objects::take_everything,
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
            Defect::DriverTellsAConstant => driver::tell_a_constant,
            Defect::DriverExaggerates => driver::exaggerate,
            Defect::DriverUnderstates => driver::understate,
            Defect::DriverTellsNonsense => driver::tell_nonsense,
            Defect::DriverWavers => driver::waver,
            Defect::DriverChokesOnParameters => driver::choke_on_parameters,
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
            Defect::DriverMiscallsExhaustion => driver::miscall_exhaustion,
            Defect::DriverIsAskedByOthers => driver::be_asked_by_others,
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
    fn every_name_leads_to_its_defect_and_back() {
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
