//! Optional features that a case requires of a program under test. Programs that do not claim a feature skip the cases that require it.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use fake_apiserver::Release;
use fake_csi::Storage;
use serde_json::Value;

use super::{Action, CsiCallKind, Plan, Step};
use crate::alike::did_you_mean;
use crate::renamed::{self, Context};
use crate::scenario::{MetricsSource, Mode, PublisherSpec, Role, SchedulerSpec};
use crate::settings::{FeatureClaim, SETTINGS, Settings};

/// An optional capability of the programs of a role.
#[derive(Clone, Copy)]
pub struct Feature {
    /// Name of the feature, `<role>.<word>`.
    pub name: &'static str,
    /// What the program can do, in one sentence.
    pub text: &'static str,
    /// Whether settings or steps of a case require the feature. A case file may also list features explicitly.
    needed: Needed,
}

/// The condition under which a case requires a feature.
#[derive(Clone, Copy)]
enum Needed {
    ByPlan(fn(&Plan) -> bool),
    /// The case sets a setting of the role to a value that satisfies the condition.
    BySettings(Role, fn(&Settings) -> bool),
}

/// The first release whose CSIStorageCapacity has `maximumVolumeSize` (minor version).
const MAXIMUM_VOLUME_SIZE_SINCE: u8 = 21;
/// The first release that serves `resource.k8s.io/v1` (minor version).
const RESOURCE_V1_SINCE: u8 = 34;

macro_rules! features {
    ($($name:literal, $text:expr, $needed:expr;)+) => {
        /// Features that do not depend on a single setting.
        const GENERAL_FEATURES: &[Feature] = &[$(Feature { name: $name, text: $text, needed: Needed::ByPlan($needed) }),+];
    };
}

const BEYOND: &str = "the program has the behaviour that cases marked `beyond` require, which neither the KEPs nor the CSI spec require";
const METRICS: &str = "the program serves metrics at the URL in `metrics` of the manifest";

features! {
    "publisher.beyond", BEYOND, |plan| goes_beyond(plan, Role::Publisher);
    "scheduler.beyond", BEYOND, |plan| goes_beyond(plan, Role::Scheduler);
    "cleaner.beyond", BEYOND, |plan| goes_beyond(plan, Role::Cleaner);
    "driver.beyond", BEYOND, |plan| goes_beyond(plan, Role::Driver);
    "publisher.central", "one instance publishes objects for all nodes",
        |plan| has_role(plan, Role::Publisher) && plan.mode == Mode::Central;
    "publisher.distributed", "one instance per node publishes objects for its node (`--node-deployment`)",
        |plan| has_role(plan, Role::Publisher) && plan.mode == Mode::Distributed;
    "publisher.provisioning", "the publisher provisions volumes for PVCs, and deletes them",
        |plan| has_role(plan, Role::Publisher) && has_claims(plan);
    "publisher.reconnect", "the publisher reconnects to the driver after the connection is lost, instead of exiting",
        |plan| has_role(plan, Role::Publisher) && plan.actions().any(cuts_connection);
    "publisher.volume-sources", "the publisher provisions volumes with secrets, from other PVCs (clones), from snapshots, and with a VolumeAttributesClass",
        |_| false;
    "publisher.retain-unknown-capacity", "the publisher retains an object unchanged while GetCapacity fails or returns a negative capacity",
        |_| false;
    "publisher.wait-for-api-server", "if the API server is unavailable at the publisher's start (429, 5xx, cut connections), the publisher retries instead of exiting",
        |_| false;
    "publisher.retries-infeasible", "the publisher soon retries CreateVolume after an INVALID_ARGUMENT error",
        |_| false;
    "publisher.registration-grace", "while the driver is briefly unregistered from a node, the publisher retains the objects of the node",
        |_| false;
    "publisher.v1beta1", "the publisher works with API servers 1.21 to 1.23, which serve CSIStorageCapacity as v1beta1",
        |plan| has_role(plan, Role::Publisher) && serves_at_any_time(plan, Served::V1Beta1);
    "publisher.v1alpha1", "the publisher works with API servers 1.19 and 1.20, which serve CSIStorageCapacity only as v1alpha1",
        |plan| has_role(plan, Role::Publisher) && serves_at_any_time(plan, Served::V1Alpha1);
    "publisher.wait-for-capacity-api", "the publisher waits while the API server does not serve CSIStorageCapacity, instead of exiting",
        |plan| has_role(plan, Role::Publisher) && serves_at_any_time(plan, Served::Not);
    "scheduler.old-releases", "the scheduler works with API servers older than 1.34, which lack resources that a current scheduler lists",
        |plan| has_role(plan, Role::Scheduler) && runs_older_than(plan, RESOURCE_V1_SINCE);
    "driver.maximum", "the driver returns maximum_volume_size in GetCapacity",
        |_| false;
    "scheduler.extenders", "the scheduler calls extenders (`KubeSchedulerConfiguration.extenders`)",
        |plan| has_role(plan, Role::Scheduler) && !plan.extenders.is_empty();
    "scheduler.log", "with the configured arguments, the scheduler logs for each rejected node the PVC that did not fit, as `<namespace>/<claim> of class <class>, <size>`",
        |_| false;
    "publisher.metrics", METRICS,
        |plan| plan.reads_metrics_of(MetricsSource::Publisher);
    "scheduler.metrics", METRICS,
        |plan| plan.reads_metrics_of(MetricsSource::Scheduler);
    "cleaner.metrics", METRICS,
        |plan| plan.reads_metrics_of(MetricsSource::Cleaner);
}

