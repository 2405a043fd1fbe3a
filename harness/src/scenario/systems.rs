//! The part of the case format that sets the systems under test: how the publisher is deployed, and the settings of publisher and scheduler.

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
    /// The word used in case files and manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Mode::Central => "central",
            Mode::Distributed => "distributed",
        }
    }
}

/// Settings of the publisher, in the words of its role: a system's manifest maps them to arguments.
#[derive(Debug, Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PublisherSpec {
    /// Publish at all; otherwise it provisions only.
    pub publish: bool,
    /// It is told in which namespace it runs; otherwise that is empty.
    pub namespace: bool,
    /// Ask the driver again in every refresh interval; otherwise once an hour, which no case lives to see, so that only events count.
    pub polls: bool,
    /// Objects are known to be its own by their owner, as in external-provisioner 2.0.0, instead of by their labels.
    pub by_owner: bool,
    /// Send the names of claim and volume to the driver (`--extra-create-metadata`).
    pub metadata: bool,
    /// GetCapacity calls per second, at most, as many at once; unset: as many as are wanted.
    pub asks_per_second: Option<u32>,
    /// Hops from the pod to the owner of the objects; unset: no owner. In central mode the pod `publisher-5d4-x7x` (0) has a ReplicaSet (1)
    /// and a Deployment (2) above it; in distributed mode each node has a pod `publisher-NODE` (0) of one DaemonSet (1). The pod of a node that leaves is deleted after the actions of the step.
    pub owner_level: Option<u8>,
    /// Publish for classes with immediate binding too.
    pub immediate: bool,
    /// Publish zero as an object instead of leaving it out.
    pub zero: bool,
    /// Ask for the selected node's topology only, instead of preferring it.
    pub strict_topology: bool,
    /// Remove an object whose figure the driver does not report any more, instead of keeping the last one.
    pub withdraw: bool,
    /// Instances of the central publisher, of which one leads; unset: a single one without an election.
    pub replicas: Option<u8>,
}

impl PublisherSpec {
    /// Whether there are several instances, of which one leads.
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
            by_owner: false,
            metadata: false,
            asks_per_second: None,
            owner_level: None,
            immediate: false,
            zero: false,
            strict_topology: false,
            withdraw: false,
            replicas: None,
        }
    }
}

/// Settings of the scheduler. A gate that is unset has the default of the release, and one that the release does not have is
/// refused by the scheduler itself.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulerSpec {
    /// The Kubernetes release that it is, whatever the API server is; unset: the one that it is by itself.
    pub release: Option<Release>,
    /// The feature gate CSIStorageCapacity (KEP-1472) as the scheduler has it, whatever the API server has.
    pub capacity: Option<bool>,
    /// The feature gate VolumeCapacityPriority (KEP-1845), which scores existing volumes alone.
    pub priority: Option<bool>,
    /// The feature gate StorageCapacityScoring (KEP-4049).
    pub scoring: Option<bool>,
    /// VolumeBindingArgs.shape; unset: the default of the release.
    pub shape: Option<Vec<ShapePoint>>,
    /// What upstream does otherwise than it should, and this scheduler is to do as well.
    #[serde(default)]
    pub bug_compatible: Vec<Deviation>,
    /// Add up the capacity of a class once for each of its claims, as the text of KEP-4049 has it (`+=`).
    #[serde(default)]
    pub kep_text: bool,
}

/// Something that kube-scheduler does otherwise than it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Deviation {
    /// A driver that stops tracking capacity wakes no pod.
    Flag,
    /// Huge quantities overflow.
    Arithmetic,
    /// Of several sufficient objects any is scored.
    Choice,
}

impl Deviation {
    /// The word used in case files and manifests.
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
    /// Requested share of the capacity in percent, 0 to 100.
    pub utilization: u8,
    /// Score at that share, 0 to 10.
    pub score: u8,
}
