//! Node: name, labels, unschedulable, taints and allocatable resources. CSINode: drivers and volume limits.
//!
//! Node conditions are not stored: the node controller converts the relevant ones to taints.

use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::storage::v1::CSINode as ApiCsiNode;

use super::{Object, ObjectKey, ReadError, Resources, Taint, version};
use crate::node_labels::NodeLabels;

/// One Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the Node.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `metadata.labels`, with hashes for the capacity index.
    pub labels: NodeLabels,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// The taints with effect NoSchedule or NoExecute.
    pub taints: Vec<Taint>,
    /// `status.allocatable`. `None` if unset, which means no limit.
    pub allocatable: Option<Resources>,
}

impl Node {
    /// The node's name.
    pub fn name(&self) -> &str {
        &self.key.name
    }
}

impl Object for Node {
    type Api = ApiNode;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let spec = source.spec.as_ref();
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            labels: source.metadata.labels.clone().unwrap_or_default().into(),
            unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
            taints: spec
                .and_then(|spec| spec.taints.as_deref())
                .unwrap_or_default()
                .iter()
                .filter_map(Taint::read)
                .collect(),
            allocatable: source
                .status
                .as_ref()
                .and_then(|status| status.allocatable.as_ref())
                .map(Resources::read),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

/// The annotation with the in-tree plugins whose volumes are migrated to CSI drivers on the node.
const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// One CSINode: the drivers on the node and their volume limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// Name of the CSINode, which is also the name of the node.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// The registered drivers, in the order of `spec.drivers`.
    pub drivers: Vec<CsiDriverOnNode>,
    /// The value of the migrated-plugins annotation.
    pub migrated: Option<String>,
}

/// A driver that is registered in a CSINode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriverOnNode {
    /// The driver's name.
    pub name: String,
    /// `topologyKeys`: the label keys that identify the node's topology segment.
    pub topology_keys: Vec<String>,
    /// `allocatable.count`: maximum number of attached volumes. `None`: no limit.
    pub limit: Option<usize>,
}

impl CsiNode {
    /// The registration of a driver on the node; `None` if the driver is not registered.
    pub fn driver(&self, name: &str) -> Option<&CsiDriverOnNode> {
        self.drivers.iter().find(|driver| driver.name == name)
    }
}

impl Object for CsiNode {
    type Api = ApiCsiNode;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let drivers = source.spec.drivers.iter();
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            drivers: drivers
                .map(|driver| CsiDriverOnNode {
                    name: driver.name.clone(),
                    topology_keys: driver.topology_keys.clone().unwrap_or_default(),
                    limit: driver
                        .allocatable
                        .as_ref()
                        .and_then(|allocatable| allocatable.count)
                        .and_then(|count| usize::try_from(count).ok()),
                })
                .collect(),
            migrated: source
                .metadata
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.get(MIGRATED))
                .cloned(),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
