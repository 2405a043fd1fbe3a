//! What a case needs of a system beyond its role. A system that does not claim a feature is not asked to show it.

use std::collections::BTreeSet;

use super::{Action, Effect, Plan};
use crate::scenario::{Mode, Role, SchedulerSpec};

/// Something that not every implementation of a role does.
pub struct Feature {
    /// Its name, `<role>.<word>`.
    pub name: &'static str,
    /// What it means to have it, in one sentence.
    pub text: &'static str,
    /// Whether a case needs it because of its settings and steps, whatever the case says itself.
    needed: fn(&Plan) -> bool,
}

/// The release since which `storage.k8s.io/v1` has the type.
const GENERAL: u8 = 24;
/// The release since which `resource.k8s.io/v1` is there.
const RESOURCE_CLAIMS: u8 = 34;

/// All features.
pub const FEATURES: [Feature; 26] = [
    Feature {
        name: "publisher.central",
        text: "one instance publishes for all nodes",
        needed: |plan| plays(plan, Role::Publisher) && plan.mode == Mode::Central,
    },
    Feature {
        name: "publisher.distributed",
        text: "an instance on each node publishes for that node",
        needed: |plan| plays(plan, Role::Publisher) && plan.mode == Mode::Distributed,
    },
    Feature {
        name: "publisher.provisioning",
        text: "it provisions volumes for claims, and deletes them",
        needed: |plan| plays(plan, Role::Publisher) && has_claims(plan),
    },
    Feature {
        name: "publisher.reconnect",
        text: "it connects to the driver again when the connection breaks, instead of ending",
        needed: |plan| plays(plan, Role::Publisher) && actions(plan).any(cuts_connection),
    },
    Feature {
        name: "publisher.owner",
        text: "its objects are owned by its pod or an owner of that",
        needed: |plan| plan.publisher.owner_level.is_some(),
    },
    Feature {
        name: "publisher.off",
        text: "it can be told not to publish, and provisions all the same",
        needed: |plan| plays(plan, Role::Publisher) && !plan.publisher.publish,
    },
    Feature {
        name: "publisher.by-owner",
        text: "it can know its objects by their owner instead of by their labels, as external-provisioner 2.0.0 did",
        needed: |plan| plan.publisher.by_owner,
    },
    Feature {
        name: "publisher.metadata",
        text: "it can tell the driver the names of claim and volume (--extra-create-metadata)",
        needed: |plan| plan.publisher.metadata,
    },
    Feature {
        name: "publisher.asking-limit",
        text: "it can be told how many GetCapacity calls per second it may make",
        needed: |plan| plan.publisher.asks_per_second.is_some(),
    },
    Feature {
        name: "publisher.sources",
        text: "it makes volumes with secrets, as copies of others, and with volume attributes classes",
        needed: |_| false,
    },
    Feature {
        name: "publisher.immediate",
        text: "it can publish for classes with immediate binding",
        needed: |plan| plan.publisher.immediate,
    },
    Feature {
        name: "publisher.zero",
        text: "it can publish zero as an object instead of leaving it out",
        needed: |plan| plan.publisher.zero,
    },
    Feature {
        name: "publisher.strict-topology",
        text: "it can ask for the selected node's topology only",
        needed: |plan| plan.publisher.strict_topology,
    },
    Feature {
        name: "publisher.withdraw",
        text: "it can remove an object whose figure the driver does not tell any more",
        needed: |plan| plan.publisher.withdraw,
    },
    Feature {
        name: "publisher.election",
        text: "of several instances of it, one works",
        needed: |plan| plan.publisher.replicas.is_some(),
    },
    Feature {
        name: "publisher.registration-grace",
        text: "a driver that unregisters for a moment keeps its objects",
        needed: |_| false,
    },
    Feature {
        name: "publisher.old-releases",
        text: "it works with API servers that serve the type as v1alpha1 or v1beta1, or not at all",
        needed: |plan| plays(plan, Role::Publisher) && meets_older(plan, GENERAL),
    },
    Feature {
        name: "scheduler.old-releases",
        text: "it works with API servers older than 1.34, which lack kinds that a scheduler of today lists",
        needed: |plan| plays(plan, Role::Scheduler) && meets_older(plan, RESOURCE_CLAIMS),
    },
    Feature {
        name: "scheduler.gate",
        text: "it can ignore capacity, as with the feature gate CSIStorageCapacity switched off",
        needed: |plan| schedulers(plan).any(|spec| spec.capacity.is_some()),
    },
    Feature {
        name: "scheduler.scoring",
        text: "it scores nodes by capacity (KEP-4049)",
        needed: |plan| schedulers(plan).any(|spec| spec.scoring == Some(true)),
    },
    Feature {
        name: "scheduler.shape",
        text: "the shape of its score can be set (VolumeBindingArgs.shape)",
        needed: |plan| schedulers(plan).any(|spec| spec.shape.is_some()),
    },
    Feature {
        name: "scheduler.release",
        text: "it can be like another Kubernetes release",
        needed: |plan| schedulers(plan).any(|spec| spec.release.is_some()),
    },
    Feature {
        name: "scheduler.priority",
        text: "it has the feature gate VolumeCapacityPriority of 1.21 to 1.32 (KEP-1845)",
        needed: |plan| schedulers(plan).any(|spec| spec.priority.is_some()),
    },
    Feature {
        name: "scheduler.bug-compatible",
        text: "it can be told to deviate as upstream does, and is right otherwise",
        needed: |plan| schedulers(plan).any(|spec| !spec.bug_compatible.is_empty()),
    },
    Feature {
        name: "scheduler.extenders",
        text: "it asks extenders (KubeSchedulerConfiguration.extenders)",
        needed: |plan| plays(plan, Role::Scheduler) && !plan.extenders.is_empty(),
    },
    Feature {
        name: "scheduler.kep-text",
        text: "it can add up capacities in scores, as the text of KEP-4049 has it",
        needed: |plan| schedulers(plan).any(|spec| spec.kep_text),
    },
];

