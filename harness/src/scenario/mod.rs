//! The case format: what a YAML file may say, as types, and nothing about running it.
//!
//! One file is one [`ScenarioFile`]; a file with a `table:` expands to one [`Scenario`] per row (see [`table`]).
//! Names are checked and turned into Kubernetes objects later, in [`crate::plan`].

mod fault;
mod load;
mod server;
mod short;
mod size;
mod table;

use std::collections::BTreeMap;

use fake_apiserver::Release;
use serde::Deserialize;
use serde_json::Value;
use serde_saphyr::Location;
pub use serde_saphyr::Spanned;

pub use fault::{ChanceSpec, CutSpec, FaultSpec, HoldSpec, StaleSpec};
pub use load::{ScenarioError, load_file, load_row, load_tree, parse};
pub use server::{MergeSpec, ReleaseSpec};
pub use short::{FromShort, Short};
pub use size::Size;

/// One runnable case: a file without a table, or one row of a file with one.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Path-like name, unique among all cases: the file's `id`, plus `/row` for a table row.
    pub id: String,
    /// Where it was read from, for error messages and annotations.
    pub source: String,
    /// The YAML of this very row, with the table's values filled in: enough to run it again.
    pub text: String,
    /// What the file says.
    pub file: ScenarioFile,
}

impl Scenario {
    /// An error about a place in it.
    pub fn error(&self, location: Location, message: impl Into<String>) -> ScenarioError {
        ScenarioError::at(&self.source, &self.text, location, message)
    }
}

/// A case file.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScenarioFile {
    /// Path-like name: `<role>/<area>/<behaviour>`.
    pub id: Spanned<String>,
    /// One sentence that says what is shown.
    pub title: String,
    /// Ids of the requirement catalogue.
    #[serde(default)]
    pub requirements: Vec<String>,
    /// How binding a failure is.
    #[serde(default)]
    pub level: Level,
    /// What a system must support for the case to apply.
    #[serde(default)]
    pub features: Vec<String>,
    /// Public reports of the bug that this case would have caught.
    #[serde(default)]
    pub catches: Vec<String>,
    /// Rows that turn the file into several cases. Read by [`table`]; kept here so that the key is known.
    #[serde(default)]
    pub table: Option<table::Table>,
    /// What exists before the systems under test start.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// What happens, in order.
    pub steps: Vec<Spanned<StepSpec>>,
}

/// How binding a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Every implementation of the role must pass.
    #[default]
    Core,
    /// Must pass where the feature is claimed.
    Extended,
    /// Runs and is reported, but never gates.
    Provisional,
}

/// The part a system under test plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Keeps CSIStorageCapacity objects right, and provisions volumes.
    Publisher,
    /// Filters and scores nodes with them.
    Scheduler,
    /// Removes the objects of publishers whose nodes are gone.
    Cleaner,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 3] = [Role::Publisher, Role::Scheduler, Role::Cleaner];

    /// The word used in case files, journals and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Publisher => "publisher",
            Role::Scheduler => "scheduler",
            Role::Cleaner => "cleaner",
        }
    }
}

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

/// What exists before the systems under test start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// The release that the API server has, such as `"1.20"`. Unset: the newest that is known well.
    #[serde(default)]
    pub release: Release,
    /// Feature gates of the API server.
    #[serde(default)]
    pub gates: BTreeMap<String, bool>,
    /// The roles that run. Unset: the first part of the case's id, or both when that names no role.
    pub roles: Option<Vec<Role>>,
    /// How the publisher is deployed.
    #[serde(default)]
    pub mode: Mode,
    /// Settings of the publisher.
    #[serde(default)]
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    #[serde(default)]
    pub scheduler: SchedulerSpec,
    /// How long the driver must be absent from a node before the cleaner acts, such as `300ms`; unset: `200ms`.
    pub orphan_after: Option<String>,
    /// The CSI driver.
    #[serde(default)]
    pub driver: DriverSpec,
    /// Nodes, by name or with labels.
    #[serde(default)]
    pub nodes: Vec<Short<NodeSpec>>,
    /// Storage classes, by name or with settings.
    #[serde(default)]
    pub classes: Vec<Short<ClassSpec>>,
    /// Raw storage by topology segment.
    #[serde(default)]
    pub backend: BTreeMap<String, Short<PoolSpec>>,
    /// CSIStorageCapacity objects that somebody created by hand, or an earlier publisher left behind.
    #[serde(default)]
    pub capacities: Vec<CapacitySpec>,
    /// PersistentVolumes that exist already.
    #[serde(default)]
    pub volumes: Vec<VolumeSpec>,
    /// Any other objects, as the API takes them.
    #[serde(default)]
    pub objects: Vec<Value>,
}

