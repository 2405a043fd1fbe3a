//! CSIStorageCapacity objects by class and by the label that their topology pins.
//!
//! Publishers write one object per class and topology segment, so on a node only a handful of the thousands of objects
//! of a cluster can matter. Whether one of those suffices is not decided here.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Capacity, ObjectKey};
use crate::requirement::Labels;
use crate::selector::Topology;
use crate::store::Collection;

type ByKey = BTreeMap<ObjectKey, Arc<Capacity>>;

/// All CSIStorageCapacity objects of a cluster.
#[derive(Clone, Debug, Default)]
pub struct CapacityIndex {
    objects: ByKey,
    classes: BTreeMap<String, OfClass>,
}

/// The objects of one class.
#[derive(Clone, Debug, Default)]
struct OfClass {
    /// Objects whose topology demands a label with one certain value: by label key, then by that value.
    pinned: BTreeMap<String, BTreeMap<String, ByKey>>,
    /// All others.
    unpinned: ByKey,
}

impl CapacityIndex {
    /// The objects of a class that may be accessible from a node with these labels: every accessible one, and possibly
    /// some that are not.
    pub fn candidates<'a>(
        &'a self,
        class: &str,
        labels: &'a Labels,
    ) -> impl Iterator<Item = &'a Arc<Capacity>> {
        self.classes.get(class).into_iter().flat_map(|of_class| {
            let by_label = of_class.pinned.iter();
            let pinned = by_label.filter_map(|(key, by_value)| by_value.get(labels.get(key)?));
            pinned.chain([&of_class.unpinned]).flat_map(BTreeMap::values)
        })
    }

    /// All objects of a class.
    pub fn of_class(&self, class: &str) -> impl Iterator<Item = &Arc<Capacity>> {
        self.classes.get(class).into_iter().flat_map(|of_class| {
            let pinned = of_class.pinned.values().flat_map(BTreeMap::values);
            pinned.chain([&of_class.unpinned]).flat_map(BTreeMap::values)
        })
    }

    /// How many objects there are in all classes together.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    fn unlink(&mut self, object: &Capacity) {
        let Some(of_class) = self.classes.get_mut(&object.class) else {
            return;
        };
        match pinned_label(object) {
            Some((key, value)) => of_class.forget_pinned(key, value, &object.key),
            None => {
                of_class.unpinned.remove(&object.key);
            }
        }
        if of_class.pinned.is_empty() && of_class.unpinned.is_empty() {
            self.classes.remove(&object.class);
        }
    }

    fn link(&mut self, object: Arc<Capacity>) {
        let of_class = self.classes.entry(object.class.clone()).or_default();
        let group = match pinned_label(&object) {
            Some((key, value)) => {
                let by_value = of_class.pinned.entry(key.to_owned()).or_default();
                by_value.entry(value.to_owned()).or_default()
            }
            None => &mut of_class.unpinned,
        };
        group.insert(object.key.clone(), object);
    }
}

impl OfClass {
    fn forget_pinned(&mut self, key: &str, value: &str, object: &ObjectKey) {
        let Some(by_value) = self.pinned.get_mut(key) else {
            return;
        };
        if let Some(group) = by_value.get_mut(value) {
            group.remove(object);
            if group.is_empty() {
                by_value.remove(value);
            }
        }
        if by_value.is_empty() {
            self.pinned.remove(key);
        }
    }
}

impl Collection<Capacity> for CapacityIndex {
    fn put(&mut self, object: Arc<Capacity>) -> Option<Arc<Capacity>> {
        let old = self.take(&object.key);
        self.objects.insert(object.key.clone(), Arc::clone(&object));
        self.link(object);
        old
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Capacity>> {
        let old = self.objects.remove(key)?;
        self.unlink(&old);
        Some(old)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.objects.keys().cloned().collect()
    }
}

fn pinned_label(object: &Capacity) -> Option<(&str, &str)> {
    match &object.topology {
        Topology::Matching(selector) => selector.pinned_label(),
        Topology::Unset | Topology::Invalid(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;

    fn capacity(name: &str, class: &str, topology: &Value) -> Arc<Capacity> {
        let source = json!({"metadata": {"name": name, "namespace": "ns"}, "storageClassName": class, "nodeTopology": topology});
        Arc::new(Capacity::read(&serde_json::from_value(source).unwrap()).unwrap())
    }

    fn topologies() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(json!({})),
            ("[ab]", "[xy]").prop_map(|(key, value)| json!({"matchLabels": {key: value}})),
            ("[ab]", "[xy]").prop_map(
                |(key, value)| json!({"matchExpressions": [{"key": key, "operator": "NotIn", "values": [value]}]})
            ),
            ("[xy]", "[xy]").prop_map(|(a, b)| json!({"matchLabels": {"a": a, "b": b}})),
        ]
    }

    proptest! {
        /// Puts, replacements and removals in any order leave an index that finds what a scan finds.
        #[test]
        fn the_index_finds_what_a_scan_finds(
            steps in proptest::collection::vec(("[a-d]", "[cd]", topologies(), any::<bool>()), 0..12),
            labels in proptest::collection::btree_map("[ab]", "[xy]", 0..3),
        ) {
            let mut index = CapacityIndex::default();
            for (name, class, topology, removed) in &steps {
                index.put(capacity(name, class, topology));
                if *removed {
                    index.take(&ObjectKey::namespaced("ns", name));
                }
            }
            for class in ["c", "d"] {
                let accessible = |object: &&Arc<Capacity>| object.topology.admits(&labels);
                let mut found: Vec<_> = index.candidates(class, &labels).filter(accessible).map(|object| &object.key).collect();
                let scan = index.objects.values().filter(|object| object.class == class);
                let scanned: Vec<_> = scan.filter(accessible).map(|object| &object.key).collect();
                found.sort();
                prop_assert_eq!(found, scanned);
            }
            let linked: usize = ["c", "d"].iter().map(|class| index.of_class(class).count()).sum();
            prop_assert_eq!(linked, index.len());
        }
    }
}
