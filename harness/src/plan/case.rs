//! What holds for a case in all its steps: the cluster at the start, the settings of the systems, and what is reported of the case.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{SIDECAR_PREFIX, Segment};
use fake_apiserver::Release;
use fake_csi::{Snapshot, SpecVersion, Storage};
use serde_json::Value;

use crate::scenario::{ExtenderSpec, GrantSpec, Level, Mode, PublisherSpec, Role, SchedulerSpec};
use crate::segment::Segments;

/// Namespace of the publisher and its objects. Pods and claims live elsewhere, as they do in real clusters.
pub const NAMESPACE: &str = "csi";
/// Namespace of pods and claims.
pub const WORKLOADS: &str = "default";

/// Role → its rules. A role that is not in it may do everything, and where none is in it, permissions are not looked at.
pub type Grants = BTreeMap<Role, Vec<GrantSpec>>;

/// Everything that a run and its verdict need, but for the steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
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
}

/// Parameters of a class without those that are meant for sidecars: what the driver gets.
pub(crate) fn without_sidecars<'p>(
    parameters: impl Iterator<Item = (&'p String, &'p str)>,
) -> BTreeMap<String, String> {
    let own = parameters.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX));
    own.map(|(key, value)| (key.clone(), value.to_owned())).collect()
}

impl Case {
    /// Whether each node has a publisher of its own.
    pub fn is_distributed(&self) -> bool {
        self.mode == Mode::Distributed
    }

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
