//! Volume limits of nodes (CSINode `allocatable.count`), minus the volumes of pods that the case file does not contain.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::situation::{CsiVolume, Situation, csi_volume};

/// How many more volumes each node with a volume limit can have.
#[derive(Default)]
pub(super) struct VolumeLimits {
    /// Number of volumes that can still be attached, by node and driver.
    pub(super) remaining: BTreeMap<String, BTreeMap<String, i64>>,
}

impl VolumeLimits {
    /// Computes the remaining limits of the drivers of captured pods' volumes: `allocatable.count` minus the volumes of other pods.
    pub(super) fn of(situation: &Situation<'_>) -> Self {
        let known = &situation.known_volumes;
        let captured: BTreeSet<CsiVolume> = situation.pods.iter().flat_map(|pod| known.of_pod(pod)).collect();
        let drivers: BTreeSet<&str> = captured.iter().map(|(driver, _)| driver.as_str()).collect();
        let mut used: BTreeMap<&str, BTreeSet<CsiVolume>> = BTreeMap::new();
        for pod in &situation.other_pods {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
            used.entry(node).or_default().extend(known.of_pod(pod));
        }
        for attachment in &situation.attachments {
            let spec = &attachment["spec"];
            let name = spec["source"]["persistentVolumeName"].as_str();
            let volume = name.and_then(|name| csi_volume(known.volumes.get(name)?));
            used.entry(spec["nodeName"].as_str().unwrap_or_default())
                .or_default()
                .extend(volume);
        }
        let mut limits = VolumeLimits::default();
        for (node, csi_node) in &situation.csi_nodes {
            let used = used
                .get(node)
                .into_iter()
                .flatten()
                .filter(|volume| !captured.contains(volume));
            for entry in csi_node["spec"]["drivers"].as_array().into_iter().flatten() {
                let name = entry["name"].as_str().unwrap_or_default();
                let Some(limit) = entry["allocatable"]["count"]
                    .as_i64()
                    .filter(|_| drivers.contains(name))
                else {
                    continue;
                };
                let used = used.clone().filter(|(driver, _)| driver == name).count();
                let remaining = (limit - i64::try_from(used).unwrap_or(i64::MAX)).max(0);
                limits
                    .remaining
                    .entry((*node).to_owned())
                    .or_default()
                    .insert(name.to_owned(), remaining);
            }
        }
        limits
    }

    /// Whether the VolumeAttachment's node has a volume limit for its driver.
    pub(super) fn is_limited(&self, attachment: &Value) -> bool {
        let spec = &attachment["spec"];
        let of_node = spec["nodeName"]
            .as_str()
            .and_then(|node| self.remaining.get(node));
        of_node.is_some_and(|of_node| {
            spec["attacher"]
                .as_str()
                .is_some_and(|name| of_node.contains_key(name))
        })
    }
}
