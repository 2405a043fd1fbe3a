//! A scenario made concrete: Kubernetes objects, pools and expectations with every name resolved.
//!
//! Resolving is pure: it reads a [`Scenario`](crate::scenario::Scenario) and yields a [`Plan`] or an error that points into the file. The
//! plan keeps what runs, verdicts and reports need of the case. Nothing here runs.

mod actions;
mod api;
mod backend;
mod callers;
mod csi_call;
mod dependence;
mod edit;
mod expect;
mod fault;
mod features;
mod grants;
mod group_resource;
mod known;
mod metrics;
mod modelled;
pub(crate) mod objects;
mod pattern;
mod pattern_keys;
mod places;
mod pod_fields;
mod reserve;
mod resolve;
mod scope;
mod script;
mod settings;
mod steps;
mod trial;
mod vocabulary;
mod whole_maximum;

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{Labels, SIDECAR_PREFIX, Segment};
use fake_apiserver::{Release, ResourceRef};
use fake_csi::{Reservation, Snapshot, SpecVersion, Storage};
use serde_json::Value;

pub use crate::scenario::{Bound, duration};
pub(crate) use api::api;
pub(crate) use csi_call::named as names_of;
pub use csi_call::{CsiCall, CsiCallKind};
pub use edit::{Edit, edit};
pub use expect::{Count, Expect, Metric, Objects, Place, Predicate, Row, Rows};
pub use features::{Feature, feature, features};
pub use grants::Grants;
pub(crate) use grants::group_of;
pub use group_resource::GroupResource;
pub use pattern::{CallPattern, Pattern, PatternKind};
pub use resolve::{resolve, resolve_cluster};
pub(crate) use scope::PUBLISHED;
pub(crate) use settings::interval;

use crate::scenario::{
    ApplySpec, ExtenderSpec, Level, Mode, PublisherSpec, ReplaceSpec, Role, SchedulerSpec,
};
use crate::segment::Segments;

/// Namespace of the publisher and its objects. Pods and claims live elsewhere, as they do in real clusters.
pub const NAMESPACE: &str = "csi";
/// Namespace of pods and claims.
pub const WORKLOADS: &str = "default";
/// Label of every published object: the driver (KEP-1472, "CSIStorageCapacity lifecycle").
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Label of every published object: who manages it.
pub const MANAGED_LABEL: &str = "csi.storage.k8s.io/managed-by";

/// Everything that a run and its verdict need.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Path-like name of the case, unique among all.
    pub(crate) id: String,
    /// One sentence that says what is shown.
    pub title: String,
    /// Ids of the requirements that it shows, as the catalogue has them.
    pub requirements: Vec<String>,
    /// How binding a failure is.
    pub level: Level,
    /// What the case requires beyond the documents; such a case is never core.
    pub beyond: Option<String>,
    /// Names of the features that the case names itself.
    pub named_features: Vec<String>,
    /// Public reports of the bug that this case would have caught.
    pub catches: Vec<String>,
    /// Where the case was read from, for messages and annotations.
    pub source: String,
    /// A case file that says the same as the case.
    pub text: String,
    /// The release of the API server at the start.
    pub release: Release,
    /// Its feature gates.
    pub gates: BTreeMap<String, bool>,
    /// The roles that run.
    pub roles: Vec<Role>,
    /// How the publisher is deployed.
    pub mode: Mode,
    /// Settings of the publisher.
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    pub scheduler: SchedulerSpec,
    /// Extenders that the scheduler calls.
    pub extenders: Vec<ExtenderSpec>,
    /// What roles may do, where permissions are looked at.
    pub grants: Grants,
    /// The names of the series of which the specification is to speak; none: of no metrics.
    pub specified_metrics: BTreeSet<&'static str>,
    /// Ids of rules of the specification that are not checked.
    pub excused_rules: BTreeSet<&'static str>,
    /// How long the driver must be absent before the cleaner acts.
    pub orphan_after: std::time::Duration,
    /// The driver.
    pub driver: DriverPlan,
    /// Reads and writes segments.
    pub segments: Segments,
    /// Objects that exist before the systems start.
    pub objects: Vec<Value>,
    /// Nodes that exist before the systems start and run the driver, with their segments.
    pub driver_nodes: Vec<(String, Segment)>,
    /// Class → parameters, for every class of the case.
    pub class_parameters: BTreeMap<String, BTreeMap<String, String>>,
    /// What happens, in order.
    pub steps: Vec<Step>,
}

