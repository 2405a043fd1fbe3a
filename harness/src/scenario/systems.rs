//! Settings of the systems under test in the case format: deployment of the publisher, settings of publisher and scheduler, and permissions.

use fake_apiserver::Release;
use serde::{Deserialize, Serialize};

/// How the publisher is deployed (KEP-1472, "with central controller" and "without central controller").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One publisher for all nodes.
    #[default]
    Central,
    /// One publisher per node, which publishes only the capacity of its node.
    Distributed,
}

impl Mode {
    /// Name of the mode in case files and manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Central => "central",
            Mode::Distributed => "distributed",
        }
    }
}

/// Settings of the publisher, independent of its implementation. A manifest maps them to command-line arguments.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PublisherSpec {
    /// Whether to publish capacity (default: true); if not, the publisher only provisions volumes.
    pub publish: bool,
    /// Whether the publisher is configured with its namespace (default: true).
    pub namespace: bool,
    /// Whether to call GetCapacity in every poll interval (default: true). If not, only events cause calls: the poll interval is one hour.
    pub polls: bool,
    /// Whether the publisher identifies its objects by owner, as external-provisioner 2.0.0 does, instead of by labels.
    #[serde(alias = "byOwner")]
    pub identify_by_owner: bool,
    /// Whether to send the names of PVC and PV to the driver (`--extra-create-metadata`).
    #[serde(alias = "metadata")]
    pub extra_create_metadata: bool,
    /// Maximum GetCapacity calls per second, which is also the burst. Unset: unlimited.
    #[serde(alias = "asksPerSecond")]
    pub get_capacity_qps: Option<u32>,
    /// Which object owns the publisher's CSIStorageCapacity objects: number of owner references from the publisher's pod to the owner.
    /// Unset: no owner. In central mode, the pod `publisher-5d4-x7x` is 0, its ReplicaSet 1, and the Deployment 2. In distributed mode, the
    /// pod `publisher-NODE` of each node is 0, and the DaemonSet 1. The pod of a deleted node is deleted after the actions of the step.
    pub owner_level: Option<u8>,
    /// Whether to publish capacity for classes with Immediate binding too.
    pub immediate: bool,
    /// Whether to create an object with capacity 0 instead of no object.
    #[serde(alias = "zero")]
    pub zero_capacity_objects: bool,
    /// Whether to request only the topology of the selected node, instead of preferring it.
    pub strict_topology: bool,
    /// Whether to delete an object when the driver stops returning its capacity, instead of retaining the last value.
    #[serde(alias = "withdraw")]
    pub delete_unknown_capacity: bool,
    /// Number of replicas of the central publisher, with leader election. Unset: one replica without leader election.
    pub replicas: Option<u8>,
}

impl PublisherSpec {
    /// Whether the case sets `replicas`, so that the publisher uses leader election.
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

/// Settings of the scheduler. A feature gate that is not set has the default of the release. The scheduler rejects a gate that its release
/// does not have.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulerSpec {
    /// Kubernetes release of the scheduler, independent of the API server's release. Unset: the default of the program.
    pub release: Option<Release>,
    /// Feature gate CSIStorageCapacity of the scheduler (KEP-1472), independent of the API server's gate. Unset: the default of the
    /// release.
    #[serde(alias = "capacity")]
    pub capacity_gate: Option<bool>,
    /// Feature gate VolumeCapacityPriority (KEP-1845), which scores only existing volumes. Unset: the default of the release.
    #[serde(alias = "priority")]
    pub volume_capacity_priority: Option<bool>,
    /// Feature gate StorageCapacityScoring (KEP-4049). Unset: the default of the release.
    pub scoring: Option<bool>,
    /// VolumeBindingArgs.shape, as in `[{utilization: 0, score: 0}, {utilization: 100, score: 10}]`. Unset: the default of the release.
    pub shape: Option<Vec<ShapePoint>>,
    /// Known bugs of kube-scheduler that the scheduler must reproduce: `flag`, pods are not requeued when the CSIDriver stops tracking
    /// capacity; `arithmetic`, very large quantities overflow; `choice`, the score uses any of several sufficient objects.
    #[serde(default)]
    pub bug_compatible: Vec<KnownBug>,
    /// Whether scoring counts the capacity of a class once for each PVC of the class, as the text of KEP-4049 specifies (`+=`).
    #[serde(default, alias = "kepText")]
    pub kep4049_sum: bool,
}

/// A known bug of kube-scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum KnownBug {
    /// Pods are not requeued when the CSIDriver stops tracking capacity.
    Flag,
    /// Very large quantities overflow.
    Arithmetic,
    /// If several objects are sufficient, the score uses any of them.
    Choice,
}

impl KnownBug {
    /// Name of the bug in case files and manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            KnownBug::Flag => "flag",
            KnownBug::Arithmetic => "arithmetic",
            KnownBug::Choice => "choice",
        }
    }
}

/// One point of VolumeBindingArgs.shape.
#[derive(Debug, Clone, Copy, Deserialize, serde::Serialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShapePoint {
    /// Requested percentage of the capacity, from 0 to 100.
    pub utilization: u8,
    /// Score at that utilization, from 0 to 10.
    pub score: u8,
}

/// A PolicyRule of a ClusterRole or Role.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantSpec {
    /// Namespace of the Role that contains the rule. Unset: a ClusterRole contains it.
    #[serde(skip_serializing)]
    pub namespace: Option<String>,
    /// API groups; the core group is `""`.
    pub api_groups: Vec<String>,
    /// Plural resource names, with a subresource after a slash.
    pub resources: Vec<String>,
    /// Verbs: get, list, watch, create, update, patch, delete, deletecollection.
    pub verbs: Vec<String>,
}
