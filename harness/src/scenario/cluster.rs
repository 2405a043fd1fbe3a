//! The `cluster` key of the case format: everything that exists before the programs under test start.

use std::collections::BTreeMap;
use std::time::Duration;

use fake_apiserver::Release;
use fake_csi::SpecVersion;
use serde::Deserialize;
use serde_json::Value;

use super::from_text::gates;
use super::from_text::{parsed, time};
use super::{
    Bytes, ExtenderSpec, FromShort, GrantSpec, Mode, PoolSpec, PublisherSpec, Role, SchedulerSpec, Short,
    Size, Spanned,
};

/// Everything that exists before the programs under test start.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterSpec {
    /// Kubernetes release that the API server emulates, such as `"1.20"`. Unset: 1.36.
    pub release: Release,
    /// Feature gates of the API server, as in `{CSIStorageCapacity: false}`. Omitted gates have the default of the release;
    /// CSIStorageCapacity is off before 1.21.
    #[serde(default, deserialize_with = "gates")]
    pub gates: BTreeMap<String, bool>,
    /// Roles whose programs run. Unset: the first part of the id decides; `story`, for example, runs publisher and scheduler.
    pub roles: Option<Vec<Role>>,
    /// `central` (default): one publisher for all nodes; `distributed`: one on each node.
    pub mode: Mode,
    /// Settings of the publisher.
    pub publisher: PublisherSpec,
    /// Settings of the scheduler.
    pub scheduler: SchedulerSpec,
    /// Scheduler extenders in the order in which the scheduler calls them. The harness implements them.
    pub extenders: Vec<ExtenderSpec>,
    /// RBAC rules by role. If set, RBAC is on, and each listed role has exactly these permissions. Roles that are not listed have all
    /// permissions.
    pub grants: BTreeMap<Role, Vec<GrantSpec>>,
    /// Whether `expect: specification` also checks the metrics of the programs and of the API server.
    pub metrics: bool,
    /// How long the driver must be absent from a node before the cleaner deletes the CSIStorageCapacity objects of that node. Unset:
    /// `200ms`.
    #[serde(default, deserialize_with = "time")]
    pub orphan_after: Option<Duration>,
    /// The CSI driver.
    pub driver: DriverSpec,
    /// Nodes: names, or maps as below.
    pub nodes: Vec<Short<NodeSpec>>,
    /// StorageClasses: names, or maps as below.
    pub classes: Vec<Short<ClassSpec>>,
    /// Names of StorageClasses that PVCs use although they do not exist. Any other undefined name is an error.
    pub missing_classes: Vec<String>,
    /// Raw storage by topology segment: a size, or a map as below.
    pub backend: BTreeMap<String, Spanned<Short<PoolSpec>>>,
    /// CSIStorageCapacity objects that a user or an earlier publisher has created.
    pub capacity_objects: Vec<CapacitySpec>,
    /// PersistentVolumes that exist at the start.
    pub volumes: Vec<VolumeSpec>,
    /// Any other API objects that exist at the start, as manifests.
    pub objects: Vec<Spanned<Value>>,
}

/// The CSI driver, its CSIDriver object, and the raw storage that volumes use.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DriverSpec {
    /// Name of the driver, which GetPluginInfo returns and StorageClasses have as provisioner. Unset: `disk.example.com`.
    pub name: String,
    /// Topology keys of the driver: the node labels that define a topology segment. Unset: `<driver name>/node`. Empty: the driver does not
    /// support topology.
    pub topology_keys: Option<Vec<String>>,
    /// CSIDriver.spec.storageCapacity (default: true); `null` omits the field.
    pub storage_capacity: Option<bool>,
    /// Whether the CSIDriver object exists (default: true).
    pub object: bool,
    /// Whether the driver advertises GET_CAPACITY (default: true).
    pub get_capacity: bool,
    /// Version of the CSI spec that the driver implements, such as `"1.3"`. Unset: the newest. Before 1.4, responses have no
    /// maximum_volume_size.
    #[serde(deserialize_with = "parsed")]
    pub csi_version: Option<SpecVersion>,
    /// Whether the driver advertises CLONE_VOLUME.
    pub clone_volume: bool,
    /// Snapshots that exist at the start, by handle. If there are any, the driver advertises CREATE_DELETE_SNAPSHOT. The VolumeSnapshot has
    /// the same name; a volume restored from the snapshot must be in the snapshot's segment.
    pub snapshots: BTreeMap<String, SnapshotSpec>,
    /// Mutable parameters that the driver supports. If there are any, the driver advertises MODIFY_VOLUME.
    pub mutable_parameters: Vec<String>,
    /// Whether the driver rejects calls that violate the CSI spec. If not, the driver executes such calls as far as possible, and the
    /// violations are findings.
    pub strict: bool,
    /// Whether the capacity that GetCapacity returns includes devices that an extender has reserved (default: true).
    #[serde(alias = "tellsReserved")]
    pub reports_reserved: bool,
    /// Raw bytes per byte of a volume's size, by class parameter, as in `[{parameter: raid, value: mirror, factor: 2}]`. To make volumes
    /// use less, set `overcommit` of a pool.
    pub costs: Vec<CostSpec>,
}

