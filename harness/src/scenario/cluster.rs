//! The `cluster` key of the case format: everything that exists before the systems under test start.

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

/// Everything that exists before the systems under test start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// The API server's release, such as `"1.20"`. Unset: 1.36.
    #[serde(default)]
    pub release: Release,
    /// Feature gates of the API server; omitted gates have the default of the release: CSIStorageCapacity is off before 1.21.
    #[serde(default, deserialize_with = "gates")]
    pub gates: BTreeMap<String, bool>,
    /// Roles that run. Unset: the first part of the case's id, or publisher and scheduler if that is no role.
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
    /// Scheduler extenders in call order; the harness implements them.
    #[serde(default)]
    pub extenders: Vec<ExtenderSpec>,
    /// Enables RBAC: each of these roles has exactly the permissions of its rules. Unlisted roles have all permissions.
    #[serde(default)]
    pub grants: BTreeMap<Role, Vec<GrantSpec>>,
    /// Whether `specification` also checks the metrics of the programs and of the API server.
    #[serde(default)]
    pub metrics: bool,
    /// Time for which the driver must be absent from a node before the cleaner acts, such as `300ms`; unset: `200ms`.
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
    /// Classes that PVCs use although they do not exist; any other undefined name is an error.
    #[serde(default)]
    pub missing_classes: Vec<String>,
    /// Raw storage by topology segment.
    #[serde(default)]
    pub backend: BTreeMap<String, Spanned<Short<PoolSpec>>>,
    /// CSIStorageCapacity objects created by hand, or left behind by an earlier publisher.
    #[serde(default)]
    pub capacity_objects: Vec<CapacitySpec>,
    /// PersistentVolumes that already exist.
    #[serde(default)]
    pub volumes: Vec<VolumeSpec>,
    /// Any other objects, as API manifests.
    #[serde(default)]
    pub objects: Vec<Spanned<Value>>,
}

/// The CSI driver, its CSIDriver object and the storage cost of classes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DriverSpec {
    /// Plugin name returned by GetPluginInfo and used as provisioner of classes.
    #[serde(default = "DriverSpec::default_name")]
    pub name: String,
    /// Keys of the node labels that define a topology segment. Unset: `<driver name>/node`. Empty: no topology support.
    pub topology_keys: Option<Vec<String>>,
    /// CSIDriver.spec.storageCapacity; null omits the field.
    #[serde(default = "DriverSpec::default_tracking")]
    pub storage_capacity: Option<bool>,
    /// Whether the CSIDriver object exists.
    #[serde(default = "DriverSpec::default_true")]
    pub object: bool,
    /// Whether the driver advertises GET_CAPACITY.
    #[serde(default = "DriverSpec::default_true")]
    pub get_capacity: bool,
    /// Version of the CSI spec that the driver implements, such as `"1.3"`; unset: the newest. Before 1.4 no maximum_volume_size is
    /// reported.
    #[serde(default, deserialize_with = "parsed")]
    pub csi_version: Option<SpecVersion>,
    /// Whether the driver advertises CLONE_VOLUME.
    #[serde(default)]
    pub clone_volume: bool,
    /// Pre-existing snapshots, by handle; if any, the driver advertises CREATE_DELETE_SNAPSHOT. Each has a VolumeSnapshot of that name; a
    /// volume restored from it must be in its segment.
    #[serde(default)]
    pub snapshots: BTreeMap<String, SnapshotSpec>,
    /// Supported mutable parameters; if any, the driver advertises MODIFY_VOLUME.
    #[serde(default)]
    pub mutable_parameters: Vec<String>,
    /// Whether the driver rejects calls that violate the CSI spec; otherwise it continues if possible, and they are findings.
    #[serde(default)]
    pub strict: bool,
    /// Whether GetCapacity includes capacity that an extender reserved.
    #[serde(default = "DriverSpec::default_true", alias = "tellsReserved")]
    pub reports_reserved: bool,
    /// Raw bytes per volume byte, by class parameter, such as 2 for mirrored volumes. For more volume bytes than raw bytes use `overcommit`
    /// of a pool.
    #[serde(default)]
    pub costs: Vec<CostSpec>,
}

impl DriverSpec {
    fn default_name() -> String {
        "disk.example.com".to_owned()
    }

    // serde needs a function for the default, and the field is an Option.
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
            reports_reserved: true,
            costs: Vec::new(),
        }
    }
}

/// A pre-existing snapshot.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotSpec {
    /// Topology segment of the snapshot.
    pub segment: String,
    /// Minimum size of a volume restored from it.
    pub size: Bytes,
}

/// Volumes of classes with this parameter use `factor` raw bytes per byte.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostSpec {
    /// Name of the class parameter.
    pub parameter: String,
    /// Value of the parameter.
    pub value: String,
    /// Raw bytes per volume byte: an integer of at least 1.
    pub factor: u64,
}

/// A node, and whether the driver runs on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// metadata.name; also the default value of `kubernetes.io/hostname` and of the topology keys.
    pub name: String,
    /// Additional labels; null removes a default label.
    #[serde(default)]
    pub labels: BTreeMap<String, Option<String>>,
    /// Whether the driver is registered in the CSINode.
    #[serde(default = "DriverSpec::default_true")]
    pub registered: bool,
    /// Topology keys of that registration; unset: the driver's.
    pub topology_keys: Option<Vec<String>>,
    /// Node.spec.unschedulable.
    #[serde(default)]
    pub unschedulable: bool,
    /// Node.spec.taints in API notation.
    #[serde(default)]
    pub taints: Vec<Value>,
    /// Node.status.allocatable; unset: cpu 16, memory 64Gi, pods 110.
    pub allocatable: Option<BTreeMap<String, String>>,
    /// CSINode.spec.drivers[].allocatable.count by driver name: the volume limit of the node; unset: no limit.
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

/// A StorageClass.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClassSpec {
    /// metadata.name.
    pub name: String,
    /// StorageClass.provisioner; unset: the case's driver.
    pub provisioner: Option<String>,
    /// StorageClass.parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// StorageClass.volumeBindingMode.
    #[serde(default)]
    pub binding: Binding,
    /// Values of `allowedTopologies`, by key, in a single term.
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
    /// A PVC waits for its first pod.
    #[default]
    WaitForFirstConsumer,
    /// A PVC is provisioned at once.
    Immediate,
}

/// A CSIStorageCapacity object that the publisher under test did not write.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacitySpec {
    /// metadata.name; unset: generated from class and topology.
    pub name: Option<String>,
    /// metadata.namespace; unset: the publisher's namespace.
    pub namespace: Option<String>,
    /// storageClassName.
    pub class: String,
    /// Topology segment, or the only node of a segment. Short form of `topology`.
    pub segment: Option<String>,
    /// nodeTopology in API notation; `null` omits it (no node), `{}` selects every node.
    #[serde(default)]
    pub topology: Option<Value>,
    /// capacity.
    pub capacity: Option<Size>,
    /// maximumVolumeSize.
    pub maximum: Option<Size>,
    /// Whether it has the labels of the publisher under test, as if an earlier instance had written it.
    #[serde(default)]
    pub managed: bool,
    /// Additional labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A pre-existing PersistentVolume.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeSpec {
    /// metadata.name.
    pub name: String,
    /// spec.storageClassName.
    pub class: String,
    /// spec.capacity.storage.
    pub size: Size,
    /// The only node with access to it; unset: all nodes.
    pub node: Option<String>,
}
