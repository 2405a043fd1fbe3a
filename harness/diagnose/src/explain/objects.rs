//! The CSIStorageCapacity objects considered for a PVC on a node, and why each is not sufficient.
//!
//! A node can access only a few of possibly thousands of CSIStorageCapacity objects. Accessible objects are listed first, then the largest
//! inaccessible objects.

use std::cmp::Reverse;
use std::sync::Arc;

use capacity_types::quantity::format_bytes;
use capacity_types::{ByteConversion, NodeTopology, Quantity};
use serde::Serialize;

use capacity_scheduler::capacity_check::{Demand, Shortcoming, shortcoming};
use capacity_scheduler::capacity_index::Group;
use capacity_scheduler::claims::DelayedClaim;
use capacity_scheduler::objects::{Capacity, Node};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;

/// A CSIStorageCapacity object, compared with a PVC on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObjectView {
    /// Namespace and name of the CSIStorageCapacity object.
    pub object: String,
    /// `storageClassName` of the object.
    pub class: String,
    /// `nodeTopology`, which selects the nodes that can access the storage.
    pub topology: String,
    /// `capacity` of the object.
    pub capacity: Option<String>,
    /// `maximumVolumeSize` of the object.
    pub maximum_volume_size: Option<String>,
    /// Whether the object is sufficient for the PVC, or why not, as a machine-readable value.
    pub seen: ObjectVerdict,
    /// The verdict in `seen`, as a text for users.
    pub why: String,
}

/// The verdict about a CSIStorageCapacity object for a PVC on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectVerdict {
    /// The object is large enough for the PVC and accessible from the node.
    Suffices,
    /// Neither capacity nor maximumVolumeSize is set.
    NoLimit,
    /// `maximumVolumeSize`, or `capacity` if the maximum is unset, is below the requested size.
    TooSmall,
    /// `nodeTopology` is unset.
    NoTopology,
    /// `nodeTopology` is invalid.
    InvalidTopology,
    /// `nodeTopology` does not match the node's labels.
    OtherTopology,
    /// The object is for another StorageClass than the PVC's, but would be sufficient otherwise.
    OtherClass,
    /// Capacity is not checked for the PVC, so the scheduler ignores the object.
    NotRead,
}

/// The CSIStorageCapacity objects that are considered for a PVC, prepared once for all nodes.
pub(super) struct ConsideredObjects<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) rules: &'a Rules,
    pub(super) delayed: &'a DelayedClaim,
    /// The CSIStorageCapacity objects for the PVC's StorageClass, by descending size.
    ranked: Vec<&'a Arc<Capacity>>,
    objects_max: usize,
}

impl<'a> ConsideredObjects<'a> {
    pub(super) fn new(
        snapshot: &'a Snapshot,
        rules: &'a Rules,
        delayed: &'a DelayedClaim,
        objects_max: usize,
    ) -> Self {
        let class = &delayed.class.key.name;
        let objects = snapshot.capacities.iter();
        let mut ranked: Vec<_> = objects.filter(|object| object.class == *class).collect();
        ranked.sort_by_key(|object| Reverse(object.largest_volume().map(Quantity::nanos)));
        Self {
            snapshot,
            rules,
            delayed,
            ranked,
            objects_max,
        }
    }

    /// The closest CSIStorageCapacity objects for a node, and the number of objects of the class that are omitted.
    pub(super) fn closest_objects(&self, node: &Node) -> (Vec<ObjectView>, usize) {
        let accessible = self.accessible(node);
        let is_accessible = |object: &&&Arc<Capacity>| accessible.iter().any(|it| it.key == object.key);
        let others = self.ranked.iter().filter(|object| !is_accessible(object));
        let of_class: Vec<_> = accessible
            .iter()
            .copied()
            .chain(others.copied())
            .take(self.objects_max)
            .collect();
        let more = self.ranked.len() - of_class.len();
        let mut views: Vec<_> = of_class.iter().map(|object| self.view(object, node)).collect();
        views.extend(self.of_other_classes(node));
        (views, more)
    }

