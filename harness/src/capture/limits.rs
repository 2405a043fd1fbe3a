//! Volume limits of nodes (CSINode `allocatable.count`), minus the volumes of pods that the captured file leaves out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::situation::{Situation, name_of, namespace_of};
use crate::pod::{claims_of, class_of};

/// A volume as volume limits count it: driver name and volume handle.
type Volume = (String, String);

/// All claims, volumes and classes of a cluster, by name.
pub(super) struct Volumes<'a> {
    claims: BTreeMap<(&'a str, &'a str), &'a Value>,
    volumes: BTreeMap<&'a str, &'a Value>,
    classes: BTreeMap<&'a str, &'a Value>,
}

impl<'a> Volumes<'a> {
    pub(super) fn of(objects: &'a [Value]) -> Self {
        let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
        Self {
            claims: of("PersistentVolumeClaim")
                .map(|claim| ((namespace_of(claim), name_of(claim)), claim))
                .collect(),
            volumes: of("PersistentVolume").map(|it| (name_of(it), it)).collect(),
            classes: of("StorageClass").map(|it| (name_of(it), it)).collect(),
        }
    }

    /// The CSI volumes of a pod, also those that are not provisioned yet.
    fn of_pod(&self, pod: &'a Value) -> impl Iterator<Item = Volume> {
        let namespace = namespace_of(pod);
        claims_of(pod).into_iter().filter_map(move |name| {
            let claim = self.claims.get(&(namespace, name.as_str()))?;
            let volume = claim["spec"]["volumeName"].as_str();
            match volume.and_then(|volume| self.volumes.get(volume)) {
                Some(volume) => csi_volume(volume),
                None => {
                    let class = self.classes.get(class_of(claim)?)?;
                    // Not provisioned yet: a key that cannot be a volume handle.
                    Some((
                        class["provisioner"].as_str()?.to_owned(),
                        format!("\0{namespace}/{name}"),
                    ))
                }
            }
        })
    }
}

/// Driver and handle.
fn csi_volume(volume: &Value) -> Option<Volume> {
    let csi = &volume["spec"]["csi"];
    Some((
        csi["driver"].as_str()?.to_owned(),
        csi["volumeHandle"].as_str()?.to_owned(),
    ))
}

/// Remaining volume limits of the cluster's nodes.
#[derive(Default)]
pub(super) struct Limits {
    /// By node and driver.
    pub(super) left: BTreeMap<String, BTreeMap<String, i64>>,
}

impl Limits {
    /// The limits of drivers with volumes of captured pods, minus the volumes of other pods.
    pub(super) fn of(situation: &Situation<'_>) -> Self {
        let known = &situation.known_volumes;
        let own: BTreeSet<Volume> = situation.pods.iter().flat_map(|pod| known.of_pod(pod)).collect();
        let drivers: BTreeSet<&str> = own.iter().map(|(driver, _)| driver.as_str()).collect();
        let mut taken: BTreeMap<&str, BTreeSet<Volume>> = BTreeMap::new();
        for pod in &situation.others {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            taken.entry(node).or_default().extend(known.of_pod(pod));
        }
        for attachment in &situation.attachments {
            let spec = &attachment["spec"];
            let name = spec["source"]["persistentVolumeName"].as_str();
            let volume = name.and_then(|name| csi_volume(known.volumes.get(name)?));
            taken
                .entry(spec["nodeName"].as_str().unwrap_or_default())
                .or_default()
                .extend(volume);
        }
        let mut limits = Limits::default();
        for (node, csi_node) in &situation.csi_nodes {
            let taken = taken
                .get(node)
                .into_iter()
                .flatten()
                .filter(|volume| !own.contains(volume));
            for entry in csi_node["spec"]["drivers"].as_array().into_iter().flatten() {
                let name = entry["name"].as_str().unwrap_or_default();
                let Some(limit) = entry["allocatable"]["count"]
                    .as_i64()
                    .filter(|_| drivers.contains(name))
                else {
                    continue;
                };
                let taken = taken.clone().filter(|(driver, _)| driver == name).count();
                let left = (limit - i64::try_from(taken).unwrap_or(i64::MAX)).max(0);
                limits
                    .left
                    .entry((*node).to_owned())
                    .or_default()
                    .insert(name.to_owned(), left);
            }
        }
        limits
    }

    /// Whether a VolumeAttachment is on a node, and of a driver, with a limit.
    pub(super) fn count(&self, attachment: &Value) -> bool {
        let spec = &attachment["spec"];
        let of_node = spec["nodeName"].as_str().and_then(|node| self.left.get(node));
        of_node.is_some_and(|of_node| {
            spec["attacher"]
                .as_str()
                .is_some_and(|name| of_node.contains_key(name))
        })
    }
}