/// Settings of the publisher, in the words of its role: a system's manifest maps them to arguments.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PublisherSpec {
    /// Hops from the pod to the owner of the objects; unset: no owner.
    pub owner_level: Option<u8>,
    /// Publish for classes with immediate binding too.
    #[serde(default)]
    pub immediate: bool,
    /// Publish zero as an object instead of leaving it out.
    #[serde(default)]
    pub zero: bool,
    /// Ask for the selected node's topology only, instead of preferring it.
    #[serde(default)]
    pub strict_topology: bool,
    /// Remove an object whose figure the driver does not tell any more, instead of keeping the last one.
    #[serde(default)]
    pub withdraw: bool,
    /// Instances of the central publisher, of which one leads; unset: a single one without an election.
    pub replicas: Option<u8>,
}

/// Settings of the scheduler.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SchedulerSpec {
    /// The feature gate CSIStorageCapacity (KEP-1472) as the scheduler has it, whatever the API server has.
    #[serde(default = "DriverSpec::default_object")]
    pub capacity: bool,
    /// The feature gate StorageCapacityScoring (KEP-4049).
    #[serde(default)]
    pub scoring: bool,
    /// VolumeBindingArgs.shape; unset: the default of the release.
    pub shape: Option<Vec<ShapePoint>>,
}

impl Default for SchedulerSpec {
    fn default() -> Self {
        SchedulerSpec {
            capacity: true,
            scoring: false,
            shape: None,
        }
    }
}

/// One point of VolumeBindingArgs.shape.
#[derive(Debug, Clone, Copy, Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShapePoint {
    /// Requested share of the capacity in percent, 0 to 100.
    pub utilization: u8,
    /// Score at that share, 0 to 10.
    pub score: u8,
}

/// The CSI driver, its CSIDriver object and how classes use up its storage.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriverSpec {
    /// The name that GetPluginInfo answers and classes name as provisioner.
    #[serde(default = "DriverSpec::default_name")]
    pub name: String,
    /// Keys of the node labels that make up a segment. Unset: `<driver name>/node`. Empty: no topology support.
    pub topology_keys: Option<Vec<String>>,
    /// CSIDriver.spec.storageCapacity; null leaves the field out.
    #[serde(default = "DriverSpec::default_tracking")]
    pub storage_capacity: Option<bool>,
    /// Whether the CSIDriver object exists.
    #[serde(default = "DriverSpec::default_object")]
    pub object: bool,
    /// Whether the driver advertises GET_CAPACITY.
    #[serde(default = "DriverSpec::default_object")]
    pub get_capacity: bool,
    /// Raw bytes per volume byte, by class parameter.
    #[serde(default)]
    pub costs: Vec<CostSpec>,
}

impl DriverSpec {
    fn default_name() -> String {
        "disk.example.com".to_owned()
    }

    // serde wants a function for the default of a field, and the field itself is an option.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "serde calls it for a field of type Option"
    )]
    fn default_tracking() -> Option<bool> {
        Some(true)
    }

    fn default_object() -> bool {
        true
    }
}

impl Default for DriverSpec {
    fn default() -> Self {
        DriverSpec {
            name: Self::default_name(),
            topology_keys: None,
            storage_capacity: Self::default_tracking(),
            object: true,
            get_capacity: true,
            costs: Vec::new(),
        }
    }
}

/// Volumes of classes with this parameter take `factor` raw bytes per byte.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostSpec {
    /// Name of the class parameter.
    pub parameter: String,
    /// Its value.
    pub value: String,
    /// Raw bytes per volume byte.
    pub factor: u64,
}

/// A node, and whether the driver runs on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// Its name, also the value of `kubernetes.io/hostname` and of topology keys without a label.
    pub name: String,
    /// Labels besides those.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Whether the driver is registered in its CSINode.
    #[serde(default = "DriverSpec::default_object")]
    pub driver: bool,
}