fn goes_beyond(plan: &Plan, role: Role) -> bool {
    plan.beyond.is_some() && has_role(plan, role)
}

/// All features: those derived from settings, and `GENERAL_FEATURES`.
pub fn features() -> impl Iterator<Item = Feature> {
    let of_settings = SETTINGS.iter().filter_map(|setting| match setting.claim {
        FeatureClaim::Feature {
            name,
            text,
            is_needed,
        } => Some(Feature {
            name,
            text,
            needed: Needed::BySettings(setting.role, is_needed),
        }),
        FeatureClaim::Nothing | FeatureClaim::Other(_) => None,
    });
    GENERAL_FEATURES.iter().copied().chain(of_settings)
}

/// The feature with this name, in the current or the old spelling of the name.
pub fn feature(name: &str) -> Result<Feature, String> {
    let name = renamed::current_spelling(&[Context::Feature], name);
    if name == "publisher.old-releases" {
        return Err(
            "`publisher.old-releases` was split into publisher.v1beta1, publisher.v1alpha1 and publisher.wait-for-capacity-api; \
             claim those that the program supports"
                .to_owned(),
        );
    }
    features().find(|feature| feature.name == name).ok_or_else(|| {
        let mut names: Vec<&str> = features().map(|feature| feature.name).collect();
        names.sort_unstable();
        format!(
            "`{name}` is no feature{}; features: {}",
            did_you_mean(name, names.iter().copied()),
            names.join(", ")
        )
    })
}

impl Feature {
    fn is_needed(&self, plan: &Plan) -> bool {
        match self.needed {
            Needed::ByPlan(needed) => needed(plan),
            Needed::BySettings(Role::Scheduler, needed) => {
                schedulers(plan).any(|spec| needed(&plan.settings_with_scheduler(spec)))
            }
            Needed::BySettings(Role::Publisher, needed) => {
                publishers(plan).any(|spec| needed(&plan.settings_with_publisher(spec)))
            }
            Needed::BySettings(role, needed) => {
                has_role(plan, role) && needed(&plan.settings(Duration::ZERO))
            }
        }
    }
}

impl Plan {
    /// Whether several driver instances, each with its own CSI endpoint, run at some time in the case.
    pub fn has_several_drivers(&self) -> bool {
        let later = self
            .actions()
            .filter(|action| matches!(action, Action::DriverUp(..)));
        self.is_distributed() && self.driver_nodes.len() + later.count() > 1
    }

    /// Whether a step stops the driver.
    pub fn stops_the_driver(&self) -> bool {
        self.actions()
            .any(|action| matches!(action, Action::Stop(Role::Driver)))
    }

    /// A part of the case's driver configuration that cannot be set in an external driver. None if there is no such part. Initial storage
    /// is ignored if the driver itself is under test, because it has its own storage.
    pub fn unsupported_driver_settings(&self) -> Option<&'static str> {
        let storage = "its storage (`backend`)";
        let changes = self.actions().any(|action| matches!(action, Action::SetPool(..)));
        let has_storage = !self.driver.pools.is_empty() && !has_role(self, Role::Driver);
        let first = changes.then_some(storage);
        let last = has_storage.then_some(storage);
        first
            .or_else(|| self.unsupported_settings_besides_storage())
            .or(last)
    }

    /// Like `unsupported_driver_settings`, but ignores storage, which the harness can set in some external drivers.
    pub fn unsupported_settings_besides_storage(&self) -> Option<&'static str> {
        let changes = self.actions().find_map(|action| match action {
            Action::DriverFault { .. } | Action::RemoveDriverFault(_) => {
                Some("driver responses (`driverFault`)")
            }
            Action::Reserve(_) | Action::Unreserve(_) => Some("reservations of an extender (`reserve`)"),
            _ => None,
        });
        let driver = &self.driver;
        let is_default = driver.get_capacity
            && driver.reports_reserved
            && driver.costs.is_empty()
            && !driver.clone_volume
            && driver.snapshots.is_empty()
            && driver.mutable_parameters.is_empty()
            && driver.version == fake_csi::SpecVersion::NEWEST;
        let capabilities = (!is_default).then_some("capabilities of the driver (`driver`)");
        let reserves = self.extenders.iter().any(|extender| extender.reserves);
        changes
            .or(reserves.then_some("reservations of an extender (`extenders`)"))
            .or(capabilities)
    }

    /// Whether the case defines storage at any time.
    pub fn has_storage(&self) -> bool {
        !self.driver.pools.is_empty() || self.actions().any(|action| matches!(action, Action::SetPool(..)))
    }

    /// Whether the publisher calls GetCapacity only once for storage that is added later. A driver that observes its storage through a
    /// watch may then still return the old capacity.
    pub fn calls_once_for_new_storage(&self) -> bool {
        let adds_storage = |action: &Action| matches!(action, Action::SetPool(..) | Action::DriverUp(..));
        has_role(self, Role::Publisher) && !self.publisher.polls && self.actions().any(adds_storage)
    }

    /// All storage that the case gives the driver, initially or in a step.
    pub fn storage(&self) -> impl Iterator<Item = &Storage> {
        let later = self.actions().filter_map(|action| match action {
            Action::SetPool(_, storage) => storage.as_ref(),
            _ => None,
        });
        self.driver.pools.iter().map(|(_, storage)| storage).chain(later)
    }

    /// Whether every release of the API server in the case has the field `maximumVolumeSize`.
    pub fn serves_maximum_volume_size(&self) -> bool {
        !runs_older_than(self, MAXIMUM_VOLUME_SIZE_SINCE)
    }

    /// Whether any storage of the driver in the case has a maximum volume size.
    pub fn has_maximum_volume_size(&self) -> bool {
        self.storage()
            .any(|storage| matches!(storage, Storage::Linear { largest: Some(_), .. }))
    }

    /// Whether the driver must create volumes: because the case calls CreateVolume, or because a publisher provisions a PVC.
    pub fn needs_create_volume(&self) -> bool {
        let is_create_call = |action: &Action| matches!(action, Action::CsiCall(call) if matches!(call.kind, CsiCallKind::Create { .. }));
        self.actions().any(is_create_call) || has_role(self, Role::Publisher) && has_claims(self)
    }

    /// Names of all features that the case requires.
    pub fn features(&self) -> BTreeSet<&'static str> {
        let named = &self.named_features;
        features()
            .filter(|feature| feature.is_needed(self) || named.iter().any(|name| name == feature.name))
            .map(|feature| feature.name)
            .collect()
    }
}

