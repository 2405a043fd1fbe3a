//! Is there enough free storage for one claim on one node (KEP-1472)?
//!
//! Each claim is judged on its own and nothing is reserved, as upstream: two claims of 8Gi fit one object of 10Gi.
//! The driver's name is no part of the match, only the class name is.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::defect::Defect;
use crate::objects::{Capacity, Claim, Class};
use crate::quantity::Quantity;
use crate::requirement::{Labels, RequirementError};
use crate::rules::Rules;
use crate::selector::Topology;
use crate::snapshot::Snapshot;

/// What the check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sufficiency {
    /// Capacity does not matter, for this reason.
    Unchecked(Unchecked),
    /// This object is accessible and large enough.
    Enough(Arc<Capacity>),
    /// No accessible object is large enough; [`considered`] tells why each is not.
    NotEnough,
}

/// Why capacity does not matter for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// The claim requests no storage.
    NoRequest,
    /// No CSIDriver object is named like the provisioner.
    NoDriver,
    /// The CSIDriver does not set `storageCapacity: true`.
    NotTracked,
    /// The scheduler's gate `CSIStorageCapacity` is off.
    GateOff,
    /// The deliberate defect of that name.
    Defect,
}

/// Why one object does not suffice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortcoming {
    /// Neither capacity nor maximum volume size is set.
    NoLimit,
    /// The limit is lower than the request.
    TooSmall {
        /// The limit in bytes.
        limit: i128,
        /// The request in bytes.
        request: i128,
    },
    /// It has no topology, so no node has access.
    NoTopology,
    /// Its topology cannot be evaluated, so no node has access.
    InvalidTopology(RequirementError),
    /// The node is outside its topology.
    OtherTopology,
}

/// Checks one claim to be provisioned on a node with these labels. Of several sufficient objects the one with the
/// largest limit is recorded, then the first by namespace and name; upstream takes any.
pub fn check(
    snapshot: &Snapshot,
    rules: &Rules,
    claim: &Claim,
    class: &Class,
    labels: &Labels,
) -> Sufficiency {
    let request = match needed(snapshot, rules, claim, class) {
        Ok(request) => request,
        Err(reason) => return Sufficiency::Unchecked(reason),
    };
    if rules.has(Defect::RefusesTracked) {
        return Sufficiency::NotEnough;
    }
    if rules.has(Defect::SumsObjects) {
        return check_sum(snapshot, rules, request, class, labels);
    }
    let candidates = snapshot.capacities.candidates(&class.key.name, labels);
    let sufficient = candidates.filter(|object| shortcoming(rules, object, request, labels).is_none());
    match largest(rules, sufficient) {
        Some(object) => Sufficiency::Enough(Arc::clone(object)),
        None => Sufficiency::NotEnough,
    }
}

/// Every object of the claim's class with its shortcoming on a node with these labels, for an explanation. `None` for
/// the objects that suffice.
pub fn considered<'a>(
    snapshot: &'a Snapshot,
    rules: &Rules,
    claim: &Claim,
    class: &Class,
    labels: &Labels,
) -> Vec<(&'a Arc<Capacity>, Option<Shortcoming>)> {
    let Some(request) = claim.request else {
        return Vec::new();
    };
    let objects = snapshot.capacities.of_class(&class.key.name);
    objects
        .map(|object| (object, shortcoming(rules, object, request, labels)))
        .collect()
}

/// The request to be satisfied, or why there is nothing to check.
fn needed(snapshot: &Snapshot, rules: &Rules, claim: &Claim, class: &Class) -> Result<Quantity, Unchecked> {
    if rules.has(Defect::SkipsCapacity) {
        return Err(Unchecked::Defect);
    }
    if rules.without_capacity {
        return Err(Unchecked::GateOff);
    }
    let request = claim.request.ok_or(Unchecked::NoRequest)?;
    if rules.has(Defect::IgnoresFlag) {
        return Ok(request);
    }
    let driver = snapshot.driver(&class.provisioner).ok_or(Unchecked::NoDriver)?;
    if driver.tracks_capacity {
        Ok(request)
    } else {
        Err(Unchecked::NotTracked)
    }
}

/// The order of the checks is upstream's: limit first, then access.
fn shortcoming(rules: &Rules, object: &Capacity, request: Quantity, labels: &Labels) -> Option<Shortcoming> {
    let Some(limit) = limit(rules, object) else {
        return Some(Shortcoming::NoLimit);
    };
    let limit = limit.bytes(rules.arithmetic);
    let request = request.bytes(rules.arithmetic);
    let margin = i128::from(rules.has(Defect::OffByOne));
    if limit < request.saturating_add(margin) {
        return Some(Shortcoming::TooSmall { limit, request });
    }
    no_access(rules, object, labels)
}

fn no_access(rules: &Rules, object: &Capacity, labels: &Labels) -> Option<Shortcoming> {
    match &object.topology {
        Topology::Matching(selector) if selector.matches(labels) => None,
        Topology::Matching(_) => Some(Shortcoming::OtherTopology),
        Topology::Unset if rules.has(Defect::NilTopologyEverywhere) => None,
        Topology::Unset => Some(Shortcoming::NoTopology),
        Topology::Invalid(error) => Some(Shortcoming::InvalidTopology(error.clone())),
    }
}

fn limit(rules: &Rules, object: &Capacity) -> Option<Quantity> {
    if rules.has(Defect::IgnoresMaximum) {
        return object.capacity;
    }
    object.limit()
}

/// The deliberate defect: objects for the same nodes are several views of one pool, so their sum means nothing.
fn check_sum(
    snapshot: &Snapshot,
    rules: &Rules,
    request: Quantity,
    class: &Class,
    labels: &Labels,
) -> Sufficiency {
    let accessible = || {
        let candidates = snapshot.capacities.candidates(&class.key.name, labels);
        candidates.filter(|object| no_access(rules, object, labels).is_none())
    };
    let limits = accessible().filter_map(|object| limit(rules, object));
    let sum = limits.fold(0_i128, |sum, limit| {
        sum.saturating_add(limit.bytes(rules.arithmetic))
    });
    match largest(rules, accessible()) {
        Some(object) if sum >= request.bytes(rules.arithmetic) => Sufficiency::Enough(Arc::clone(object)),
        _ => Sufficiency::NotEnough,
    }
}

fn largest<'a>(rules: &Rules, objects: impl Iterator<Item = &'a Arc<Capacity>>) -> Option<&'a Arc<Capacity>> {
    objects.min_by_key(|object| {
        let limit = limit(rules, object).map(|limit| limit.bytes(rules.arithmetic));
        (Reverse(limit), &object.key)
    })
}
