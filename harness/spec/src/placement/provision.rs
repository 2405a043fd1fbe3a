//! Whether a volume can be made at a node: the class, the topologies that it allows, and capacity (KEP-1472, "Using capacity
//! information").

use super::claims::Named;
use super::reason::Reason;
use super::view::View;
use crate::world::capacity::bytes;
use crate::world::{Api, CapacityObject, Claim, Node, StorageClass};

/// What lets a volume be made.
pub(super) enum Allowed<'w> {
    /// The driver does not track capacity: nothing is compared.
    Untracked,
    /// One of these objects, each of which is large enough.
    By(Vec<&'w CapacityObject>),
}

/// Whether a volume can be made for a claim at a node.
pub(super) fn check<'w>(
    view: &View<'w>,
    (name, claim): Named<'w>,
    node: &Node,
) -> Result<Allowed<'w>, Reason> {
    let class = view.world.classes.get(&claim.class);
    let Some(class) = class.filter(|class| class.can_provision()) else {
        return Err(Reason::NoProvisioner(name.to_owned()));
    };
    if !class.allows(&node.labels) {
        return Err(Reason::NotAllowed(name.to_owned()));
    }
    if !is_tracked(view, class) {
        return Ok(Allowed::Untracked);
    }
    let Some(request) = claim.request else {
        return Ok(Allowed::Untracked);
    };
    let has_maximum = view.world.scheduler.release.has_maximum() && shows_maximum(view.world.api);
    let is_enough = |object: &&CapacityObject| {
        object
            .limit(has_maximum)
            .is_some_and(|limit| limit >= bytes(request))
    };
    // Each claim is compared on its own, and any one object is enough.
    let enough: Vec<_> = view.objects(&claim.class, node).filter(is_enough).collect();
    match enough.is_empty() {
        true => Err(Reason::NotEnoughCapacity(name.to_owned())),
        false => Ok(Allowed::By(enough)),
    }
}

/// Whether the API server shows what is stored of maxima. One of the first alpha does not; of one that does not serve the type nothing is
/// learnt, and what was known before still counts.
fn shows_maximum(api: Api) -> bool {
    api.release.has_maximum() || api.version().is_none()
}

/// Whether capacity is compared at all for a class.
fn is_tracked(view: &View<'_>, class: &StorageClass) -> bool {
    let driver = view.world.csi_drivers.get(&class.provisioner);
    view.world.scheduler.checks_capacity() && driver.is_some_and(|driver| driver.storage_capacity)
}

/// The drivers that make the volumes of these claims.
pub(super) fn drivers<'w>(view: &View<'w>, claims: &[(&str, &Claim)]) -> Vec<&'w str> {
    let classes = claims
        .iter()
        .filter_map(|(_, claim)| view.world.classes.get(&claim.class));
    classes.map(|class| class.provisioner.as_str()).collect()
}
