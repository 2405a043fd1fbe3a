//! Settings of the systems under test in the case format: deployment of the publisher, and settings of publisher and scheduler.

use fake_apiserver::Release;
use serde::Deserialize;

/// How the publisher is deployed (KEP-1472, "with central controller" and "without central controller").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One instance for all nodes.
    #[default]
    Central,
    /// One instance per node, each for its own node.
    Distributed,
}

impl Mode {
    /// The mode's name in case files and manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Central => "central",
            Mode::Distributed => "distributed",
        }
    }
}

/// Settings of the publisher, independent of its implementation: a system's manifest maps them to arguments.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PublisherSpec {
    /// Publish capacity; otherwise only provision.
    pub publish: bool,
    /// Pass the publisher its namespace; otherwise leave it unset.
    pub namespace: bool,
    /// Poll GetCapacity in every refresh interval; otherwise once an hour, longer than any case, so that only events count.
    pub polls: bool,
    /// Identify its own objects by owner, as in external-provisioner 2.0.0, instead of by labels.
    #[serde(alias = "byOwner")]
    pub identify_by_owner: bool,
    /// Pass the names of PVC and PV to the driver (`--extra-create-metadata`).
    #[serde(alias = "metadata")]
    pub extra_create_metadata: bool,
    /// Limit of GetCapacity calls per second, also as burst; unset: unlimited.
    #[serde(alias = "asksPerSecond")]
    pub get_capacity_qps: Option<u32>,
    /// Hops from the pod to the objects' owner; unset: no owner. In central mode the pod `publisher-5d4-x7x` (0) has a ReplicaSet (1) and a
    /// Deployment (2) above it; in distributed mode each node has a pod `publisher-NODE` (0) of one DaemonSet (1). The pod of a deleted
    /// node is deleted after the step's actions.
    pub owner_level: Option<u8>,
    /// Publish for classes with Immediate binding too.
    pub immediate: bool,
    /// Publish an object for zero capacity instead of none.
    #[serde(alias = "zero")]
    pub zero_capacity_objects: bool,
    /// Request the selected node's topology only, instead of preferring it.
    pub strict_topology: bool,
    /// Delete an object when the driver stops reporting its capacity, instead of retaining the last value.
    #[serde(alias = "withdraw")]
    pub delete_unknown_capacity: bool,
    /// Replicas of the central publisher with leader election; unset: a single one without election.
    pub replicas: Option<u8>,
}

impl PublisherSpec {
    /// Whether the publisher uses leader election.
    pub fn has_election(&self) -> bool {
        self.replicas.is_some()
    }
}

impl Default for PublisherSpec {
    fn default() -> Self {
        PublisherSpec {
            publish: true,
            namespace: true,
            polls: true,
            identify_by_owner: false,
            extra_create_metadata: false,
            get_capacity_qps: None,
            owner_level: None,
            immediate: false,
            zero_capacity_objects: false,
            strict_topology: false,
            delete_unknown_capacity: false,
            replicas: None,
        }
    }
}

/// Settings of the scheduler. An unset gate has the default of the release; the scheduler itself rejects a gate that its release does not
/// have.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulerSpec {
    /// Kubernetes release of the scheduler, independent of the API server; unset: the program's own.
    pub release: Option<Release>,
    /// The scheduler's feature gate CSIStorageCapacity (KEP-1472), independent of the API server's.
    #[serde(alias = "capacity")]
    pub capacity_gate: Option<bool>,
    /// The feature gate VolumeCapacityPriority (KEP-1845), which scores existing volumes only.
    #[serde(alias = "priority")]
    pub volume_capacity_priority: Option<bool>,
    /// The feature gate StorageCapacityScoring (KEP-4049).
    pub scoring: Option<bool>,
    /// VolumeBindingArgs.shape; unset: the default of the release.
    pub shape: Option<Vec<ShapePoint>>,
    /// Known upstream bugs that the scheduler reproduces.
    #[serde(default)]
    pub bug_compatible: Vec<Deviation>,
    /// Add the capacity of a class once for each of its PVCs, as KEP-4049's text says (`+=`).
    #[serde(default, alias = "kepText")]
    pub kep4049_sum: bool,
}

/// A known bug of kube-scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Deviation {
    /// Pods are not requeued when a driver stops tracking capacity.
    Flag,
    /// Very large quantities overflow.
    Arithmetic,
    /// The score uses any of several sufficient objects.
    Choice,
}

impl Deviation {
    /// The bug's name in case files and manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Deviation::Flag => "flag",
            Deviation::Arithmetic => "arithmetic",
            Deviation::Choice => "choice",
        }
    }
}

/// One point of VolumeBindingArgs.shape.
#[derive(Debug, Clone, Copy, Deserialize, serde::Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShapePoint {
    /// Requested percentage of the capacity, 0 to 100.
    pub utilization: u8,
    /// Score at that utilization, 0 to 10.
    pub score: u8,
}