    /// The CSIStorageCapacity objects of the PVC's class that the node can access, by descending size.
    fn accessible<'n>(&self, node: &'n Node) -> Vec<&'n Arc<Capacity>>
    where
        'a: 'n,
    {
        let Some(of_class) = self.snapshot.capacities.of_class(&self.delayed.class.key.name) else {
            return Vec::new();
        };
        let candidates = of_class.candidates(&node.labels).flat_map(Group::iter);
        let mut accessible: Vec<_> = candidates
            .filter(|object| object.topology.admits(&node.labels))
            .collect();
        accessible.sort_by_key(|object| Reverse(object.largest_volume().map(Quantity::nanos)));
        accessible
    }

    /// The largest CSIStorageCapacity object of each other StorageClass, if it would be sufficient for the PVC.
    fn of_other_classes(&self, node: &Node) -> Vec<ObjectView> {
        let Demand::Request(request) = &self.delayed.demand else {
            return Vec::new();
        };
        let classes = self.snapshot.classes.iter().map(|class| class.key.name.as_str());
        let others = classes.filter(|class| *class != self.delayed.class.key.name);
        let largest = others.filter_map(|class| {
            let of_class = self.snapshot.capacities.of_class(class)?;
            let objects = of_class.candidates(&node.labels).flat_map(Group::iter);
            objects
                .filter(|object| shortcoming(self.rules, object, *request, &node.labels).is_none())
                .max_by_key(|object| object.largest_volume().map(Quantity::nanos))
        });
        largest
            .take(self.objects_max)
            .map(|object| {
                let why = format!("large enough, but for StorageClass {}", object.class);
                self.object_view(object, ObjectVerdict::OtherClass, why)
            })
            .collect()
    }

    fn view(&self, object: &Capacity, node: &Node) -> ObjectView {
        let (seen, why) = match &self.delayed.demand {
            Demand::Request(request) => self.evaluate(
                object,
                node,
                shortcoming(self.rules, object, *request, &node.labels),
            ),
            Demand::Unchecked(_) | Demand::Unreadable(_) => (
                ObjectVerdict::NotRead,
                "is ignored: capacity is not checked".to_owned(),
            ),
        };
        self.object_view(object, seen, why)
    }

    fn evaluate(
        &self,
        object: &Capacity,
        node: &Node,
        found: Option<Shortcoming>,
    ) -> (ObjectVerdict, String) {
        let field = self.limit_field(object);
        match found {
            None => (ObjectVerdict::Suffices, format!("{field} is large enough")),
            Some(Shortcoming::NothingSet) => (ObjectVerdict::NoLimit, format!("{field} is unset")),
            Some(Shortcoming::TooSmall {
                largest: limit,
                request,
            }) => {
                let elsewhere = if object.topology.admits(&node.labels) {
                    ""
                } else {
                    ", and the object is not accessible from this node"
                };
                let why = format!(
                    "{field} {} is less than {}{elsewhere}",
                    format_bytes(limit),
                    format_bytes(request)
                );
                (ObjectVerdict::TooSmall, why)
            }
            Some(Shortcoming::NoTopology) => (
                ObjectVerdict::NoTopology,
                "nodeTopology is unset, so it matches no node".to_owned(),
            ),
            Some(Shortcoming::InvalidTopology(error)) => (ObjectVerdict::InvalidTopology, error.to_string()),
            Some(Shortcoming::TopologyMismatch) => {
                (ObjectVerdict::OtherTopology, unmatched_label(object, node))
            }
        }
    }

    /// The field of the object (`maximumVolumeSize` or `capacity`) that is compared with the size that the PVC requests.
    fn limit_field(&self, object: &Capacity) -> &'static str {
        match (object.maximum, object.capacity) {
            (Some(_), _) if !self.rules.ignores_maximum_volume_size => "maximumVolumeSize",
            (_, Some(_)) => "capacity",
            _ if self.rules.ignores_maximum_volume_size => "capacity",
            _ => "capacity and maximumVolumeSize",
        }
    }

    fn object_view(&self, object: &Capacity, seen: ObjectVerdict, why: String) -> ObjectView {
        let text = |quantity: Option<Quantity>| {
            quantity.map(|quantity| format_bytes(quantity.bytes(ByteConversion::Exact)))
        };
        ObjectView {
            object: object.key.to_string(),
            class: object.class.clone(),
            topology: object.topology.to_string(),
            capacity: text(object.capacity),
            maximum_volume_size: text(object.maximum),
            seen,
            why,
        }
    }
}

/// Describes the node's label, or missing label, because of which the object's topology does not match the node.
fn unmatched_label(object: &Capacity, node: &Node) -> String {
    let NodeTopology::Matching(selector) = &object.topology else {
        return String::new();
    };
    let Some(unmet) = selector.unmet(&node.labels) else {
        return String::new();
    };
    match node.labels.get(unmet.key()) {
        Some(value) => format!("label {} is {value}, not {unmet}", unmet.key()),
        None => format!("label {} is missing, not {unmet}", unmet.key()),
    }
}
