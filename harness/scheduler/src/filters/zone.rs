//! The filter VolumeZone: zone and region labels of PersistentVolumes. Newer volumes use node affinity instead.

use std::collections::BTreeSet;

use super::FilterReason;
use crate::objects::{Node, Pod, Volume};
use crate::snapshot::Snapshot;

/// Beta label keys, each with its GA replacement.
const KEYS: [(&str, &str); 4] = [
    (
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/zone",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/region",
    ),
    ("topology.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("topology.kubernetes.io/region", "topology.kubernetes.io/region"),
];
/// Separator of several zones in one label value.
const SEPARATOR: &str = "__";

/// A zone or region label of one of the pod's PersistentVolumes.
#[derive(Debug)]
pub(super) struct VolumeZone<'a> {
    volume: &'a Volume,
    key: &'static str,
    successor: &'static str,
    values: BTreeSet<&'a str>,
}

/// The zone and region labels of the PersistentVolumes of the pod's bound PVCs.
pub(super) fn zones<'a>(snapshot: &'a Snapshot, pod: &Pod) -> Vec<VolumeZone<'a>> {
    let claims = pod
        .volumes
        .iter()
        .filter_map(|volume| snapshot.claims.get(&volume.claim));
    let volumes = claims.filter_map(|claim| snapshot.volume(claim.volume.as_ref()?));
    volumes.flat_map(|volume| of_volume(volume)).collect()
}

fn of_volume(volume: &Volume) -> impl Iterator<Item = VolumeZone<'_>> {
    KEYS.into_iter().filter_map(|(key, successor)| {
        let values: BTreeSet<&str> = volume.labels.get(key)?.split(SEPARATOR).collect();
        let is_valid = !values.contains("");
        is_valid.then_some(VolumeZone {
            volume,
            key,
            successor,
            values,
        })
    })
}

/// The reason for which VolumeZone rejects the node; `None` if the node passes. A node without zone and region labels accepts every volume.
pub(super) fn zone_mismatch(zones: &[VolumeZone<'_>], node: &Node) -> Option<FilterReason> {
    let labels = &node.labels;
    if zones.is_empty() || !KEYS.iter().any(|(key, _)| labels.contains_key(*key)) {
        return None;
    }
    let is_elsewhere = |zone: &&VolumeZone<'_>| {
        let value = labels.get(zone.key).or_else(|| labels.get(zone.successor));
        value.is_none_or(|value| !zone.values.contains(value.as_str()))
    };
    zones
        .iter()
        .find(is_elsewhere)
        .map(|zone| FilterReason::ZoneMismatch {
            volume: zone.volume.key.name.clone(),
            key: zone.key.to_owned(),
        })
}
