//! Objects of one kind by key, with changes of this scheduler that it assumes until a watch delivers them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::objects::{Object, ObjectKey};

/// A set of objects that is updated from a watch.
pub trait Collection<T: Object> {
    /// Adds or replaces an object. Returns the replaced object.
    fn put(&mut self, object: Arc<T>) -> Option<Arc<T>>;

    /// Removes and returns an object.
    fn take(&mut self, key: &ObjectKey) -> Option<Arc<T>>;

    /// The keys of all objects.
    fn keys(&self) -> Vec<ObjectKey>;
}

/// Objects of one kind, sorted by key.
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
    /// The object with this key: the assumed version until the watch delivers a newer one.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.stored(key).map(|stored| self.with_assumed(stored))
    }

    /// The object with this key as the watch last delivered it.
    pub fn stored(&self, key: &ObjectKey) -> Option<&Arc<T>> {
        self.objects.get(key)
    }

    /// All objects, including assumed versions, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.objects.values().map(|stored| self.with_assumed(stored))
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether the store is empty.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Assumes a change. `assumed` must be a copy of the stored object with the same resource version. The next version from the watch
    /// replaces the assumed one, so it never hides a newer object.
    pub fn assume(&mut self, assumed: Arc<T>) {
        self.assumed.insert(assumed.key().clone(), assumed);
    }

    /// Drops the assumed version of an object, if any.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.assumed.remove(key);
    }

    fn with_assumed<'a>(&'a self, stored: &'a Arc<T>) -> &'a Arc<T> {
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
    fn an_assumed_version_is_returned_until_the_watch_updates_it_or_it_is_forgotten() {
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
        assert_eq!(selected(&store), None, "a newer version replaces the assumed one");

        store.assume(Arc::new(claim("2").with_selected_node("n2")));
        store.forget(&ObjectKey::namespaced("ns", "c"));
        assert_eq!(selected(&store), None);
    }
}
