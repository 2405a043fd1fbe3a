//! Node: name, labels, cordon, taints and allocatable resources. CSINode: that it exists.
//!
//! Conditions are not looked at: the node controller turns those that matter into taints.

use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::storage::v1::CSINode as ApiCsiNode;

use super::{Object, ObjectKey, ReadError, Resources, Taint, version};
use crate::node_labels::NodeLabels;

/// One Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The name.
    pub key: ObjectKey,
    /// The resource version read.
    pub version: String,
    /// The labels.
    pub labels: NodeLabels,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
    /// The taints that keep pods away.
    pub taints: Vec<Taint>,
    /// `status.allocatable`; none where the node does not say, which is no limit.
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

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}

/// Names the in-tree plugins whose volumes a node has migrated to CSI drivers.
const MIGRATED: &str = "storage.alpha.kubernetes.io/migrated-plugins";

/// One CSINode: a driver registered on the node. Only its coming and its migrated plugins count, as hints to try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNode {
    /// The node's name.
    pub key: ObjectKey,
    /// The resource version read.
    pub version: String,
    /// The names of the drivers on the node, in the order of the object.
    pub drivers: Vec<String>,
    /// The in-tree plugins whose volumes the node has migrated, as the annotation has them.
    pub migrated: Option<String>,
}

impl Object for CsiNode {
    type Api = ApiCsiNode;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let drivers = source.spec.drivers.iter();
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            drivers: drivers.map(|driver| driver.name.clone()).collect(),
            migrated: source
                .metadata
                .annotations
                .as_ref()
                .and_then(|annotations| annotations.get(MIGRATED))
                .cloned(),
        })
    }

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}