/// The feature of that name.
pub fn feature(name: &str) -> Result<&'static Feature, String> {
    let names = || FEATURES.each_ref().map(|feature| feature.name).join(", ");
    FEATURES
        .iter()
        .find(|feature| feature.name == name)
        .ok_or_else(|| format!("`{name}` is no feature; features: {}", names()))
}

impl Plan {
    /// Whether the driver is at any time on more than one node, each with an endpoint of its own.
    pub fn has_several_drivers(&self) -> bool {
        let later = actions(self).filter(|action| matches!(action, Action::DriverUp(..)));
        self.is_distributed() && self.driver_nodes.len() + later.count() > 1
    }

    /// Whether the driver is stopped in the course of it.
    pub fn stops_the_driver(&self) -> bool {
        actions(self).any(|action| matches!(action, Action::Stop(Role::Driver)))
    }

    /// What a case sets of the driver that no driver of somebody else's can be told, in words; none: nothing. Storage from the start
    /// is nothing where the driver itself is judged: it brings its own.
    pub fn sets_the_driver(&self) -> Option<&'static str> {
        let changes = actions(self).find_map(|action| match action {
            Action::Pool(..) => Some("what storage there is (`backend`)"),
            Action::Script(_) | Action::Unscript(_) => Some("what the driver answers (`csi`)"),
            Action::Reserve(_) | Action::Unreserve(_) => Some("what an extender holds (`reserve`)"),
            _ => None,
        });
        let driver = &self.driver;
        let is_usual = driver.get_capacity
            && driver.tells_reserved
            && driver.costs.is_empty()
            && !driver.clone_volume
            && driver.mutable_parameters.is_empty()
            && driver.version == fake_csi::SpecVersion::NEWEST;
        let abilities = (!is_usual).then_some("what the driver is able to (`driver`)");
        let has_storage = !driver.pools.is_empty() && !plays(self, Role::Driver);
        let holds = self.extenders.iter().any(|extender| extender.reserves);
        changes
            .or(holds.then_some("what an extender holds (`extenders`)"))
            .or(abilities)
            .or(has_storage.then_some("what storage there is (`backend`)"))
    }

    /// The names of all features that the case needs.
    pub fn features(&self) -> BTreeSet<&'static str> {
        let said = &self.scenario.file.features;
        let needed =
            |feature: &&Feature| (feature.needed)(self) || said.iter().any(|name| name.value == feature.name);
        FEATURES
            .iter()
            .filter(needed)
            .map(|feature| feature.name)
            .collect()
    }
}

fn plays(plan: &Plan, role: Role) -> bool {
    plan.roles.contains(&role)
}

/// Every way in which the scheduler is set, at the start and later.
fn schedulers(plan: &Plan) -> impl Iterator<Item = &SchedulerSpec> {
    let later = actions(plan).filter_map(|action| match action {
        Action::Reschedule(spec) => Some(spec),
        _ => None,
    });
    let first = plays(plan, Role::Scheduler).then_some(&plan.scheduler);
    first.into_iter().chain(later)
}

fn actions(plan: &Plan) -> impl Iterator<Item = &Action> {
    plan.steps
        .iter()
        .flat_map(|step| &step.actions)
        .map(|(action, _)| action)
}

fn has_claims(plan: &Plan) -> bool {
    actions(plan).any(|action| match action {
        Action::Create(object) => object["kind"] == "PersistentVolumeClaim" || object["kind"] == "Pod",
        _ => false,
    })
}

fn cuts_connection(action: &Action) -> bool {
    match action {
        Action::Script(script) => matches!(script.effect, Effect::Disconnect | Effect::LoseAnswer),
        Action::Stop(role) => *role == Role::Driver,
        _ => false,
    }
}

/// Whether the API server is at any time older than a release.
fn meets_older(plan: &Plan, minor: u8) -> bool {
    let becomes_older =
        |action: &Action| matches!(action, Action::Release(release, _) if release.minor() < minor);
    plan.release.minor() < minor || actions(plan).any(becomes_older)
}
