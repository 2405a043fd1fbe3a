//! Node: name, labels, and whether it is cordoned. Resources, taints and conditions are not looked at.

use k8s_openapi::api::core::v1::Node as ApiNode;

use super::{Object, ObjectKey, ReadError, version};
use crate::requirement::Labels;

/// One Node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The name.
    pub key: ObjectKey,
    /// The resource version read.
    pub version: String,
    /// The labels.
    pub labels: Labels,
    /// `spec.unschedulable`: the node is cordoned.
    pub unschedulable: bool,
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
            labels: source.metadata.labels.clone().unwrap_or_default(),
            unschedulable: spec.and_then(|spec| spec.unschedulable).unwrap_or(false),
        })
    }

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}