impl FromShort for NodeSpec {
    const EXPECTING: &'static str = "a node name, or a map with `name`, `labels`, `driver`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(NodeSpec {
            name: text.to_owned(),
            labels: BTreeMap::new(),
            driver: true,
        })
    }
}

/// A storage class.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassSpec {
    /// metadata.name.
    pub name: String,
    /// Unset: the case's driver.
    pub provisioner: Option<String>,
    /// StorageClass.parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// StorageClass.volumeBindingMode.
    #[serde(default)]
    pub binding: Binding,
    /// Values of `allowedTopologies`, by key: one term.
    #[serde(default)]
    pub allowed_topologies: BTreeMap<String, Vec<String>>,
}

impl FromShort for ClassSpec {
    const EXPECTING: &'static str =
        "a class name, or a map with `name`, `provisioner`, `parameters`, `binding`, `allowedTopologies`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(ClassSpec {
            name: text.to_owned(),
            provisioner: None,
            parameters: BTreeMap::new(),
            binding: Binding::default(),
            allowed_topologies: BTreeMap::new(),
        })
    }
}

/// StorageClass.volumeBindingMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub enum Binding {
    /// A claim waits for its first pod.
    #[default]
    WaitForFirstConsumer,
    /// A claim is provisioned at once.
    Immediate,
}

/// Raw storage that the nodes of one segment reach.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSpec {
    /// Raw bytes.
    pub capacity: Size,
    /// Bytes of the largest single volume, reported as maximum_volume_size; unset: not reported.
    pub largest: Option<Size>,
}

impl FromShort for PoolSpec {
    const EXPECTING: &'static str = "a size such as 100Gi, or a map with `capacity`, `largest`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(PoolSpec {
            capacity: Size::parse(text)?,
            largest: None,
        })
    }
}

/// A CSIStorageCapacity object written by somebody else than the publisher under test.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacitySpec {
    /// metadata.name; unset: derived from class and topology.
    pub name: Option<String>,
    /// Unset: the publisher's namespace.
    pub namespace: Option<String>,
    /// storageClassName.
    pub class: String,
    /// Selects one node by its segment, or a segment by name. Short for `topology`.
    pub segment: Option<String>,
    /// nodeTopology as the API takes it; `null` is left out (no node), `{}` is every node.
    #[serde(default)]
    pub topology: Option<Value>,
    /// capacity.
    pub capacity: Option<Size>,
    /// maximumVolumeSize.
    pub maximum: Option<Size>,
    /// Whether it carries the labels of the publisher under test, as if an earlier life of it had written the object.
    #[serde(default)]
    pub managed: bool,
    /// Labels besides those.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A PersistentVolume that exists before the case starts.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeSpec {
    /// metadata.name.
    pub name: String,
    /// spec.storageClassName.
    pub class: String,
    /// spec.capacity.storage.
    pub size: Size,
    /// The only node that reaches it; unset: all.
    pub node: Option<String>,
}

/// One step: things to do, then what must follow.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StepSpec {
    /// Short name, unique in the case.
    pub id: String,
    /// What the harness does, in order.
    #[serde(default, rename = "do")]
    pub actions: Vec<Spanned<ActionSpec>>,
    /// What must be seen.
    #[serde(default)]
    pub expect: Vec<Spanned<ExpectSpec>>,
}

/// One thing the harness does.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ActionSpec {
    /// Change raw storage by segment; null takes the pool away.
    Backend(BTreeMap<String, Option<Short<PoolSpec>>>),
    /// A node comes, goes or changes.
    Node(NodeAction),
    /// A storage class comes or goes.
    Class(ClassAction),
    /// Change the CSIDriver object.
    Driver(DriverAction),
    /// Create a pod, and the claims it names.
    Pod(PodSpec),
    /// Create a claim.
    Claim(ClaimSpec),
    /// Create, edit or delete a CSIStorageCapacity object as somebody else.
    Capacity(CapacityAction),
    /// Delete a pod or a claim.
    Delete(DeleteAction),
    /// Script what the driver answers.
    Csi(ScriptSpec),
    /// Stop a role: its processes end, its objects stay.
    Stop(Role),
    /// Start a role that was stopped.
    Start(Role),
    /// The API server fails in some way from now on.
    Fault(Box<FaultSpec>),
    /// A fault, by its id, is over.
    Unfault(String),
    /// The API server becomes another release, or the same one with other gates.
    Release(ReleaseSpec),
    /// Change an object.
    Merge(MergeSpec),
    /// Do something that the API server may refuse. Whether it must is for the expectations to say.
    Attempt(Box<ActionSpec>),
}

