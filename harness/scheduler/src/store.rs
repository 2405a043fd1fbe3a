//! Objects of one kind by key, with decisions in flight laid over them.
//!
//! Knows nothing about the kinds. Where objects come from and when a decision ends is the loop's business.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Object, ObjectKey};

/// A set of objects that follows a watch.
pub trait Collection<T: Object> {
    /// Adds or replaces an object and gives back the one that it replaces.
    fn put(&mut self, object: Arc<T>) -> Option<Arc<T>>;

    /// Removes an object and gives it back.
    fn take(&mut self, key: &ObjectKey) -> Option<Arc<T>>;

    /// The keys of all objects.
    fn keys(&self) -> Vec<ObjectKey>;
}

/// Objects of one kind, in the order of their keys.
#[derive(Clone, Debug)]
pub struct Store<T> {
    objects: BTreeMap<ObjectKey, Arc<T>>,
    assumed: BTreeMap<ObjectKey, Arc<T>>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            objects: BTreeMap::new(),
            assumed: BTreeMap::new(),
        }
    }
}

impl<T: Object> Store<T> {
    /// The object as decided: the assumed one while the stored one has not moved on, else the stored one.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.stored(key).map(|stored| self.as_decided(stored))
    }

    /// The object as the API server last delivered it.
    pub fn stored(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.objects.get(key)
    }

    /// All objects as decided, in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values().map(|stored| self.as_decided(stored))
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Lays a decision over a stored object: it must be a copy of that object, resource version included. The next
    /// version that the API server delivers ends it, so a decision never hides a change.
    pub fn assume(&mut self, decided: Arc<T>) {
        self.assumed.insert(decided.key().clone(), decided);
    }

    /// Drops the decision laid over an object, if there is one.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.assumed.remove(key);
    }

    fn as_decided<'a>(&'a self, stored: &'a Arc<T>) -> &'a Arc<T> {
        let assumed = self.assumed.get(stored.key());
        assumed
            .filter(|assumed| assumed.version() == stored.version())
            .unwrap_or(stored)
    }
}

impl<T: Object> Collection<T> for Store<T> {
    fn put(&mut self, object: Arc<T>) -> Option<Arc<T>> {
        self.objects.insert(object.key().clone(), object)
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<T>> {
        self.assumed.remove(key);
        self.objects.remove(key)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.objects.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects::Claim;

    fn claim(version: &str) -> Claim {
        let source =
            serde_json::json!({"metadata": {"name": "c", "namespace": "ns", "resourceVersion": version}});
        Claim::read(&serde_json::from_value(source).unwrap()).unwrap()
    }

    fn selected(store: &Store<Claim>) -> Option<&str> {
        store
            .get(&ObjectKey::namespaced("ns", "c"))
            .unwrap()
            .selected_node
            .as_deref()
    }

    #[test]
    fn a_decision_shows_until_the_object_moves_on_or_it_is_forgotten() {
        let mut store = Store::default();
        store.put(Arc::new(claim("1")));
        store.assume(Arc::new(claim("1").with_selected_node("n1")));
        assert_eq!(selected(&store), Some("n1"));
        assert_eq!(
            store
                .stored(&ObjectKey::namespaced("ns", "c"))
                .unwrap()
                .selected_node,
            None
        );

        store.put(Arc::new(claim("2")));
        assert_eq!(selected(&store), None, "a newer version wins over the decision");

        store.assume(Arc::new(claim("2").with_selected_node("n2")));
        store.forget(&ObjectKey::namespaced("ns", "c"));
        assert_eq!(selected(&store), None);
    }
}
