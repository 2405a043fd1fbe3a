//! The filter NodeVolumeLimits: limit of volumes per driver and node (`CSINode.spec.drivers[].allocatable.count`).

use std::collections::BTreeSet;

use crate::node_pods::NodeInfo;
use crate::objects::{Claim, Disk, DriverVolume, Node, ObjectKey, Pod, driver_of};
use crate::snapshot::Snapshot;

/// The volume limit that the pod would exceed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeLimit {
    /// Name of the driver with the limit.
    pub driver: String,
    /// Maximum number of the driver's volumes on the node.
    pub limit: usize,
    /// Number of the driver's volumes that are attached to the node.
    pub attached: usize,
    /// Number of the driver's volumes that the pod adds.
    pub added: usize,
}

#[derive(Debug)]
pub(super) struct PodVolumes(BTreeSet<DriverVolume>);

impl PodVolumes {
    pub(super) fn of(snapshot: &Snapshot, pod: &Pod) -> Self {
        Self(volumes_of(snapshot, pod).collect())
    }

    /// The first volume limit of the node that the pod would exceed, if any.
    pub(super) fn exceeded_limit(
        &self,
        snapshot: &Snapshot,
        node: &Node,
        info: &NodeInfo,
    ) -> Option<VolumeLimit> {
        if self.0.is_empty() {
            return None;
        }
        let csi_node = snapshot.csi_nodes.get(&node.key)?;
        if csi_node.drivers.iter().all(|driver| driver.limit.is_none()) {
            return None;
        }
        let pods = info.pods.iter();
        let mut attached: BTreeSet<DriverVolume> = pods.flat_map(|pod| volumes_of(snapshot, pod)).collect();
        let added: Vec<&DriverVolume> = self.0.difference(&attached).collect();
        let added: Vec<String> = added.into_iter().map(|volume| volume.driver.clone()).collect();
        attached.extend(
            snapshot
                .attachments
                .of_node(node.name())
                .filter_map(|attachment| {
                    let volume = snapshot.volume(attachment.volume.as_ref()?)?;
                    let source = volume.source.as_ref().filter(|_| !volume.migrated)?;
                    Some(DriverVolume {
                        driver: attachment.attacher.clone(),
                        handle: source.handle.clone(),
                    })
                }),
        );
        csi_node.drivers.iter().find_map(|driver| {
            let limit = driver.limit?;
            let added = added.iter().filter(|name| **name == driver.name).count();
            let attached = attached
                .iter()
                .filter(|volume| volume.driver == driver.name)
                .count();
            (added > 0 && attached + added > limit).then(|| VolumeLimit {
                driver: driver.name.clone(),
                limit,
                attached,
                added,
            })
        })
    }
}

fn volumes_of<'a>(snapshot: &'a Snapshot, pod: &'a Pod) -> impl Iterator<Item = DriverVolume> + 'a {
    let claims = pod.volumes.iter();
    let claimed = claims.filter_map(|volume| of_claim(snapshot, snapshot.claims.get(&volume.claim)?));
    claimed.chain(pod.disks.iter().filter_map(of_disk))
}

/// The volume of a PVC, or a placeholder for the volume that the StorageClass will provision.
fn of_claim(snapshot: &Snapshot, claim: &Claim) -> Option<DriverVolume> {
    let volume = claim.volume.as_ref().and_then(|name| snapshot.volume(name));
    if let Some(volume) = volume {
        return volume.source.clone();
    }
    let class = snapshot.class(&claim.class)?;
    Some(DriverVolume {
        driver: driver_of(&class.provisioner).to_owned(),
        handle: placeholder_handle(&claim.key),
    })
}

/// A volume handle that stands for the future volume of an unbound PVC. No driver uses such a handle.
fn placeholder_handle(claim: &ObjectKey) -> String {
    format!("\0{claim}")
}

fn of_disk(disk: &Disk) -> Option<DriverVolume> {
    let (plugin, handle) = match disk {
        Disk::Gce { name, .. } => ("kubernetes.io/gce-pd", name),
        Disk::Aws { id } => ("kubernetes.io/aws-ebs", id),
        Disk::Iscsi { .. } | Disk::Rbd { .. } => return None,
    };
    Some(DriverVolume {
        driver: driver_of(plugin).to_owned(),
        handle: handle.clone(),
    })
}