fn has_role(plan: &Plan, role: Role) -> bool {
    plan.roles.contains(&role)
}

/// All publisher settings of the case, initial and in later steps.
fn publishers(plan: &Plan) -> impl Iterator<Item = PublisherSpec> {
    let later = plan.actions().filter_map(|action| match action {
        Action::RestartPublisher(spec) => Some(*spec),
        _ => None,
    });
    let first = has_role(plan, Role::Publisher).then_some(plan.publisher);
    first.into_iter().chain(later)
}

/// All scheduler settings of the case, initial and in later steps.
fn schedulers(plan: &Plan) -> impl Iterator<Item = &SchedulerSpec> {
    let later = plan.actions().filter_map(|action| match action {
        Action::RestartScheduler(spec) => Some(spec),
        _ => None,
    });
    let first = has_role(plan, Role::Scheduler).then_some(&plan.scheduler);
    first.into_iter().chain(later)
}

impl Step {
    pub(crate) fn starts_the_driver(&self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(action, _)| matches!(action, Action::Start(Role::Driver)))
    }

    /// Whether this step changes the API server's release or feature gates.
    pub(crate) fn changes_the_release(&self) -> bool {
        let mut actions = self.actions.iter();
        actions.any(|(action, _)| matches!(action, Action::Release(..)))
    }
}

fn has_claims(plan: &Plan) -> bool {
    let created = plan.actions().filter_map(|action| match action {
        Action::Create(object) => Some(object),
        _ => None,
    });
    plan.objects.iter().chain(created).any(is_claim_or_pod)
}

fn is_claim_or_pod(object: &Value) -> bool {
    object["kind"] == "PersistentVolumeClaim" || object["kind"] == "Pod"
}

pub(super) fn cuts_connection(action: &Action) -> bool {
    match action {
        Action::DriverFault { rule, .. } => rule.effect.cuts_connection(),
        Action::Stop(role) => *role == Role::Driver,
        _ => false,
    }
}

/// Whether the API server is older than this release at some time in the case.
fn runs_older_than(plan: &Plan, minor: u8) -> bool {
    let becomes_older =
        |action: &Action| matches!(action, Action::Release(release, _) if release.minor() < minor);
    plan.release.minor() < minor || plan.actions().any(becomes_older)
}

/// The newest API version in which a release serves CSIStorageCapacity.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Served {
    V1,
    V1Beta1,
    V1Alpha1,
    Not,
}

impl Served {
    /// The newest CSIStorageCapacity version that a release with these feature gates serves.
    fn by(release: Release, gates: &BTreeMap<String, bool>) -> Served {
        match release.minor() {
            24.. => Served::V1,
            21.. => Served::V1Beta1,
            19.. if gates.get("CSIStorageCapacity") == Some(&true) => Served::V1Alpha1,
            _ => Served::Not,
        }
    }
}

/// Whether this CSIStorageCapacity version is the newest served version at some time in the case.
fn serves_at_any_time(plan: &Plan, wanted: Served) -> bool {
    let later = plan.actions().filter_map(|action| match action {
        Action::Release(release, gates) => Some(Served::by(*release, gates)),
        _ => None,
    });
    let mut all = std::iter::once(Served::by(plan.release, &plan.gates)).chain(later);
    all.any(|served| served == wanted)
}
