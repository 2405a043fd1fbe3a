//! Deliberate defects of what surrounds the systems under test: the API server and the driver. They show that cases about those two can
//! fail.
//!
//! A defect changes how the cluster is built and scripted, never what the case expects: the judge reads the plan as it was written.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use fake_apiserver::{Match, Release, Rule, Verb};
use fake_csi::Storage;
use serde_json::{Value, json};

use crate::plan::{Action, Effect, Plan, Script};

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
}

/// Every defect with its name on the command line.
const NAMES: [(&str, Defect); 21] = [
    ("server-ignores-gates", Defect::ServerIgnoresGates),
    ("server-is-newest", Defect::ServerIsNewest),
    ("server-is-oldest", Defect::ServerIsOldest),
    ("server-is-beta", Defect::ServerIsBeta),
    ("server-forgets-driver-spec", Defect::ServerForgetsDriverSpec),
    ("server-lacks-csi-nodes", Defect::ServerLacksCsiNodes),
    ("server-creates-instead", Defect::ServerCreatesInstead),
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
        match self {
            Defect::ServerIgnoresGates => each_release(&mut plan, |_, gates| gates.clear()),
            Defect::ServerIsNewest => each_release(&mut plan, |release, _| *release = Release::default()),
            Defect::ServerIsOldest => each_release(&mut plan, |release, _| *release = Release::OLDEST),
            Defect::ServerIsBeta => each_release(&mut plan, |release, _| *release = last_beta()),
            Defect::ServerForgetsDriverSpec => forget_driver_spec(&mut plan),
            Defect::ServerLacksCsiNodes => first(&mut plan, [not_found("csinodes")]),
            Defect::ServerCreatesInstead => each_action(&mut plan, &mut |action| {
                if let Action::Replace(spec) = action {
                    *action = Action::Create(spec.object.clone());
                }
            }),
            Defect::DriverForgetsCosts => plan.driver.costs.clear(),
            Defect::DriverHasOddName => plan.driver.name = "Disk_1".to_owned(),
            Defect::DriverHidesItsSegment => {
                plan.driver_nodes
                    .iter_mut()
                    .for_each(|(_, segment)| segment.clear());
            }
            Defect::DriverPromisesCapacity => {
                plan.driver.get_capacity = true;
                let scripts = scripts(self, told_at_first(&plan));
                script(&mut plan, scripts);
            }
            Defect::DriverGrowsLater => {
                let scripts = scripts(self, told_at_first(&plan));
                script(&mut plan, scripts);
                plan.driver
                    .pools
                    .iter_mut()
                    .for_each(|(_, storage)| grow(storage));
            }
            Defect::DriverIsNeverReady
            | Defect::DriverTellsAConstant
            | Defect::DriverExaggerates
            | Defect::DriverUnderstates
            | Defect::DriverTellsNonsense
            | Defect::DriverWavers
            | Defect::DriverChokesOnParameters
            | Defect::DriverRefusesRepeats
            | Defect::DriverRaisesMinimum => {
                let scripts = scripts(self, told_at_first(&plan));
                script(&mut plan, scripts);
            }
        }
        plan
    }
}

/// What all pools have together at the start, in bytes.
fn told_at_first(plan: &Plan) -> i64 {
    let raw = |storage: &Storage| match storage {
        Storage::Linear { capacity, .. } => i64::try_from(*capacity).unwrap_or(i64::MAX),
        // The cases about drivers have none of these.
        _ => 0,
    };
    plan.driver.pools.iter().map(|(_, storage)| raw(storage)).sum()
}

fn grow(storage: &mut Storage) {
    if let Storage::Linear { capacity, .. } = storage {
        *capacity = capacity.saturating_mul(1000);
    }
}

