//! PersistentVolume: the fields that are needed for static binding and for the affinity check of bound volumes.

use capacity_types::{Labels, NodeSelector, Quantity};
use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeSpec};

use super::claim::volume_mode;
use super::selector::node_selector;
use super::{Claim, Object, ObjectKey, ReadError, STORAGE, class_name, quantity, version};

/// The annotation of PersistentVolumes that a controller bound.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// One PersistentVolume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Volume {
    /// Name of the PersistentVolume.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// The StorageClass name. Empty if unset.
    pub class: String,
    /// `spec.capacity.storage`: the size in bytes.
    pub capacity: Option<Quantity>,
    /// Whether `status.phase` is Available.
    pub available: bool,
    /// Whether `metadata.deletionTimestamp` is set.
    pub deleting: bool,
    /// `spec.claimRef`: the PVC that the volume is bound to or reserved for.
    pub claim: Option<ClaimRef>,
    /// `spec.nodeAffinity`: the nodes with access to the volume. `None`: all nodes.
    pub affinity: Option<NodeSelector>,
    /// The supported access modes.
    pub access_modes: Vec<String>,
    /// `spec.volumeMode`: `Filesystem` or `Block`.
    pub volume_mode: String,
    /// The VolumeAttributesClass name. Empty if unset.
    pub attributes_class: String,
    /// The labels, which the selector of a PVC may match.
    pub labels: Labels,
    /// Driver and volume handle of a CSI volume or a migrated in-tree volume, which count towards the volume limit of a node.
    pub source: Option<DriverVolume>,
    /// Whether the volume is an in-tree volume that was migrated to a CSI driver (KEP-625).
    pub migrated: bool,
}

/// A CSI volume, identified by driver and volume handle.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DriverVolume {
    /// Name of the CSI driver.
    pub driver: String,
    /// Volume handle: the driver's id for the volume.
    pub handle: String,
}

/// `spec.claimRef` of a PersistentVolume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimRef {
    /// Namespace and name of the PVC.
    pub key: ObjectKey,
    /// The UID of the PVC. `None` if an administrator reserved the volume by name.
    pub uid: Option<String>,
}

impl Volume {
    /// Whether the volume is accessible from nodes with these labels.
    pub fn admits(&self, labels: &Labels) -> bool {
        // The node affinity of a PersistentVolume only uses labels, so the node name is left empty.
        self.affinity
            .as_ref()
            .is_none_or(|affinity| affinity.matches("", labels))
    }

    /// Whether `claimRef` refers to this PVC.
    pub fn is_bound_to(&self, claim: &Claim) -> bool {
        let same_uid = |uid: &String| *uid == claim.uid;
        let found = self.claim.as_ref();
        found.is_some_and(|bound| bound.key == claim.key && bound.uid.as_ref().is_none_or(same_uid))
    }

    /// A copy of the volume with `claimRef` set to this PVC.
    pub fn with_claim(&self, claim: &Claim) -> Self {
        let claim = ClaimRef {
            key: claim.key.clone(),
            uid: Some(claim.uid.clone()),
        };
        Self {
            claim: Some(claim),
            ..self.clone()
        }
    }
}

impl Object for Volume {
    type Api = PersistentVolume;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        let metadata = &source.metadata;
        let key = ObjectKey::of(metadata);
        let absent = PersistentVolumeSpec::default();
        let spec = source.spec.as_ref().unwrap_or(&absent);
        let capacity = spec.capacity.as_ref().and_then(|capacity| capacity.get(STORAGE));
        let phase = source.status.as_ref().and_then(|status| status.phase.as_deref());
        let affinity = spec
            .node_affinity
            .as_ref()
            .and_then(|affinity| affinity.required.as_ref());
        Ok(Self {
            version: version(metadata),
            class: class_name(metadata, spec.storage_class_name.as_ref()),
            capacity: quantity(&key, "spec.capacity[storage]", capacity)?,
            available: phase == Some("Available"),
            deleting: metadata.deletion_timestamp.is_some(),
            claim: spec.claim_ref.as_ref().map(|reference| ClaimRef {
                key: ObjectKey::namespaced(
                    reference.namespace.as_deref().unwrap_or_default(),
                    reference.name.as_deref().unwrap_or_default(),
                ),
                uid: reference.uid.clone().filter(|uid| !uid.is_empty()),
            }),
            affinity: affinity.map(node_selector),
            access_modes: spec.access_modes.clone().unwrap_or_default(),
            volume_mode: volume_mode(spec.volume_mode.as_ref()),
            attributes_class: spec.volume_attributes_class_name.clone().unwrap_or_default(),
            labels: metadata.labels.clone().unwrap_or_default(),
            migrated: spec.csi.is_none() && driver_volume(spec).is_some(),
            source: driver_volume(spec),
            key,
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}

/// The CSI driver of each in-tree plugin (KEP-625).
const MIGRATED: [(&str, &str); 5] = [
    ("kubernetes.io/aws-ebs", "ebs.csi.aws.com"),
    ("kubernetes.io/gce-pd", "pd.csi.storage.gke.io"),
    ("kubernetes.io/azure-disk", "disk.csi.azure.com"),
    ("kubernetes.io/cinder", "cinder.csi.openstack.org"),
    ("kubernetes.io/portworx-volume", "pxd.portworx.com"),
];

/// The CSI driver for the provisioner of a StorageClass; the provisioner itself if it is not an in-tree plugin.
pub fn driver_of(provisioner: &str) -> &str {
    let migrated = MIGRATED.iter().find(|(plugin, _)| *plugin == provisioner);
    migrated.map_or(provisioner, |(_, driver)| driver)
}

fn driver_volume(spec: &PersistentVolumeSpec) -> Option<DriverVolume> {
    let (driver, handle) = if let Some(csi) = &spec.csi {
        (csi.driver.as_str(), &csi.volume_handle)
    } else if let Some(disk) = &spec.aws_elastic_block_store {
        (driver_of("kubernetes.io/aws-ebs"), &disk.volume_id)
    } else if let Some(disk) = &spec.gce_persistent_disk {
        (driver_of("kubernetes.io/gce-pd"), &disk.pd_name)
    } else if let Some(disk) = &spec.azure_disk {
        (driver_of("kubernetes.io/azure-disk"), &disk.disk_uri)
    } else if let Some(disk) = &spec.cinder {
        (driver_of("kubernetes.io/cinder"), &disk.volume_id)
    } else {
        (
            driver_of("kubernetes.io/portworx-volume"),
            &spec.portworx_volume.as_ref()?.volume_id,
        )
    };
    Some(DriverVolume {
        driver: driver.to_owned(),
        handle: handle.clone(),
    })
}