/// Parameters of a class without those that are meant for sidecars: what the driver gets.
pub(crate) fn without_sidecars<'p>(
    parameters: impl Iterator<Item = (&'p String, &'p str)>,
) -> BTreeMap<String, String> {
    let own = parameters.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX));
    own.map(|(key, value)| (key.clone(), value.to_owned())).collect()
}

impl Plan {
    /// Marks the case as one that requires more than the documents do, unless it is marked already.
    pub fn go_beyond(&mut self, why: String) {
        self.beyond.get_or_insert(why);
        if self.level == Level::Core {
            self.level = Level::Extended;
        }
    }

    /// The case's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The parameters of a class as the driver gets them.
    pub fn driver_parameters(&self, class: &str) -> BTreeMap<String, String> {
        let parameters = self.class_parameters.get(class).into_iter().flatten();
        without_sidecars(parameters.map(|(key, value)| (key, value.as_str())))
    }

    /// Puts actions before all others. `note`: what they are for, as the timeline says it.
    pub fn begin_with(&mut self, actions: impl IntoIterator<Item = Action>, note: &str) {
        if let Some(step) = self.steps.first_mut() {
            let actions = actions.into_iter().map(|action| (action, note.to_owned()));
            step.actions.splice(0..0, actions);
        }
    }

    /// Words of lines in logs that expectations ask for.
    pub(crate) fn log_words(&self) -> Vec<String> {
        let expectations = self.steps.iter().flat_map(|step| &step.expect);
        let patterns = expectations.flat_map(|expect| expect.predicate.patterns());
        let words = patterns.filter_map(|pattern| match &pattern.kind {
            PatternKind::Log(words) => Some(words.clone()),
            _ => None,
        });
        words.collect()
    }

    /// Everything that the harness does, in order.
    pub(crate) fn actions(&self) -> impl Iterator<Item = &Action> {
        let actions = self.steps.iter().flat_map(|step| &step.actions);
        actions.map(|(action, _)| action)
    }

    /// What the driver is told to do, in order.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = &Script> {
        self.actions().filter_map(|action| match action {
            Action::Script(script) => Some(script),
            _ => None,
        })
    }

    /// How often faults of the API and of the driver that are over by themselves can be met.
    pub(crate) fn times_of_faults(&self) -> u32 {
        let times = self.actions().filter_map(|action| match action {
            Action::Fault { rule, .. } => rule.times,
            Action::Script(script) => script.times,
            _ => None,
        });
        times.fold(0, u32::saturating_add)
    }

    /// What comes first in the id: the suite it belongs to.
    pub fn area(&self) -> String {
        self.id().split('/').take(2).collect::<Vec<_>>().join("/")
    }
}

/// The fake driver and its pools.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverPlan {
    /// Plugin name.
    pub name: String,
    /// Whether GET_CAPACITY is advertised.
    pub get_capacity: bool,
    /// Whether CLONE_VOLUME is advertised.
    pub clone_volume: bool,
    /// Snapshots that it has from the start, by handle.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Names of the mutable parameters that it knows; with some, MODIFY_VOLUME is advertised.
    pub mutable_parameters: Vec<String>,
    /// Whether it refuses what the specification does not allow; otherwise that is a finding.
    pub strict: bool,
    /// Whether GetCapacity still counts what is reserved.
    pub tells_reserved: bool,
    /// gRPC code of a CreateVolume for which there is no room.
    pub exhausted: i32,
    /// How far the answers of GetCapacity vary from call to call, in bytes.
    pub varies_by: u64,
    /// Whether CreateVolume answers `capacity_bytes`.
    pub tells_volume_size: bool,
    /// Raw bytes per volume byte, by class parameter.
    pub costs: Vec<(String, String, u64)>,
    /// The release of the CSI specification that it is made for.
    pub version: SpecVersion,
    /// Storage by segment.
    pub pools: Vec<(Segment, Storage)>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Short name.
    pub id: String,
    /// Line of the file where it begins.
    pub line: u64,
    /// What the harness does, each with its text.
    pub actions: Vec<(Action, String)>,
    /// What must be seen.
    pub expect: Vec<Expect>,
}

