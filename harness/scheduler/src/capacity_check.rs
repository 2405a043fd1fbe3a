//! Whether there is enough free storage for one claim on one node (KEP-1472).
//!
//! Each claim is judged on its own and nothing is reserved, as upstream: two claims of 8Gi fit one object of 10Gi.
//! The driver's name is no part of the match, only the class name is.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use capacity_types::{Arithmetic, Labels, NodeTopology, Quantity, RequirementError};

use crate::capacity_index::Group;
use crate::filter_error::FilterError;
use crate::node_labels::NodeLabels;
use crate::objects::{Capacity, Claim, Class};
use crate::rules::{Choice, Rules};
use crate::snapshot::Snapshot;

/// What the check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sufficiency {
    /// Capacity does not matter, for this reason.
    Unchecked(Unchecked),
    /// This object is accessible and large enough.
    Enough(Arc<Capacity>),
    /// No accessible object is large enough; [`shortcoming`] says why each is not.
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

/// What has to be checked for one claim, on any node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// One volume of this size.
    Request(Quantity),
    /// Nothing.
    Unchecked(Unchecked),
    /// Unknown, because an object that decides it cannot be read. No node may be judged without it.
    Unknown(FilterError),
}

impl Demand {
    /// What the claim demands of capacity objects.
    pub fn of(snapshot: &Snapshot, rules: &Rules, claim: &Claim, class: &Class) -> Self {
        if let Some(error) = snapshot.unreadable_driver(&class.provisioner) {
            return Self::Unknown(error);
        }
        match demanded(snapshot, rules, claim, class) {
            Ok(request) => match snapshot.unreadable_capacity() {
                Some(error) => Self::Unknown(error),
                None => Self::Request(request),
            },
            Err(reason) => Self::Unchecked(reason),
        }
    }
}

/// Checks a demand on a node with these labels. Of several sufficient objects the one with the largest limit is
/// recorded, then the first by namespace and name; upstream takes any.
pub fn check(
    snapshot: &Snapshot,
    rules: &Rules,
    demand: &Demand,
    class: &Class,
    labels: &NodeLabels,
) -> Sufficiency {
    let request = match demand {
        Demand::Request(request) => *request,
        Demand::Unchecked(reason) => return Sufficiency::Unchecked(*reason),
        Demand::Unknown(_) => return Sufficiency::NotEnough,
    };
    let Some(of_class) = snapshot.capacities.of_class(&class.key.name) else {
        return Sufficiency::NotEnough;
    };
    let found = if is_ranked(rules) {
        let best = of_class
            .candidates(labels)
            .filter_map(|group| first_sufficient(group, rules, request, labels));
        preferred(rules, best)
    } else {
        let all = of_class.candidates(labels).flat_map(Group::iter);
        preferred(
            rules,
            all.filter(|object| shortcoming(rules, object, request, labels).is_none()),
        )
    };
    match found {
        Some(object) => Sufficiency::Enough(Arc::clone(object)),
        None => Sufficiency::NotEnough,
    }
}

/// Whether the index keeps objects in the order in which these rules compare them.
fn is_ranked(rules: &Rules) -> bool {
    rules.arithmetic == Arithmetic::Exact && rules.choice == Choice::Largest && !rules.without_maximum
}

/// Objects come largest first, so after the first that is too small none suffices.
fn first_sufficient<'a>(
    group: &'a Group,
    rules: &Rules,
    request: Quantity,
    labels: &Labels,
) -> Option<&'a Arc<Capacity>> {
    group
        .iter()
        .take_while(|object| too_small(rules, object, request).is_none())
        .find(|object| no_access(object, labels).is_none())
}

/// The request to satisfy, or why there is nothing to check.
fn demanded(snapshot: &Snapshot, rules: &Rules, claim: &Claim, class: &Class) -> Result<Quantity, Unchecked> {
    if rules.without_capacity {
        return Err(Unchecked::GateOff);
    }
    let request = claim.request.ok_or(Unchecked::NoRequest)?;
    let driver = snapshot.driver(&class.provisioner).ok_or(Unchecked::NoDriver)?;
    if driver.tracks_capacity {
        Ok(request)
    } else {
        Err(Unchecked::NotTracked)
    }
}

/// Why an object does not suffice for a request on a node with these labels; `None` if it does. The class is not looked
/// at. The order of the checks is upstream's: limit first, then access.
pub fn shortcoming(
    rules: &Rules,
    object: &Capacity,
    request: Quantity,
    labels: &Labels,
) -> Option<Shortcoming> {
    too_small(rules, object, request).or_else(|| no_access(object, labels))
}

fn too_small(rules: &Rules, object: &Capacity, request: Quantity) -> Option<Shortcoming> {
    let Some(limit) = limit(rules, object) else {
        return Some(Shortcoming::NoLimit);
    };
    let limit = limit.bytes(rules.arithmetic);
    let request = request.bytes(rules.arithmetic);
    (limit < request).then_some(Shortcoming::TooSmall { limit, request })
}

fn no_access(object: &Capacity, labels: &Labels) -> Option<Shortcoming> {
    match &object.topology {
        NodeTopology::Matching(selector) if selector.matches(labels) => None,
        NodeTopology::Matching(_) => Some(Shortcoming::OtherTopology),
        NodeTopology::Unset => Some(Shortcoming::NoTopology),
        NodeTopology::Invalid(error) => Some(Shortcoming::InvalidTopology(error.clone())),
    }
}

/// What requests are compared with: the maximum volume size, or the capacity where that is unset or unknown.
pub(crate) fn limit(rules: &Rules, object: &Capacity) -> Option<Quantity> {
    if rules.without_maximum {
        return object.capacity;
    }
    object.limit()
}

fn preferred<'a>(
    rules: &Rules,
    objects: impl Iterator<Item = &'a Arc<Capacity>>,
) -> Option<&'a Arc<Capacity>> {
    match rules.choice {
        Choice::Largest => objects.min_by_key(|object| {
            let limit = limit(rules, object).map(|limit| limit.bytes(rules.arithmetic));
            (Reverse(limit), &object.key)
        }),
        Choice::Any(salt) => objects.min_by_key(|object| {
            let mut hasher = DefaultHasher::new();
            (salt, &object.key).hash(&mut hasher);
            hasher.finish()
        }),
    }
}