/// A node comes, goes or changes: exactly one of the fields.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeAction {
    /// The node is created, and the driver registers on it.
    Join(Short<NodeSpec>),
    /// Node and CSINode are deleted.
    Leave(String),
    /// Labels are set (null removes one).
    Relabel {
        /// The node.
        name: String,
        /// The labels.
        labels: BTreeMap<String, Option<String>>,
    },
    /// The driver registers in the node's CSINode.
    Register(String),
    /// The driver's entry in the CSINode goes away.
    Unregister(String),
}

/// A storage class comes or goes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClassAction {
    /// Create it.
    Create(Short<ClassSpec>),
    /// Delete it.
    Delete(String),
}

/// A change of the CSIDriver object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriverAction {
    /// Set spec.storageCapacity.
    StorageCapacity(bool),
    /// Delete the object.
    Delete,
    /// Create it with that spec.storageCapacity.
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
    /// spec.storageClassName; unset inside a pod: the claim exists already.
    pub class: Option<String>,
    /// spec.resources.requests.storage.
    pub size: Option<Size>,
    /// spec.volumeMode; unset: Filesystem.
    pub mode: Option<VolumeMode>,
}

/// PersistentVolumeClaim.spec.volumeMode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
pub enum VolumeMode {
    /// Mounted into a directory.
    Filesystem,
    /// A raw device.
    Block,
}

/// What somebody else does to a CSIStorageCapacity object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CapacityAction {
    /// Create it.
    Create(CapacitySpec),
    /// Change an existing object of that class and segment, whoever wrote it.
    Edit {
        /// storageClassName.
        class: String,
        /// The segment it selects.
        segment: String,
        /// A JSON merge patch.
        merge: Value,
    },
    /// Delete an existing object of that class and segment, whoever wrote it.
    Delete {
        /// storageClassName.
        class: String,
        /// The segment it selects.
        segment: String,
    },
}

/// Delete a pod or a claim by name.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeleteAction {
    /// The pod.
    Pod(String),
    /// The claim.
    Claim(String),
}

/// Script what the driver answers.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptSpec {
    /// The CSI method, such as `GetCapacity`.
    pub method: String,
    /// Only calls for that segment.
    pub segment: Option<String>,
    /// Only calls for that class.
    pub class: Option<String>,
    /// Leave the first matching calls alone.
    #[serde(default)]
    pub skip: u32,
    /// Apply to so many calls; unset: to all from then on.
    pub times: Option<u32>,
    /// Answer with that gRPC code, such as `UNAVAILABLE`.
    pub code: Option<String>,
    /// Answer after so long, such as `50ms`.
    pub delay: Option<String>,
    /// Never answer.
    #[serde(default)]
    pub hang: bool,
    /// Answer GetCapacity with that available_capacity, in bytes.
    pub available: Option<i64>,
    /// … and that maximum_volume_size.
    pub maximum: Option<i64>,
}

/// One expectation: a predicate and how it is to hold.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectSpec {
    /// The publisher's objects, all of them: class → segment → row.
    pub capacities: Option<BTreeMap<String, BTreeMap<String, Short<RowSpec>>>>,
    /// Where pods are: node name, list of acceptable names, `any`, or `none`.
    pub placement: Option<BTreeMap<String, Short<PlaceSpec>>>,
    /// Claims: `bound`, `pending` or `absent`.
    pub claims: Option<BTreeMap<String, ClaimState>>,
    /// Parts that objects must have: all of `fields` must be found in the object.
    pub objects: Option<Vec<ObjectSpec>>,
    /// The text that the scheduler's refusal of a pod must contain.
    pub refusal: Option<BTreeMap<String, String>>,
    /// A fact that must not be seen.
    pub never: Option<PatternSpec>,
    /// A fact that must be seen so often.
    pub count: Option<CountSpec>,
    /// Facts that must be seen in that order.
    pub order: Option<Vec<PatternSpec>>,
    /// By when, such as `2 refreshes`, `3 rounds` or `10s`.
    pub within: Option<String>,
    /// How long it must stay true, such as `1 refresh`.
    pub hold: Option<String>,
    /// State predicates only: true at every moment of the step, not just in the end.
    #[serde(default)]
    pub always: bool,
    /// Why it must be so.
    pub why: String,
}

