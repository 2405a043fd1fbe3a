//! VolumeAttachment: a volume that a driver attaches to a node, which counts towards the node's limit.

use k8s_openapi::api::storage::v1::VolumeAttachment as ApiVolumeAttachment;

use super::{Object, ObjectKey, ReadError, version};

/// One VolumeAttachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// The name.
    pub key: ObjectKey,
    /// The resource version read.
    pub version: String,
    /// The driver.
    pub attacher: String,
    /// The node's name.
    pub node: String,
    /// The PersistentVolume; none for a volume that a pod describes itself.
    pub volume: Option<String>,
}

impl Object for VolumeAttachment {
    type Api = ApiVolumeAttachment;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            attacher: source.spec.attacher.clone(),
            node: source.spec.node_name.clone(),
            volume: source.spec.source.persistent_volume_name.clone(),
        })
    }

    fn key(&self) -> &ObjectKey {
        &self.key
    }

    fn version(&self) -> &str {
        &self.version
    }
}
