//! Deliberate defects of what surrounds the systems under test: the API server and the driver. They show that cases about those two can
//! fail.
//!
//! A defect changes what the cluster is built and told to be, never what the case expects: the judge reads the plan as it was written.

use std::fmt;
use std::str::FromStr;

use fake_apiserver::Release;
use serde_json::{Value, json};

use crate::plan::{Action, Plan};

/// One way in which the surroundings are wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The API server takes no notice of feature gates.
    ServerIgnoresGates,
    /// The API server has the newest release, whatever was asked for.
    ServerIsNewest,
    /// The API server has a release from before KEP-1472, whatever was asked for.
    ServerIsOldest,
    /// The API server has the last release with the first rules for CSIDriver, whatever was asked for.
    ServerIsBeta,
    /// The API server keeps nothing of the spec of a CSIDriver that is created.
    ServerForgetsDriverSpec,
    /// The driver takes a volume for as large as its bytes, whatever its class costs on top.
    DriverForgetsCosts,
}

/// Every defect with its name on the command line.
const NAMES: [(&str, Defect); 6] = [
    ("server-ignores-gates", Defect::ServerIgnoresGates),
    ("server-is-newest", Defect::ServerIsNewest),
    ("server-is-oldest", Defect::ServerIsOldest),
    ("server-is-beta", Defect::ServerIsBeta),
    ("server-forgets-driver-spec", Defect::ServerForgetsDriverSpec),
    ("driver-forgets-costs", Defect::DriverForgetsCosts),
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
            Defect::DriverForgetsCosts => plan.driver.costs.clear(),
        }
        plan
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

type Gates = std::collections::BTreeMap<String, bool>;

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