/// One row of published capacity.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowSpec {
    /// capacity; unset: the field is absent. `none` as the whole row: no object, or one that offers nothing.
    pub capacity: Option<Size>,
    /// maximumVolumeSize; unset: the field is absent.
    pub maximum: Option<Size>,
    /// Nothing is offered here: no object, capacity unset, or zero (KEP-1472, comment of the type).
    #[serde(skip)]
    pub nothing: bool,
}

impl FromShort for RowSpec {
    const EXPECTING: &'static str = "a size such as 100Gi, `none`, or a map with `capacity`, `maximum`";
    fn from_short(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(RowSpec {
                capacity: None,
                maximum: None,
                nothing: true,
            });
        }
        Ok(RowSpec {
            capacity: Some(Size::parse(text)?),
            maximum: None,
            nothing: false,
        })
    }
}

/// Where a pod must be.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlaceSpec {
    /// Any of these nodes; empty: the pod is refused and stays without a node.
    pub nodes: Vec<String>,
    /// Any node at all.
    #[serde(skip)]
    pub any: bool,
}

impl FromShort for PlaceSpec {
    const EXPECTING: &'static str = "a node name, a list of them, `any`, or `none`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(match text {
            "any" => PlaceSpec {
                nodes: Vec::new(),
                any: true,
            },
            "none" => PlaceSpec {
                nodes: Vec::new(),
                any: false,
            },
            node => PlaceSpec {
                nodes: vec![node.to_owned()],
                any: false,
            },
        })
    }

    fn from_list(list: Vec<String>) -> Result<Self, String> {
        Ok(PlaceSpec {
            nodes: list,
            any: false,
        })
    }
}

/// The state a claim must be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// status.phase is Bound.
    Bound,
    /// It exists and is not bound.
    Pending,
    /// It does not exist.
    Absent,
}

/// Objects that must, or must not, be there.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectSpec {
    /// Plural resource name, such as `csistoragecapacities`.
    pub resource: String,
    /// metadata.name; unset: any.
    pub name: Option<String>,
    /// Only objects that contain this.
    #[serde(default)]
    pub having: Value,
    /// What each selected object must contain.
    #[serde(default)]
    pub fields: Value,
    /// How many objects must be selected; unset: at least one.
    pub count: Option<usize>,
}

/// A kind of fact: a write to the API, any request, or a CSI call.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatternSpec {
    /// `<create|update|delete> <resource>`, as committed by the API server.
    pub write: Option<String>,
    /// `<verb> <resource>`, as sent, whatever the answer.
    pub request: Option<String>,
    /// A CSI method.
    pub call: Option<String>,
    /// Part of the text of a fault that a request met, such as `status 503: create csistoragecapacities`.
    pub fault: Option<String>,
    /// metadata.name of the object.
    pub name: Option<String>,
    /// Only by that role. Unset: by any system under test, not by the harness.
    pub by: Option<Role>,
    /// Calls only: for that segment.
    pub segment: Option<String>,
    /// Calls and requests only: answered with that code, such as `OK` or `"404"`.
    pub code: Option<String>,
    /// Requests and writes only: by the harness, in the actions of the step, instead of a system under test.
    #[serde(default)]
    pub harness: bool,
    /// Calls only: with exactly these parameters.
    pub parameters: Option<BTreeMap<String, String>>,
    /// `never` only: the window starts with this fact. If it is not seen, the case fails for lack of evidence.
    pub after: Option<Box<PatternSpec>>,
}

/// How often a fact must be seen in the step.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CountSpec {
    /// The fact.
    pub of: PatternSpec,
    /// At least.
    #[serde(default)]
    pub min: u64,
    /// At most.
    pub max: Option<u64>,
}
