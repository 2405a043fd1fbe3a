//! Static binding of unbound PVCs. A PVC with a matching volume needs no capacity.

use super::claims::NamedClaim;
use super::indexed_world::IndexedWorld;
use crate::world::{Claim, NamespacedName, Node, Volume};

/// For one node, the PVCs that would be bound to existing volumes, and the remaining PVCs.
pub(super) struct StaticBindings<'w> {
    pub(super) found: Vec<(NamedClaim<'w>, &'w Volume)>,
    pub(super) unmatched: Vec<NamedClaim<'w>>,
}

/// Assigns to each PVC the volume that is reserved for it, or the smallest matching volume. Small PVCs come first, and each volume is
/// assigned once.
pub(super) fn match_volumes<'w>(
    indexed: &IndexedWorld<'w>,
    namespace: &str,
    mut claims: Vec<NamedClaim<'w>>,
    name: &str,
    node: &Node,
) -> StaticBindings<'w> {
    claims.sort_by_key(|(_, claim)| claim.request);
    let mut matched = StaticBindings {
        found: Vec::new(),
        unmatched: Vec::new(),
    };
    let mut used: Vec<&str> = Vec::new();
    for (claim_name, claim) in claims {
        let key = NamespacedName::new(namespace, claim_name);
        let is_reachable = |(_, volume): &(&str, &Volume)| volume.is_reachable(name, &node.labels);
        let is_unused = |(volume, _): &(&str, &Volume)| !used.contains(volume);
        let mut reserved = indexed.reserved_for(&key).filter(is_unused);
        let found =
            match reserved.find(|(_, volume)| is_reserved_for(claim, volume) && satisfies(claim, volume)) {
                // If the volume that is reserved for the PVC is not accessible from the node, no other volume may be used.
                Some(reserved) => Some(reserved).filter(is_reachable),
                None => {
                    let candidates = indexed
                        .volumes(&claim.class, node)
                        .filter(is_unused)
                        .filter(is_reachable);
                    candidates
                        .filter(|(_, volume)| is_free_for(claim, volume) && satisfies(claim, volume))
                        .min_by_key(|(name, volume)| (volume.capacity, *name))
                }
            };
        match found {
            Some((volume_name, volume)) => {
                used.push(volume_name);
                matched.found.push(((claim_name, claim), volume));
            }
            None => matched.unmatched.push((claim_name, claim)),
        }
    }
    matched
}

pub(super) fn can_bind(claim: &Claim, volume: &Volume) -> bool {
    volume.class == claim.class && is_free_for(claim, volume) && satisfies(claim, volume)
}

/// Whether the volume is reserved for this PVC: `claimRef` has its name, and its UID if set.
fn is_reserved_for(claim: &Claim, volume: &Volume) -> bool {
    let reference = volume.claim.as_ref();
    let is_this = reference.is_some_and(|it| it.uid.is_empty() || it.uid == claim.uid);
    is_this && volume.class == claim.class
}

/// Whether the volume has no `claimRef` and matches the PVC.
fn is_free_for(claim: &Claim, volume: &Volume) -> bool {
    let selects = claim
        .selector
        .as_ref()
        .is_none_or(|it| it.matches(&volume.labels));
    volume.claim.is_none()
        && volume.is_available
        && selects
        && claim.access_modes.is_subset(&volume.access_modes)
}

/// Whether size, volume mode and access modes of the volume match the PVC.
fn satisfies(claim: &Claim, volume: &Volume) -> bool {
    volume.capacity >= claim.request
        && volume.is_block == claim.is_block
        && volume.attributes_class == claim.attributes_class
        && !volume.is_deleted
}
