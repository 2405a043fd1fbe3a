//! The storage capacity check for one PVC on one node (KEP-1472).
//!
//! As upstream, each PVC is checked independently and no capacity is reserved: two PVCs of 8Gi both pass with one object of 10Gi. Objects
//! are matched by StorageClass name, not by driver name.

use std::cmp::Reverse;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use capacity_types::{ByteConversion, Labels, NodeTopology, Quantity, RequirementError};

use crate::capacity_index::Group;
use crate::node_labels::NodeLabels;
use crate::objects::{Capacity, Claim, Class};
use crate::rules::{Choice, Rules};
use crate::snapshot::FilterError;
use crate::snapshot::Snapshot;

/// Result of the capacity check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sufficiency {
    /// Capacity was not checked, for this reason.
    Unchecked(Unchecked),
    /// This capacity object is accessible from the node and large enough.
    Enough(Arc<Capacity>),
    /// No accessible object is large enough; [`shortcoming`] returns the reason for each object.
    NotEnough,
}

/// Why capacity was not checked for a PVC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// The PVC requests no storage.
    NoRequest,
    /// No CSIDriver object has the provisioner's name.
    NoDriver,
    /// The CSIDriver does not set `storageCapacity: true`.
    NotTracked,
    /// The scheduler's feature gate `CSIStorageCapacity` is disabled.
    GateOff,
}

/// Why one capacity object does not satisfy a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortcoming {
    /// Neither `capacity` nor `maximumVolumeSize` is set.
    NothingSet,
    /// `maximumVolumeSize`, or `capacity` if the maximum is unset, is below the request.
    TooSmall {
        /// The compared `maximumVolumeSize` or `capacity`, in bytes.
        largest: i128,
        /// The bytes that the PVC requests.
        request: i128,
    },
    /// `nodeTopology` is unset, so no node has access.
    NoTopology,
    /// `nodeTopology` is invalid, so no node has access.
    InvalidTopology(RequirementError),
    /// `nodeTopology` does not match the node's labels.
    TopologyMismatch,
}

/// The capacity check that one PVC needs on each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// A capacity object must be sufficient for a volume of this size.
    Request(Quantity),
    /// Capacity is not checked.
    Unchecked(Unchecked),
    /// The CSIDriver or a capacity object cannot be parsed: the filter returns this error instead of a result.
    Unreadable(FilterError),
}

impl Demand {
    /// Determines the capacity check for the PVC.
    pub fn of(snapshot: &Snapshot, rules: &Rules, claim: &Claim, class: &Class) -> Self {
        if let Some(error) = snapshot.unreadable_driver(&class.provisioner) {
            return Self::Unreadable(error);
        }
        match checked_request(snapshot, rules, claim, class) {
            Ok(request) => match snapshot.unreadable_capacity() {
                Some(error) => Self::Unreadable(error),
                None => Self::Request(request),
            },
            Err(reason) => Self::Unchecked(reason),
        }
    }
}

/// Checks whether a node with these labels has the demanded capacity. If several objects are sufficient, returns the one with the largest
/// `maximumVolumeSize` (else `capacity`), and of objects of equal size the first by namespace and name. Upstream uses an arbitrary object.
pub fn check_capacity(
    snapshot: &Snapshot,
    rules: &Rules,
    demand: &Demand,
    class: &Class,
    labels: &NodeLabels,
) -> Sufficiency {
    let request = match demand {
        Demand::Request(request) => *request,
        Demand::Unchecked(reason) => return Sufficiency::Unchecked(*reason),
        Demand::Unreadable(_) => return Sufficiency::NotEnough,
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

/// Whether the index sorts objects as these rules prefer them, so that the first sufficient object of an index group is the best object.
fn is_ranked(rules: &Rules) -> bool {
    rules.arithmetic == ByteConversion::Exact
        && rules.choice == Choice::Largest
        && !rules.ignores_maximum_volume_size
}

/// The first sufficient object of the index group. Objects are sorted by descending size, so the search ends at the first too small object.
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

/// The requested size of the PVC, or the reason why its capacity is not checked.
fn checked_request(
    snapshot: &Snapshot,
    rules: &Rules,
    claim: &Claim,
    class: &Class,
) -> Result<Quantity, Unchecked> {
    if rules.skips_capacity_check {
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

/// Why an object is not sufficient for a request on a node with these labels; `None` if it is sufficient. Does not compare the
/// StorageClass. As upstream, checks the size before the topology.
pub fn shortcoming(
    rules: &Rules,
    object: &Capacity,
    request: Quantity,
    labels: &Labels,
) -> Option<Shortcoming> {
    too_small(rules, object, request).or_else(|| no_access(object, labels))
}

fn too_small(rules: &Rules, object: &Capacity, request: Quantity) -> Option<Shortcoming> {
    let Some(limit) = largest_volume(rules, object) else {
        return Some(Shortcoming::NothingSet);
    };
    let limit = limit.bytes(rules.arithmetic);
    let request = request.bytes(rules.arithmetic);
    (limit < request).then_some(Shortcoming::TooSmall {
        largest: limit,
        request,
    })
}

fn no_access(object: &Capacity, labels: &Labels) -> Option<Shortcoming> {
    match &object.topology {
        NodeTopology::Matching(selector) if selector.matches(labels) => None,
        NodeTopology::Matching(_) => Some(Shortcoming::TopologyMismatch),
        NodeTopology::Unset => Some(Shortcoming::NoTopology),
        NodeTopology::Invalid(error) => Some(Shortcoming::InvalidTopology(error.clone())),
    }
}

/// The size that is compared with a request: `maximumVolumeSize` (unless the release ignores this field), else `capacity`.
pub(crate) fn largest_volume(rules: &Rules, object: &Capacity) -> Option<Quantity> {
    if rules.ignores_maximum_volume_size {
        return object.capacity;
    }
    object.largest_volume()
}

fn preferred<'a>(
    rules: &Rules,
    objects: impl Iterator<Item = &'a Arc<Capacity>>,
) -> Option<&'a Arc<Capacity>> {
    match rules.choice {
        Choice::Largest => objects.min_by_key(|object| {
            let limit = largest_volume(rules, object).map(|limit| limit.bytes(rules.arithmetic));
            (Reverse(limit), &object.key)
        }),
        Choice::Any(salt) => objects.min_by_key(|object| {
            let mut hasher = DefaultHasher::new();
            (salt, &object.key).hash(&mut hasher);
            hasher.finish()
        }),
    }
}