/// One thing the harness does. Objects are complete; only what names an object by its content is resolved when it runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Change or remove a pool.
    Pool(Segment, Option<Storage>),
    /// Create an object.
    Create(Value),
    /// Apply a JSON merge patch.
    Merge(Target, Value),
    /// Replace an object.
    Replace(ReplaceSpec),
    /// Server-side apply.
    Apply(ApplySpec),
    /// Delete an object.
    Delete(Target),
    /// The driver starts on a node: a new endpoint, and with it a publisher in distributed mode.
    DriverUp(String, Segment),
    /// The driver ends on a node.
    DriverDown(String),
    /// Add to (or take from) the drivers of a CSINode.
    Registration(String, Option<Vec<String>>),
    /// Script the driver.
    Script(Script),
    /// The script of that name is over.
    Unscript(String),
    /// Call the driver.
    CsiCall(CsiCall),
    /// Ask the API server in which versions it serves a resource.
    Discover(GroupResource),
    /// Publish the volumes of a pod, by its name, as the kubelet of its node does.
    Mount(String),
    /// Hold devices as an extender does.
    Reserve(Reservation),
    /// Release them.
    Unreserve(String),
    /// Stop a role.
    Stop(Role),
    /// Start a role again.
    Start(Role),
    /// Start the publisher anew with these settings.
    Republish(PublisherSpec),
    /// Start the scheduler anew with these settings.
    Reschedule(SchedulerSpec),
    /// The API server fails by a rule, under the case's name for it; perhaps the client that meets it is killed.
    Fault {
        /// The case's name for it.
        id: String,
        /// What fails.
        rule: fake_apiserver::Rule,
        /// Whether the client that meets it is killed.
        kills: bool,
    },
    /// The fault of that name is over.
    Unfault(String),
    /// The API server becomes a release with these gates.
    Release(Release, BTreeMap<String, bool>),
    /// Do it; a refusal is an answer like another.
    Attempt(Box<Action>),
}

impl Action {
    /// The resource that it writes to; none: it is no write to the API.
    pub fn resource(&self) -> Option<String> {
        match self {
            Action::Create(object) => Some(ResourceRef::plural_of(object)?.to_owned()),
            Action::Replace(ReplaceSpec { object, .. }) | Action::Apply(ApplySpec { object, .. }) => {
                Some(ResourceRef::plural_of(object)?.to_owned())
            }
            Action::Merge(target, _) | Action::Delete(target) => Some(target.resource().to_owned()),
            Action::Registration(..) => Some("csinodes".to_owned()),
            Action::Attempt(action) => action.resource(),
            _ => None,
        }
    }
}

/// An existing object.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// By resource, namespace and name.
    Named {
        /// Plural resource name.
        resource: String,
        /// Namespace, where there is one.
        namespace: Option<String>,
        /// Name.
        name: String,
    },
    /// All that have certain labels, which may be none.
    Labelled(Labelled),
    /// The CSIStorageCapacity objects of that class and segment.
    Capacity {
        /// storageClassName.
        class: String,
        /// The segment, as cases write it.
        segment: String,
    },
}

/// Objects by their labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Labelled {
    /// Plural resource name.
    pub resource: String,
    /// Only in that namespace.
    pub namespace: Option<String>,
    /// The labels.
    pub labels: Labels,
}

impl Labelled {
    /// Whether an object of the resource is one of them. `namespace`: where it is; empty: in none.
    pub fn means(&self, namespace: &str, object: &Value) -> bool {
        let own = &object["metadata"]["labels"];
        let mut labels = self.labels.iter();
        let is_there = self.namespace.as_ref().is_none_or(|wanted| wanted == namespace);
        is_there && labels.all(|(label, value)| own[label] == value.as_str())
    }
}

impl Target {
    /// Plural resource name.
    pub fn resource(&self) -> &str {
        match self {
            Target::Named { resource, .. } | Target::Labelled(Labelled { resource, .. }) => resource,
            Target::Capacity { .. } => "csistoragecapacities",
        }
    }
}

/// A scripted answer of the driver.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The case's name for it.
    pub id: Option<String>,
    /// The CSI method.
    pub method: String,
    /// Only calls for that segment.
    pub segment: Option<Segment>,
    /// Only calls with these parameters.
    pub parameters: BTreeMap<String, String>,
    /// Leave the first matching calls alone.
    pub skip: u32,
    /// Apply to so many calls; none: to all.
    pub times: Option<u32>,
    /// What happens to them.
    pub effect: Effect,
}

/// What happens to a scripted call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Effect {
    /// It fails with that gRPC code.
    Code(i32),
    /// It is answered later.
    Delay(std::time::Duration),
    /// It is never answered.
    Hang,
    /// The connection is cut before anything is done.
    Disconnect,
    /// It is carried out, and the connection is cut instead of an answer.
    LoseAnswer,
    /// GetCapacity answers these bytes.
    Answer {
        /// available_capacity.
        available: i64,
        /// maximum_volume_size.
        maximum: Option<i64>,
        /// minimum_volume_size.
        minimum: Option<i64>,
    },
}
