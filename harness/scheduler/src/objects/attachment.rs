//! VolumeAttachment: a volume attached to a node, which counts towards the node's volume limit.

use k8s_openapi::api::storage::v1::VolumeAttachment as ApiVolumeAttachment;

use super::{Object, ObjectKey, ReadError, version};

/// One VolumeAttachment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttachment {
    /// Name of the VolumeAttachment, which is cluster-scoped.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// The driver name (`spec.attacher`).
    pub attacher: String,
    /// Name of the node to which the volume is attached.
    pub node: String,
    /// The name of the PersistentVolume. `None` for an inline volume.
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

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
