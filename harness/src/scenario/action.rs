//! The part of the case format that says what the harness does.

use std::collections::BTreeMap;

use fake_csi::RuleText;
use serde::Deserialize;
use serde_json::Value;

use super::{
    ApplySpec, CapacitySpec, ClassSpec, CsiCallSpec, FaultSpec, FromShort, MergeSpec, NodeSpec, PoolSpec,
    PublisherSpec, ReleaseSpec, ReplaceSpec, ReserveSpec, Role, SchedulerSpec, Short, Size,
};

/// One thing the harness does.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ActionSpec {
    /// Change raw storage by segment, as in `backend: {n1: 20Gi}`; null takes the pool away.
    Backend(BTreeMap<String, Option<Short<PoolSpec>>>),
    /// A node comes, goes or changes.
    Node(NodeAction),
    /// A storage class comes or goes.
    Class(ClassAction),
    /// Change the CSIDriver object.
    CsiDriver(CsiDriverAction),
    /// Create a pod, and the claims it names.
    Pod(PodSpec),
    /// Create a claim.
    Claim(ClaimSpec),
    /// Create, edit or delete a CSIStorageCapacity object as another client.
    Capacity(CapacityAction),
    /// Delete a pod, a claim, or any other object.
    Delete(DeleteAction),
    /// Ask the driver, as a publisher would, and keep the answer under a name.
    Ask(CsiCallSpec),
    /// Ask the API server in which versions it serves a resource, such as `csistoragecapacities.storage.k8s.io`; `served` says what it must
    /// answer.
    Discover(String),
    /// The kubelet's part, once, for a pod that has a node: the driver publishes its volumes (NodePublishVolume), and the pod's status and
    /// an event say what came of it.
    Mount(String),
    /// Script what the driver answers.
    Csi(Box<RuleText<String, Size>>),
    /// A script, by its id, is over: `uncsi: slow`. Calls that hang because of it go on.
    Uncsi(String),
    /// An extender of the scheduler holds devices for claims.
    Reserve(ReserveSpec),
    /// An extender's reservation, by its name, is over.
    Unreserve(String),
    /// Stop a role, as in `stop: publisher`: its processes end, its objects stay. The driver's sockets go away with it, and its storage stays.
    Stop(Role),
    /// Start a role that was stopped: `start: publisher`. Where the publisher's namespace, its pod or an owner of that was deleted, it is created again.
    Start(Role),
    /// Start the publisher anew with these settings; what is left out has its default again.
    Publisher(PublisherSpec),
    /// Start the scheduler anew with these settings; what is left out has its default again.
    Scheduler(SchedulerSpec),
    /// The API server fails in some way from now on.
    Fault(Box<FaultSpec>),
    /// A fault, by its id, is over: `unfault: down`.
    Unfault(String),
    /// The API server becomes another release, or the same one with other gates: `release: {gates: {CSIStorageCapacity: true}}`.
    Release(ReleaseSpec),
    /// Change an object.
    Merge(MergeSpec),
    /// Send an object in the place of the one with its name (PUT).
    Replace(ReplaceSpec),
    /// Apply an object as a field manager (server-side apply).
    Apply(ApplySpec),
    /// Create any other object, as the API takes it.
    Object(Value),
    /// Do something that the API server may refuse. Whether it must is for the expectations to say.
    Attempt(Box<ActionSpec>),
}

/// A node comes, goes or changes: exactly one of the fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeAction {
    /// The node is created, and the driver registers on it: `node: {join: n4}`.
    Join(Short<NodeSpec>),
    /// Node and CSINode are deleted: `node: {leave: n1}`.
    Leave(String),
    /// Labels are set (null removes one): `node: {relabel: {name: n1, labels: {zone: west}}}`.
    Relabel {
        /// The node.
        name: String,
        /// The labels.
        labels: BTreeMap<String, Option<String>>,
    },
    /// The driver registers in the node's CSINode: `node: {register: n1}`, or `node: {register: {name: n1, labels: first}}`.
    Register(Short<RegisterSpec>),
    /// The driver's entry in the CSINode goes away: `node: {unregister: n1}`.
    Unregister(String),
}

