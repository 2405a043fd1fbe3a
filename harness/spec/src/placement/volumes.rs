//! Existing volumes for claims that have none: what one of them satisfies needs no capacity.

use super::claims::Named;
use super::view::View;
use crate::world::{Claim, NamespacedName, Node, Volume};

/// What became of claims at a node.
pub(super) struct Matched<'w> {
    /// Claims with the volume that is there for them.
    pub(super) found: Vec<(Named<'w>, &'w Volume)>,
    /// Claims without.
    pub(super) unmet: Vec<Named<'w>>,
}

/// Gives each claim the volume that is meant for it, or the smallest that fits; the smallest claim first, and no volume twice.
pub(super) fn find<'w>(
    view: &View<'w>,
    namespace: &str,
    mut claims: Vec<Named<'w>>,
    name: &str,
    node: &Node,
) -> Matched<'w> {
    claims.sort_by_key(|(_, claim)| claim.request);
    let mut matched = Matched {
        found: Vec::new(),
        unmet: Vec::new(),
    };
    let mut taken: Vec<&str> = Vec::new();
    for (claim_name, claim) in claims {
        let key = NamespacedName::new(namespace, claim_name);
        let is_reachable = |(_, volume): &(&str, &Volume)| volume.is_reachable(name, &node.labels);
        let is_left = |(volume, _): &(&str, &Volume)| !taken.contains(volume);
        let mut meant = view.meant_for(&key).filter(is_left);
        let found = match meant.find(|(_, volume)| is_meant(claim, volume) && satisfies(claim, volume)) {
            // One that the node does not reach leaves the claim without any.
            Some(meant) => Some(meant).filter(is_reachable),
            None => {
                let candidates = view
                    .volumes(&claim.class, node)
                    .filter(is_left)
                    .filter(is_reachable);
                candidates
                    .filter(|(_, volume)| is_free_for(claim, volume) && satisfies(claim, volume))
                    .min_by_key(|(name, volume)| (volume.capacity, *name))
            }
        };
        match found {
            Some((volume_name, volume)) => {
                taken.push(volume_name);
                matched.found.push(((claim_name, claim), volume));
            }
            None => matched.unmet.push((claim_name, claim)),
        }
    }
    matched
}

/// Whether it is one of those from which a claim gets one.
pub(super) fn can_take(claim: &Claim, volume: &Volume) -> bool {
    volume.class == claim.class && is_free_for(claim, volume) && satisfies(claim, volume)
}

/// Whether a volume that is meant for a claim of that name is meant for this one.
fn is_meant(claim: &Claim, volume: &Volume) -> bool {
    let reference = volume.claim.as_ref();
    let is_this = reference.is_some_and(|it| it.uid.is_empty() || it.uid == claim.uid);
    is_this && volume.class == claim.class
}

/// Whether it is nobody's, and the claim asks for one like it.
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

/// Whether it is large enough, and of the claim's kind.
fn satisfies(claim: &Claim, volume: &Volume) -> bool {
    volume.capacity >= claim.request
        && volume.is_block == claim.is_block
        && volume.attributes_class == claim.attributes_class
        && !volume.is_deleted
}