impl Default for DriverSpec {
    fn default() -> Self {
        DriverSpec {
            name: "disk.example.com".to_owned(),
            topology_keys: None,
            storage_capacity: Some(true),
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

fn default_true() -> bool {
    true
}

/// A snapshot that exists at the start.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SnapshotSpec {
    /// Topology segment that contains the snapshot.
    pub segment: String,
    /// Minimum size of a volume that is restored from the snapshot.
    pub size: Bytes,
}

/// Raw bytes that volumes use if their StorageClass has this parameter value.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CostSpec {
    /// Name of the class parameter.
    pub parameter: String,
    /// Value of the parameter.
    pub value: String,
    /// Raw bytes per byte of the volume's size: an integer of at least 1.
    pub factor: u64,
}

/// A node of the cluster. The driver runs on it if `registered` is true.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeSpec {
    /// metadata.name. Also the default value of the label `kubernetes.io/hostname` and of the driver's topology labels.
    pub name: String,
    /// Additional labels; `null` removes a default label.
    #[serde(default)]
    pub labels: BTreeMap<String, Option<String>>,
    /// Whether the node's CSINode lists the driver (default: true). If not, the node has no default topology labels, and in distributed
    /// mode no publisher runs on it.
    #[serde(default = "default_true")]
    pub registered: bool,
    /// Topology keys of the driver in the CSINode. Unset: the driver's topology keys.
    pub topology_keys: Option<Vec<String>>,
    /// Node.spec.unschedulable.
    #[serde(default)]
    pub unschedulable: bool,
    /// Node.spec.taints, as in the API.
    #[serde(default)]
    pub taints: Vec<Value>,
    /// Node.status.allocatable. Unset: cpu 16, memory 64Gi, pods 110.
    pub allocatable: Option<BTreeMap<String, String>>,
    /// Volume limits of the node by driver name (CSINode.spec.drivers[].allocatable.count). Unset: no limit.
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
    /// StorageClass.provisioner. Unset: the name of the case's driver.
    pub provisioner: Option<String>,
    /// StorageClass.parameters.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// StorageClass.volumeBindingMode: `WaitForFirstConsumer` (default) or `Immediate`.
    #[serde(default)]
    pub binding: Binding,
    /// Values of `allowedTopologies` by topology key, as in `{zone: [east, west]}`, in a single term.
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
    /// A PVC is provisioned after a pod that uses it was scheduled.
    #[default]
    WaitForFirstConsumer,
    /// A PVC is provisioned immediately.
    Immediate,
}

/// A CSIStorageCapacity object that the publisher under test has not created.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacitySpec {
    /// metadata.name. Unset: `by-hand-1`, `by-hand-2` …
    pub name: Option<String>,
    /// metadata.namespace. Unset: the publisher's namespace.
    pub namespace: Option<String>,
    /// storageClassName.
    pub class: String,
    /// Topology segment in short form, or the name of the only node in a segment. Write either `segment` or `topology`.
    pub segment: Option<String>,
    /// nodeTopology, as in the API: `null` omits the field (no node), `{}` selects every node.
    pub topology: Option<Value>,
    /// `capacity`. Unset: the field is absent.
    pub capacity: Option<Size>,
    /// `maximumVolumeSize`. Unset: the field is absent.
    pub maximum: Option<Size>,
    /// Whether the object has the labels of the central publisher, as if an earlier instance had created it. For the publisher of node n1,
    /// also set `labels: {csi.storage.k8s.io/managed-by: external-provisioner-n1}`.
    #[serde(default)]
    pub managed: bool,
    /// Additional labels.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
}

/// A PersistentVolume that exists at the start.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VolumeSpec {
    /// metadata.name.
    pub name: String,
    /// spec.storageClassName.
    pub class: String,
    /// spec.capacity.storage.
    pub size: Size,
    /// The only node that can access the volume. Unset: all nodes.
    pub node: Option<String>,
}
