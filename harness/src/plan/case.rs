//! The parts of a case that apply to all steps: the initial cluster, settings of the systems under test, and metadata for reports.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{SIDECAR_PREFIX, Segment};
use fake_apiserver::Release;
use fake_csi::{Snapshot, SpecVersion, Storage};
use serde_json::Value;

use crate::scenario::{ExtenderSpec, GrantSpec, Level, Mode, PublisherSpec, Role, SchedulerSpec};
use crate::segment::Segments;

/// Namespace of the publisher and its objects. Pods and PVCs are in another namespace, as in real clusters.
pub const NAMESPACE: &str = "csi";
/// Namespace of pods and PVCs.
pub const WORKLOADS: &str = "default";

/// RBAC rules by role. A role without entry has all permissions; if the map is empty, RBAC is off.
pub type Grants = BTreeMap<Role, Vec<GrantSpec>>;

/// Everything that a run and its verdict need, except the steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Unique path-like id of the case.
    pub(crate) id: String,
    /// The tested behaviour in one sentence.
    pub title: String,
    /// Ids of the requirements that the case tests, from the requirement catalogue.
    pub requirements: Vec<String>,
    /// Whether and for whom a failure counts.
    pub level: Level,
    /// What the case requires beyond the KEPs and the CSI spec; such a case is never core.
    pub beyond: Option<String>,
    /// Features that the case lists explicitly.
    pub named_features: Vec<String>,
    /// Public bug reports that this case would have caught.
    pub catches: Vec<String>,
    /// File of the case, for messages and annotations.
    pub source: String,
    /// The equivalent case file.
    pub text: String,
    /// Release of the API server at the start.
    pub release: Release,
    /// Feature gates of the API server at the start.
    pub gates: BTreeMap<String, bool>,
    /// Roles that run.
    pub roles: Vec<Role>,
    /// How the publisher is deployed.
    pub mode: Mode,
    /// Settings of the publisher.
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    pub scheduler: SchedulerSpec,
    /// Scheduler extenders.
    pub extenders: Vec<ExtenderSpec>,
    /// RBAC rules by role; empty if RBAC is off.
    pub grants: Grants,
    /// Metrics that the specification checks; empty if it checks none.
    pub specified_metrics: BTreeSet<&'static str>,
    /// Ids of specification rules that are not checked.
    pub excused_rules: BTreeSet<&'static str>,
    /// Time for which the driver must be absent before the cleaner deletes objects.
    pub orphan_after: std::time::Duration,
    /// Configuration of the driver.
    pub driver: DriverPlan,
    /// Parses and formats topology segments.
    pub segments: Segments,
    /// Objects that exist before the systems start.
    pub objects: Vec<Value>,
    /// Nodes, with their segments, on which the driver runs at the start.
    pub driver_nodes: Vec<(String, Segment)>,
    /// Parameters of every class of the case, by class.
    pub class_parameters: BTreeMap<String, BTreeMap<String, String>>,
}

/// Class parameters that the driver receives: without the reserved ones for sidecars.
pub(crate) fn without_sidecars<'p>(
    parameters: impl Iterator<Item = (&'p String, &'p str)>,
) -> BTreeMap<String, String> {
    let own = parameters.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX));
    own.map(|(key, value)| (key.clone(), value.to_owned())).collect()
}

impl Case {
    /// Whether each node has its own publisher.
    pub fn is_distributed(&self) -> bool {
        self.mode == Mode::Distributed
    }

    /// Marks the case as requiring more than the KEPs and the CSI spec, unless it is marked already.
    pub fn mark_beyond(&mut self, why: String) {
        self.beyond.get_or_insert(why);
        if self.level == Level::Core {
            self.level = Level::Extended;
        }
    }

    /// The case's id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Parameters of a class as the driver receives them.
    pub fn driver_parameters(&self, class: &str) -> BTreeMap<String, String> {
        let parameters = self.class_parameters.get(class).into_iter().flatten();
        without_sidecars(parameters.map(|(key, value)| (key, value.as_str())))
    }

    /// The first two parts of the id: the suite of the case.
    pub fn area(&self) -> String {
        self.id().split('/').take(2).collect::<Vec<_>>().join("/")
    }
}

/// The fake driver and its pools.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverPlan {
    /// Name of the CSI driver.
    pub name: String,
    /// Whether GET_CAPACITY is advertised.
    pub get_capacity: bool,
    /// Whether CLONE_VOLUME is advertised.
    pub clone_volume: bool,
    /// Pre-existing snapshots by handle.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Supported mutable parameters; if not empty, MODIFY_VOLUME is advertised.
    pub mutable_parameters: Vec<String>,
    /// Whether the driver rejects calls that violate the CSI spec. If not, they are reported as findings.
    pub strict: bool,
    /// Whether GetCapacity includes reserved capacity.
    pub reports_reserved: bool,
    /// gRPC code of CreateVolume if the capacity is insufficient.
    pub exhausted: i32,
    /// Variation of GetCapacity responses between calls, in bytes.
    pub varies_by: u64,
    /// Whether CreateVolume returns `capacity_bytes`.
    pub returns_volume_size: bool,
    /// Raw bytes per volume byte, by class parameter.
    pub costs: Vec<(String, String, u64)>,
    /// Version of the CSI spec that the driver implements.
    pub version: SpecVersion,
    /// Storage by topology segment.
    pub pools: Vec<(Segment, Storage)>,
}
