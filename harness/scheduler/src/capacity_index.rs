//! Index of CSIStorageCapacity objects by StorageClass and by the labels that `nodeTopology` requires.
//!
//! Publishers write one object per class and topology segment, so only a few of a cluster's thousands of objects match a node. The index
//! finds these objects with one lookup per distinct set of label keys, largest first. Does not decide whether an object is sufficient.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use capacity_types::{ByteConversion, LabelSelector, NodeTopology, Requirement};

use crate::node_labels::{NodeLabels, combine_fingerprints, fingerprint_of};
use crate::objects::{Capacity, ObjectKey};
use crate::store::Collection;

/// All CSIStorageCapacity objects of a cluster.
#[derive(Clone, Debug, Default)]
pub struct CapacityIndex {
    objects: BTreeMap<ObjectKey, Arc<Capacity>>,
    classes: HashMap<String, ClassIndex>,
}

/// The objects of one class.
#[derive(Clone, Debug, Default)]
pub struct ClassIndex {
    /// Set of label keys → values of these labels → objects. Keys and values are stored as fingerprints.
    by_keys: BTreeMap<Box<[u64]>, HashMap<u64, Group>>,
    /// Objects whose `nodeTopology` requires no particular label value, such as `{}`.
    any_node: Group,
    /// Objects that no node can access: `nodeTopology` is unset or invalid.
    no_node: Group,
}

/// Objects with the same class and the same required labels, by descending size, then by namespace and name.
#[derive(Clone, Debug, Default)]
pub struct Group(BTreeSet<Ranked>);

/// A capacity object that sorts by descending size, then by namespace and name.
#[derive(Clone, Debug)]
struct Ranked(Arc<Capacity>);

/// Where the index stores an object.
enum IndexSlot {
    /// In `by_keys`: the set of label keys, and the fingerprint of each allowed combination of values.
    ByLabels(Box<[u64]>, Vec<u64>),
    AnyNode,
    NoNode,
}

impl CapacityIndex {
    /// The objects of a class; `None` if there are none.
    pub fn of_class(&self, class: &str) -> Option<&ClassIndex> {
        self.classes.get(class)
    }

    /// The objects of a class that are accessible from a node with these labels.
    pub fn accessible_from<'a>(
        &'a self,
        class: &str,
        labels: &'a NodeLabels,
    ) -> impl Iterator<Item = &'a Arc<Capacity>> {
        let candidates = self
            .of_class(class)
            .into_iter()
            .flat_map(|of_class| of_class.candidates(labels));
        let objects = candidates.flat_map(Group::iter);
        objects.filter(|object| object.topology.admits(labels))
    }

    /// All capacity objects, by namespace and name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Capacity>> {
        self.objects.values()
    }

    /// Number of capacity objects in all classes.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    fn remove_from_slots(&mut self, object: &Arc<Capacity>) {
        let Some(of_class) = self.classes.get_mut(&object.class) else {
            return;
        };
        let ranked = Ranked(Arc::clone(object));
        match IndexSlot::of(&object.topology) {
            IndexSlot::NoNode => drop(of_class.no_node.0.remove(&ranked)),
            IndexSlot::AnyNode => drop(of_class.any_node.0.remove(&ranked)),
            IndexSlot::ByLabels(keys, labels) => of_class.remove_listed(&keys, &labels, &ranked),
        }
        if of_class.is_empty() {
            self.classes.remove(&object.class);
        }
    }

    fn insert_into_slots(&mut self, object: &Arc<Capacity>) {
        if !self.classes.contains_key(&object.class) {
            self.classes.insert(object.class.clone(), ClassIndex::default());
        }
        let Some(of_class) = self.classes.get_mut(&object.class) else {
            return;
        };
        let ranked = Ranked(Arc::clone(object));
        match IndexSlot::of(&object.topology) {
            IndexSlot::NoNode => drop(of_class.no_node.0.insert(ranked)),
            IndexSlot::AnyNode => drop(of_class.any_node.0.insert(ranked)),
            IndexSlot::ByLabels(keys, labels) => {
                let by_labels = of_class.by_keys.entry(keys).or_default();
                for label in labels {
                    by_labels.entry(label).or_default().0.insert(ranked.clone());
                }
            }
        }
    }
}