/// What the kubelet does for a driver that registers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterSpec {
    /// The node.
    pub name: String,
    /// When the node gets the labels of the segment that NodeGetInfo returns, as the kubelet sets them: `first`, before the CSINode names the
    /// driver, or `last`, after that; unset: never.
    pub labels: Option<LabelOrder>,
}

/// When a node gets the labels of its segment. The kubelet sets them first; a watch may show them last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelOrder {
    /// Before the CSINode names the driver.
    First,
    /// After that.
    Last,
}

impl FromShort for RegisterSpec {
    const EXPECTING: &'static str = "a node, or a map with `name` and `labels`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(RegisterSpec {
            name: text.to_owned(),
            labels: None,
        })
    }
}

/// A storage class comes or goes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClassAction {
    /// Create it.
    Create(Short<ClassSpec>),
    /// Delete it: `class: {delete: fast}`.
    Delete(String),
}

/// A change of the CSIDriver object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CsiDriverAction {
    /// Set spec.storageCapacity: `csiDriver: {storageCapacity: true}`. Up to 1.22 it cannot be changed: delete the object and create it.
    StorageCapacity(bool),
    /// Delete the object: `csiDriver: delete`.
    Delete,
    /// Create it with that spec.storageCapacity: `csiDriver: {create: true}`. An API server whose gate is off drops the field.
    Create(Option<bool>),
}

/// A pod with its claims.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PodSpec {
    /// metadata.name.
    pub name: String,
    /// Claims to create and mount; one with a `name` only mounts the claim that exists.
    #[serde(default)]
    pub claims: Vec<ClaimSpec>,
    /// Generic ephemeral volumes.
    #[serde(default)]
    pub ephemeral: Vec<ClaimSpec>,
    /// spec.nodeSelector.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// A CSI ephemeral inline volume of that driver.
    pub inline: Option<String>,
}

/// A claim.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimSpec {
    /// metadata.name; unset inside a pod: `<pod>-<index>`.
    pub name: Option<String>,
    /// spec.storageClassName; unset inside a pod: the claim exists already; unset in a claim of its own: it has no class.
    pub class: Option<String>,
    /// spec.resources.requests.storage.
    pub size: Option<Size>,
    /// spec.volumeMode; unset: Filesystem.
    pub mode: Option<VolumeMode>,
    /// spec.dataSource: the claim of whose volume a copy is wanted.
    pub copy_of: Option<String>,
    /// spec.dataSource: the VolumeSnapshot, one of `driver.snapshots`, from which the volume is made.
    pub snapshot: Option<String>,
    /// spec.volumeAttributesClassName.
    pub attributes: Option<String>,
}

/// PersistentVolumeClaim.spec.volumeMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
pub enum VolumeMode {
    /// Mounted into a directory.
    Filesystem,
    /// A raw device.
    Block,
}

/// What another client does to a CSIStorageCapacity object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CapacityAction {
    /// Create it.
    Create(CapacitySpec),
    /// Change an existing object of that class and segment, whichever client wrote it.
    Edit {
        /// storageClassName.
        class: String,
        /// The segment it selects.
        segment: String,
        /// A JSON merge patch.
        merge: Value,
    },
    /// Delete an existing object of that class and segment, whichever client wrote it.
    Delete {
        /// storageClassName.
        class: String,
        /// The segment it selects.
        segment: String,
    },
}

/// Delete something by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeleteAction {
    /// The pod.
    Pod(String),
    /// The claim.
    Claim(String),
    /// Any other object.
    Object {
        /// Plural resource name, such as `replicasets`.
        resource: String,
        /// Namespace, where there is one.
        namespace: Option<String>,
        /// metadata.name.
        name: String,
    },
    /// All objects with certain labels, one by one, as `kubectl delete -l` does.
    All {
        /// Plural resource name.
        resource: String,
        /// Only in that namespace.
        namespace: Option<String>,
        /// The labels.
        labels: BTreeMap<String, String>,
    },
}
