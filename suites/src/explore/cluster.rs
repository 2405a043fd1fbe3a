//! The data model of a generated cluster, a subset of the case format.
//!
//! Does not know events. Does not check whether a cluster is valid: the generator and the case parser do.

use std::collections::BTreeMap;

use harness::scenario::{Mode, Role, ShapePoint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Default driver of generated clusters and of cases.
const DRIVER: &str = "disk.example.com";

/// A driver name of 63 characters, the CSI limit.
pub(super) const LONG_DRIVER: &str = "disk-whose-name-has-as-many-characters-as-the-namex.example.com";

/// StorageClass names: words that occur in no failure message, so that signatures can replace them, and a name of maximum length.
pub(super) const CLASSES: [&str; 5] = [
    "fast",
    "slow",
    "gold",
    "tepid",
    "class-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// A number of bytes in the case format, such as `10Gi`, or `10Gi+1` for one byte more.
pub(super) type Size = String;

/// Node labels; `None` removes a default label.
pub(super) type Labels = BTreeMap<String, Option<String>>;

/// The `cluster` of a case: initial objects and settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct GeneratedCluster {
    /// Release of the API server; unset: the default release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) release: Option<String>,
    /// Feature gates of the API server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) gates: BTreeMap<String, bool>,
    /// Roles whose programs run.
    pub(super) roles: Vec<Role>,
    /// The deployment mode of the publisher.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) mode: Mode,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) publisher: Publisher,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) scheduler: Scheduler,
    /// Extenders that the scheduler calls.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) extenders: Vec<Extender>,
    /// Whether the case checks the publisher's metrics.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) metrics: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) driver: Driver,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) nodes: Vec<Node>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) classes: Vec<Class>,
    /// Storage pools by topology segment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) backend: BTreeMap<String, Pool>,
    /// Existing CSIStorageCapacity objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) capacity_objects: Vec<Capacity>,
    /// Existing PersistentVolumes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) volumes: Vec<Volume>,
}

/// Settings of the publisher, as the case format names them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Publisher {
    #[serde(skip_serializing_if = "is_true")]
    pub(super) publish: bool,
    #[serde(skip_serializing_if = "is_true")]
    pub(super) namespace: bool,
    #[serde(skip_serializing_if = "is_true")]
    pub(super) polls: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) get_capacity_qps: Option<u32>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) immediate: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) zero_capacity_objects: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) delete_unknown_capacity: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) strict_topology: bool,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) identify_by_owner: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) owner_level: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) replicas: Option<u8>,
}

impl Publisher {
    /// Whether the publisher exits at start because its namespace is unset.
    pub(super) fn exits_at_start(&self) -> bool {
        self.publish && !self.namespace
    }
}

impl Scheduler {
    /// Whether the scheduler exits at start because a shape is set while scoring is disabled.
    pub(super) fn exits_at_start(&self) -> bool {
        let is_on = self.scoring.unwrap_or(self.release.as_deref() == Some("1.37"));
        self.shape.is_some() && !is_on && self.volume_capacity_priority != Some(true)
    }
}

impl Default for Publisher {
    fn default() -> Self {
        Publisher {
            publish: true,
            namespace: true,
            polls: true,
            get_capacity_qps: None,
            immediate: false,
            zero_capacity_objects: false,
            delete_unknown_capacity: false,
            strict_topology: false,
            identify_by_owner: false,
            owner_level: None,
            replicas: None,
        }
    }
}

/// Settings of the scheduler, as the case format names them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Scheduler {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) release: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) capacity_gate: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) volume_capacity_priority: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) scoring: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shape: Option<Vec<ShapePoint>>,
}

/// The driver and its CSIDriver object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Driver {
    #[serde(skip_serializing_if = "is_usual_driver")]
    pub(super) name: String,
    /// Topology keys; unset: a single key, whose values are node names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) topology_keys: Option<Vec<String>>,
    /// The CSIDriver's `storageCapacity`; `None` omits the field.
    #[serde(skip_serializing_if = "is_set_true")]
    pub(super) storage_capacity: Option<bool>,
    #[serde(skip_serializing_if = "is_true")]
    pub(super) object: bool,
    #[serde(skip_serializing_if = "is_true")]
    pub(super) get_capacity: bool,
    /// Whether the driver has the CLONE_VOLUME capability.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) clone_volume: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) costs: Vec<Cost>,
}

impl Default for Driver {
    fn default() -> Self {
        Driver {
            name: DRIVER.to_owned(),
            topology_keys: None,
            storage_capacity: Some(true),
            object: true,
            get_capacity: true,
            clone_volume: false,
            costs: Vec::new(),
        }
    }
}

/// Raw storage used per byte of a volume, for StorageClasses with this parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cost {
    pub(super) parameter: String,
    pub(super) value: String,
    pub(super) factor: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Node {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: Labels,
    /// Whether the driver is registered on the node.
    #[serde(default = "default_true", skip_serializing_if = "is_true")]
    pub(super) registered: bool,
    /// The topology keys registered on the node; unset: the topology keys of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) topology_keys: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) unschedulable: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Class {
    pub(super) name: String,
    /// Provisioner of the class; unset: the name of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) provisioner: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) parameters: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) binding: Binding,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) allowed_topologies: BTreeMap<String, Vec<String>>,
}

/// Volume binding mode of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Binding {
    #[default]
    WaitForFirstConsumer,
    Immediate,
}

/// The storage of a topology segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Pool {
    /// A single pool of this size.
    Plain(Size),
    /// A single pool with a maximum volume size.
    Limited { capacity: Size, maximum: Size },
    /// A filesystem that volumes share with other files.
    Shared { filesystem: Filesystem },
    /// Disks, by name.
    Disks { devices: BTreeMap<String, Disk> },
}

/// A disk, which a volume uses as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Disk {
    pub(super) size: Size,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) parameters: BTreeMap<String, String>,
    /// Access type, `block` or `mount`; unset: both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) access: Option<String>,
}

/// A filesystem, with the space that other files use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Filesystem {
    pub(super) size: Size,
    pub(super) used: Size,
}

/// An existing CSIStorageCapacity, written by another client or by an earlier run of the publisher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Capacity {
    pub(super) class: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) segment: Option<String>,
    /// The node selector, instead of `segment`; with both unset, the object applies to no node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) topology: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<Size>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) maximum: Option<Size>,
    /// Whether the object has the labels of the central publisher.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) managed: bool,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) labels: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Extender {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) refuses: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) prefers: BTreeMap<String, u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<u8>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) by_name: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) ignorable: bool,
    #[serde(default, skip_serializing_if = "is_default")]
    pub(super) fails: bool,
    /// The extended resource that a pod must request for the extender to be called; unset: called for all pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Volume {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) size: Size,
    /// The only node that can access the volume; unset: all nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node: Option<String>,
}

fn default_true() -> bool {
    true
}

// The parameter is a reference, because the serde attribute `skip_serializing_if` requires it.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it for a field")]
fn is_true(value: &bool) -> bool {
    *value
}

fn is_usual_driver(name: &str) -> bool {
    name == DRIVER
}

#[expect(clippy::ref_option, reason = "serde calls it for a field")]
fn is_set_true(value: &Option<bool>) -> bool {
    *value == Some(true)
}

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