/// The script of a driver that answers wrongly. `all`: what it has, in bytes.
fn scripts(defect: Defect, all: i64) -> Vec<Script> {
    /// gRPC codes.
    const NOT_FOUND: i32 = 5;
    const ALREADY_EXISTS: i32 = 6;
    const FAILED_PRECONDITION: i32 = 9;
    const UNIMPLEMENTED: i32 = 12;
    const INTERNAL: i32 = 13;
    let always = |method: &str, effect| Script {
        id: None,
        method: method.to_owned(),
        segment: None,
        parameters: BTreeMap::new(),
        skip: 0,
        times: None,
        effect,
    };
    let capacity = |bytes| {
        always(
            "GetCapacity",
            Effect::Answer {
                available: bytes,
                maximum: Some(bytes),
                minimum: None,
            },
        )
    };
    let later = |script| Script { skip: 1, ..script };
    match defect {
        Defect::DriverIsNeverReady => vec![always("Probe", Effect::Code(FAILED_PRECONDITION))],
        Defect::DriverPromisesCapacity => vec![always("GetCapacity", Effect::Code(UNIMPLEMENTED))],
        Defect::DriverTellsAConstant => vec![capacity(all)],
        Defect::DriverExaggerates => vec![capacity(all * 2)],
        Defect::DriverGrowsLater => vec![Script {
            times: Some(1),
            ..capacity(all)
        }],
        Defect::DriverUnderstates => vec![capacity(all / 2)],
        Defect::DriverTellsNonsense => vec![capacity(-1)],
        Defect::DriverWavers => vec![Script {
            times: Some(1),
            ..later(capacity(all / 2))
        }],
        Defect::DriverChokesOnParameters => vec![Script {
            parameters: [("unheard-of".to_owned(), "1".to_owned())].into(),
            ..always("GetCapacity", Effect::Code(INTERNAL))
        }],
        Defect::DriverRefusesRepeats => vec![
            later(always("CreateVolume", Effect::Code(ALREADY_EXISTS))),
            later(always("DeleteVolume", Effect::Code(NOT_FOUND))),
        ],
        Defect::DriverRaisesMinimum => vec![always(
            "GetCapacity",
            Effect::Answer {
                available: all,
                maximum: Some(all),
                minimum: Some(all + 1),
            },
        )],
        _ => Vec::new(),
    }
}

/// The first action is the script of the driver.
fn script(plan: &mut Plan, scripts: Vec<Script>) {
    first(plan, scripts.into_iter().map(Action::Script));
}

/// These come before all other actions.
fn first(plan: &mut Plan, actions: impl IntoIterator<Item = Action>) {
    if let Some(step) = plan.steps.first_mut() {
        let actions = actions.into_iter();
        let actions = actions.map(|action| (action, "the surroundings are broken on purpose".to_owned()));
        step.actions.splice(0..0, actions);
    }
}

/// What is answered where a server does not have a resource.
fn not_found(resource: &str) -> Action {
    Action::Fault {
        id: format!("no {resource}"),
        rule: Rule {
            on: Match {
                verbs: vec![Verb::Get, Verb::List, Verb::Watch],
                resource: Some(resource.to_owned()),
                ..Match::default()
            },
            skip: 0,
            times: None,
            chance: None,
            effect: fake_apiserver::Effect::Status {
                code: 404,
                retry_after_seconds: 0,
            },
        },
        kills: false,
    }
}

/// Changes every action, within attempts too.
fn each_action(plan: &mut Plan, change: &mut impl FnMut(&mut Action)) {
    for (action, _) in plan.steps.iter_mut().flat_map(|step| &mut step.actions) {
        match action {
            Action::Attempt(inner) => change(inner),
            action => change(action),
        }
    }
}

/// The last release in which `storageCapacity` of a CSIDriver could not be changed.
fn last_beta() -> Release {
    Release::new(22).unwrap_or_default()
}

fn forget_driver_spec(plan: &mut Plan) {
    let forget = |object: &mut Value| {
        if object["kind"] == "CSIDriver" {
            object["spec"] = json!({});
        }
    };
    plan.objects.iter_mut().for_each(forget);
    for (action, _) in plan.steps.iter_mut().flat_map(|step| &mut step.actions) {
        if let Action::Create(object) = action {
            forget(object);
        }
    }
}

type Gates = BTreeMap<String, bool>;

/// Changes every release that the API server is to have, from the start or later on.
fn each_release(plan: &mut Plan, change: impl Fn(&mut Release, &mut Gates)) {
    change(&mut plan.release, &mut plan.gates);
    let actions = plan.steps.iter_mut().flat_map(|step| &mut step.actions);
    for (action, _) in actions {
        if let Action::Release(release, gates) = action {
            change(release, gates);
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
