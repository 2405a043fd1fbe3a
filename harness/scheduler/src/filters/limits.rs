//! How many volumes a driver can attach to a node (NodeVolumeLimits, `CSINode.spec.drivers[].allocatable.count`).

use std::collections::BTreeSet;

use crate::node_pods::OnNode;
use crate::objects::{Claim, Disk, DriverVolume, Node, ObjectKey, Pod, driver_of};
use crate::snapshot::Snapshot;

/// A limit that would be exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeLimit {
    /// The driver.
    pub driver: String,
    /// So many of its volumes the node can have.
    pub limit: usize,
    /// So many it has.
    pub attached: usize,
    /// So many the pod adds.
    pub added: usize,
}

/// The volumes of drivers that the pod uses.
#[derive(Debug)]
pub(super) struct PodVolumes(BTreeSet<DriverVolume>);

impl PodVolumes {
    pub(super) fn of(snapshot: &Snapshot, pod: &Pod) -> Self {
        Self(volumes_of(snapshot, pod).collect())
    }

    /// The limit of the node that the pod would exceed.
    pub(super) fn beyond_limit(&self, snapshot: &Snapshot, node: &Node, on: &OnNode) -> Option<VolumeLimit> {
        if self.0.is_empty() {
            return None;
        }
        let csi_node = snapshot.csi_nodes.get(&node.key)?;
        if csi_node.drivers.iter().all(|driver| driver.limit.is_none()) {
            return None;
        }
        let pods = on.pods.iter();
        let mut attached: BTreeSet<DriverVolume> = pods.flat_map(|pod| volumes_of(snapshot, pod)).collect();
        let added: Vec<&DriverVolume> = self.0.difference(&attached).collect();
        let added: Vec<String> = added.into_iter().map(|volume| volume.driver.clone()).collect();
        attached.extend(snapshot.attachments.on(node.name()).filter_map(|attachment| {
            let volume = snapshot.volume(attachment.volume.as_ref()?)?;
            let source = volume.source.as_ref().filter(|_| !volume.migrated)?;
            Some(DriverVolume {
                driver: attachment.attacher.clone(),
                handle: source.handle.clone(),
            })
        }));
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

/// The volume of a claim, or the one that its class will get it.
fn of_claim(snapshot: &Snapshot, claim: &Claim) -> Option<DriverVolume> {
    let volume = claim.volume.as_ref().and_then(|name| snapshot.volume(name));
    if let Some(volume) = volume {
        return volume.source.clone();
    }
    let class = snapshot.class(&claim.class)?;
    Some(DriverVolume {
        driver: driver_of(&class.provisioner).to_owned(),
        handle: to_be_made(&claim.key),
    })
}

/// A handle for a volume that does not exist yet, which no driver gives.
fn to_be_made(claim: &ObjectKey) -> String {
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
