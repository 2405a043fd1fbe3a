//! The parts of a case that apply to all steps: the initial cluster, settings of the programs under test, and metadata for reports.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{SIDECAR_PREFIX, Segment};
use fake_apiserver::Release;
use fake_csi::{Snapshot, SpecVersion, Storage};
use serde_json::Value;

use crate::scenario::{ExtenderSpec, GrantSpec, Level, Mode, PublisherSpec, Role, SchedulerSpec};
use crate::segment::Segments;

/// Namespace of the publisher and its CSIStorageCapacity objects. Pods and PVCs are in another namespace, as in real clusters.
pub const NAMESPACE: &str = "csi";
/// Namespace of pods and PVCs.
pub const WORKLOADS: &str = "default";

/// RBAC rules by program role. A role without an entry has all permissions. If the map is empty, RBAC is off.
pub type Grants = BTreeMap<Role, Vec<GrantSpec>>;

/// Everything that a run and its verdict need, except the steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Id of the case: a unique path such as `publisher/value/zero`.
    pub(crate) id: String,
    /// The tested behaviour in one sentence.
    pub title: String,
    /// Ids of the requirements in the requirement catalogue that the case tests.
    pub requirements: Vec<String>,
    /// Whether, and for which programs, a failure of the case fails the run.
    pub level: Level,
    /// What the case requires beyond the KEPs and the CSI spec. A case with such a requirement never has the level `core`.
    pub beyond: Option<String>,
    /// Features that the case file lists, in addition to features that its settings imply.
    pub named_features: Vec<String>,
    /// Public bug reports about bugs that this case detects.
    pub catches: Vec<String>,
    /// Path of the case file, for messages and annotations.
    pub source: String,
    /// Text of a case file that contains only this case.
    pub text: String,
    /// Release of the API server at the start.
    pub release: Release,
    /// Feature gates of the API server at the start.
    pub gates: BTreeMap<String, bool>,
    /// Roles whose programs run in the case.
    pub roles: Vec<Role>,
    /// Whether the publisher is central or distributed.
    pub mode: Mode,
    /// Settings of the publisher.
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    pub scheduler: SchedulerSpec,
    /// Scheduler extenders that the harness runs in the case.
    pub extenders: Vec<ExtenderSpec>,
    /// RBAC rules by role; empty if RBAC is off.
    pub grants: Grants,
    /// Metrics that the specification checks; empty if it checks no metrics.
    pub specified_metrics: BTreeSet<&'static str>,
    /// Ids of specification rules that are not checked in this case.
    pub excused_rules: BTreeSet<&'static str>,
    /// How long the driver must be absent from a node before the cleaner deletes the CSIStorageCapacity objects of that node.
    pub orphan_after: std::time::Duration,
    /// Configuration of the driver.
    pub driver: DriverPlan,
    /// The topology keys of the case, which define how segments are parsed and formatted.
    pub segments: Segments,
    /// Objects that exist before the programs start.
    pub objects: Vec<Value>,
    /// Nodes on which the driver runs at the start, each with its segment.
    pub driver_nodes: Vec<(String, Segment)>,
    /// Parameters of every StorageClass of the case.
    pub class_parameters: BTreeMap<String, BTreeMap<String, String>>,
}

/// StorageClass parameters that the driver receives: all except those reserved for sidecars.
pub(crate) fn without_sidecar_parameters<'p>(
    parameters: impl Iterator<Item = (&'p String, &'p str)>,
) -> BTreeMap<String, String> {
    let own = parameters.filter(|(key, _)| !key.starts_with(SIDECAR_PREFIX));
    own.map(|(key, value)| (key.clone(), value.to_owned())).collect()
}

impl Case {
    /// Whether one publisher runs on each node, instead of a central publisher.
    pub fn is_distributed(&self) -> bool {
        self.mode == Mode::Distributed
    }

    /// Marks the case as requiring more than the KEPs and the CSI spec. `why` does not replace an existing reason.
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

    /// Parameters of a StorageClass without the parameters for sidecars, which the driver does not receive.
    pub fn driver_parameters(&self, class: &str) -> BTreeMap<String, String> {
        let parameters = self.class_parameters.get(class).into_iter().flatten();
        without_sidecar_parameters(parameters.map(|(key, value)| (key, value.as_str())))
    }

    /// The first two parts of the case id, such as `publisher/value`, which name the suite.
    pub fn area(&self) -> String {
        self.id().split('/').take(2).collect::<Vec<_>>().join("/")
    }
}

/// The fake driver and its pools.
#[derive(Debug, Clone, PartialEq)]
pub struct DriverPlan {
    /// Name of the CSI driver.
    pub name: String,
    /// Whether the driver advertises GET_CAPACITY.
    pub get_capacity: bool,
    /// Whether the driver advertises CLONE_VOLUME.
    pub clone_volume: bool,
    /// Snapshots that exist at the start, by handle.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Mutable parameters that the driver supports. If not empty, the driver advertises MODIFY_VOLUME.
    pub mutable_parameters: Vec<String>,
    /// Whether the driver rejects calls that violate the CSI spec. Otherwise, violations are reported as findings.
    pub strict: bool,
    /// Whether the capacity in GetCapacity responses includes reserved devices.
    pub reports_reserved: bool,
    /// gRPC code with which CreateVolume fails if the capacity is insufficient.
    pub exhausted: i32,
    /// By how many bytes the capacity in GetCapacity responses varies between calls.
    pub varies_by: u64,
    /// Whether CreateVolume returns `capacity_bytes`.
    pub returns_volume_size: bool,
    /// Raw bytes that a volume uses per byte of its size, by class parameter (name, value).
    pub costs: Vec<(String, String, u64)>,
    /// Version of the CSI spec that the driver implements.
    pub version: SpecVersion,
    /// Storage of the driver by topology segment.
    pub pools: Vec<(Segment, Storage)>,
}