impl ClassIndex {
    /// Groups that together contain every object accessible from a node with these labels, and possibly inaccessible objects.
    pub fn candidates<'a>(&'a self, labels: &'a NodeLabels) -> impl Iterator<Item = &'a Group> {
        let listed = self
            .by_keys
            .iter()
            .filter_map(|(keys, by_labels)| by_labels.get(&labels.combined_fingerprint(keys)?));
        listed.chain([&self.any_node])
    }

    fn is_empty(&self) -> bool {
        self.by_keys.is_empty() && self.any_node.0.is_empty() && self.no_node.0.is_empty()
    }

    fn remove_listed(&mut self, keys: &[u64], labels: &[u64], object: &Ranked) {
        let Some(by_labels) = self.by_keys.get_mut(keys) else {
            return;
        };
        for label in labels {
            if let Some(group) = by_labels.get_mut(label) {
                group.0.remove(object);
                if group.0.is_empty() {
                    by_labels.remove(label);
                }
            }
        }
        if by_labels.is_empty() {
            self.by_keys.remove(keys);
        }
    }
}

impl Group {
    /// The capacity objects of the group, by descending size.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Capacity>> {
        self.0.iter().map(|Ranked(object)| object)
    }
}

impl Ranked {
    fn rank(&self) -> (Reverse<Option<i128>>, &ObjectKey) {
        let limit = self
            .0
            .largest_volume()
            .map(|limit| limit.bytes(ByteConversion::Exact));
        (Reverse(limit), &self.0.key)
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

impl IndexSlot {
    fn of(topology: &NodeTopology) -> Self {
        match topology {
            NodeTopology::Unset | NodeTopology::Invalid(_) => Self::NoNode,
            NodeTopology::Matching(selector) => Self::from_selector(selector).unwrap_or(Self::AnyNode),
        }
    }

    /// The slot of a selector: by all labels with exactly one allowed value, else by the label with the fewest allowed values. `None` if
    /// the selector lists no allowed values.
    fn from_selector(selector: &LabelSelector) -> Option<Self> {
        let listing = |requirement: &&Requirement| requirement.in_values().is_some();
        let mut listed: Vec<&Requirement> = selector.requirements().iter().filter(listing).collect();
        let count = |requirement: &&Requirement| requirement.in_values().map_or(0, <[String]>::len);
        listed.sort_by(|left, right| (count(left), left.key()).cmp(&(count(right), right.key())));
        let singles = listed.partition_point(|requirement| count(requirement) == 1);
        let label = |requirement: &Requirement, value: &String| {
            combine_fingerprints(0, fingerprint_of(&(requirement.key(), value)))
        };
        if singles == 0 {
            let fewest = listed.first()?;
            let labels = fewest.in_values()?.iter().map(|value| label(fewest, value));
            return Some(Self::ByLabels(
                [fingerprint_of(&fewest.key())].into(),
                labels.collect(),
            ));
        }
        listed.truncate(singles);
        // A selector that requires two values for one label matches no node, so the index may use only the first value.
        listed.dedup_by_key(|requirement| requirement.key());
        let keys = listed
            .iter()
            .map(|requirement| fingerprint_of(&requirement.key()));
        let combined_fingerprint = listed.iter().fold(0, |combined, requirement| {
            let value = requirement.in_values().and_then(<[String]>::first);
            combine_fingerprints(
                combined,
                fingerprint_of(&(requirement.key(), value.map_or("", String::as_str))),
            )
        });
        Some(Self::ByLabels(keys.collect(), vec![combined_fingerprint]))
    }
}

impl Collection<Capacity> for CapacityIndex {
    fn put(&mut self, object: Arc<Capacity>) -> Option<Arc<Capacity>> {
        let old = self.take(&object.key);
        self.insert_into_slots(&object);
        self.objects.insert(object.key.clone(), object);
        old
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Capacity>> {
        let old = self.objects.remove(key)?;
        self.remove_from_slots(&old);
        Some(old)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.objects.keys().cloned().collect()
    }
}
