//! The part of the case format that says what exists before the systems under test start.

use std::collections::BTreeMap;
use std::time::Duration;

use fake_apiserver::Release;
use fake_csi::SpecVersion;
use serde::Deserialize;
use serde_json::Value;

use super::from_text::{parsed, time};
use super::gates::gates;
use super::{
    Bytes, ExtenderSpec, FromShort, GrantSpec, Mode, PoolSpec, PublisherSpec, Role, SchedulerSpec, Short,
    Size, Spanned,
};

/// What exists before the systems under test start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// The release that the API server has, such as `"1.20"`. Unset: the newest that is known well.
    #[serde(default)]
    pub release: Release,
    /// Feature gates of the API server; those that are left out have the default of the release: CSIStorageCapacity is off before 1.21.
    #[serde(default, deserialize_with = "gates")]
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
    /// Extenders that the scheduler is configured to call, in this order; the harness plays them.
    #[serde(default)]
    pub extenders: Vec<ExtenderSpec>,
    /// Permissions are looked at (RBAC): each of these roles may do what its rules say, and nothing else. Roles that are not named may do
    /// everything.
    #[serde(default)]
    pub grants: BTreeMap<Role, Vec<GrantSpec>>,
    /// Whether the specification, where it says what is expected, speaks of the metrics of the programs and of the API server, too.
    #[serde(default)]
    pub metrics: bool,
    /// How long the driver must be absent from a node before the cleaner acts, such as `300ms`; unset: `200ms`.
    #[serde(default, deserialize_with = "time")]
    pub orphan_after: Option<Duration>,
    /// The CSI driver.
    #[serde(default)]
    pub driver: DriverSpec,
    /// Nodes, by name or with labels.
    #[serde(default)]
    pub nodes: Vec<Short<NodeSpec>>,
    /// Storage classes, by name or with settings.
    #[serde(default)]
    pub classes: Vec<Short<ClassSpec>>,
    /// Classes that claims name and that do not exist, on purpose: any other name that nothing defines is an error.
    #[serde(default)]
    pub missing_classes: Vec<String>,
    /// Raw storage by topology segment.
    #[serde(default)]
    pub backend: BTreeMap<String, Spanned<Short<PoolSpec>>>,
    /// CSIStorageCapacity objects that were created by hand, or that an earlier publisher left behind.
    #[serde(default)]
    pub capacity_objects: Vec<CapacitySpec>,
    /// PersistentVolumes that exist already.
    #[serde(default)]
    pub volumes: Vec<VolumeSpec>,
    /// Any other objects, as the API takes them.
    #[serde(default)]
    pub objects: Vec<Spanned<Value>>,
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
    #[serde(default = "DriverSpec::default_true")]
    pub object: bool,
    /// Whether the driver advertises GET_CAPACITY.
    #[serde(default = "DriverSpec::default_true")]
    pub get_capacity: bool,
    /// The release of the CSI specification that the driver is made for, such as `"1.3"`; unset: the newest. Before 1.4 no maximum is
    /// reported.
    #[serde(default, deserialize_with = "parsed")]
    pub csi_version: Option<SpecVersion>,
    /// Whether the driver advertises CLONE_VOLUME.
    #[serde(default)]
    pub clone_volume: bool,
    /// Snapshots that the driver has from the start, by handle; with some, it advertises CREATE_DELETE_SNAPSHOT. Each has a VolumeSnapshot of
    /// that name, and a volume from it is made in its segment alone.
    #[serde(default)]
    pub snapshots: BTreeMap<String, SnapshotSpec>,
    /// Names of the mutable parameters that the driver knows; with some, it advertises MODIFY_VOLUME.
    #[serde(default)]
    pub mutable_parameters: Vec<String>,
    /// Whether the driver refuses requests that the CSI specification does not allow; otherwise it goes on where it can, and they are
    /// findings.
    #[serde(default)]
    pub strict: bool,
    /// Whether GetCapacity still counts what an extender reserved.
    #[serde(default = "DriverSpec::default_true")]
    pub tells_reserved: bool,
    /// Raw bytes per volume byte, by class parameter, such as 2 for mirrored volumes. A pool of which volumes may have more than it has
    /// bytes is one with `overcommit`.
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

    fn default_true() -> bool {
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
            csi_version: None,
            clone_volume: false,
            snapshots: BTreeMap::new(),
            mutable_parameters: Vec::new(),
            strict: false,
            tells_reserved: true,
            costs: Vec::new(),
        }
    }
}

/// A snapshot that the driver has.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotSpec {
    /// Where it is.
    pub segment: String,
    /// Least size of a volume from it.
    pub size: Bytes,
}

/// Volumes of classes with this parameter take `factor` raw bytes per byte.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostSpec {
    /// Name of the class parameter.
    pub parameter: String,
    /// Its value.
    pub value: String,
    /// Raw bytes per volume byte: a whole number of at least 1.
    pub factor: u64,
}

/// A node, and whether the driver runs on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// Its name, also the value of `kubernetes.io/hostname` and of topology keys without a label.
    pub name: String,
    /// Labels besides those; null takes one of those away.
    #[serde(default)]
    pub labels: BTreeMap<String, Option<String>>,
    /// Whether the driver is registered in its CSINode.
    #[serde(default = "DriverSpec::default_true")]
    pub registered: bool,
    /// The topology keys with which it is registered there; unset: the driver's.
    pub topology_keys: Option<Vec<String>>,
    /// Node.spec.unschedulable.
    #[serde(default)]
    pub unschedulable: bool,
    /// Node.spec.taints, as the API takes them.
    #[serde(default)]
    pub taints: Vec<Value>,
    /// Node.status.allocatable; unset: plenty.
    pub allocatable: Option<BTreeMap<String, String>>,
    /// CSINode.spec.drivers[].allocatable.count by driver name: at most so many of its volumes on the node; unset: no limit.
    #[serde(default)]
    pub volume_limits: BTreeMap<String, u32>,
}

impl FromShort for NodeSpec {
    const EXPECTING: &'static str = "a node name, or a map with `name`, `labels`, `registered`, `topologyKeys`, `unschedulable`, `taints`, \
         `allocatable`, `volumeLimits`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(NodeSpec {
            name: text.to_owned(),
            labels: BTreeMap::new(),
            registered: true,
            topology_keys: None,
            unschedulable: false,
            taints: Vec::new(),
            allocatable: None,
            volume_limits: BTreeMap::new(),
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

/// A CSIStorageCapacity object that the publisher under test did not write.
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
