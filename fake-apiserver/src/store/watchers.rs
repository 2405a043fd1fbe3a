//! The open watches of one resource, indexed by the namespace and name that they select.
//!
//! Owns the index: a write does not visit watches of other objects. Does not evaluate selectors.

use super::watcher::Watcher;
use std::collections::HashMap;
use std::sync::Arc;

#[derive(Default)]
pub(super) struct Watchers {
    everywhere: WatchersByName,
    by_namespace: HashMap<Box<str>, WatchersByName>,
}

/// The watches in one namespace, of all objects or of a single name.
#[derive(Default)]
struct WatchersByName {
    every: Vec<Arc<Watcher>>,
    by_name: HashMap<Box<str>, Vec<Arc<Watcher>>>,
}

impl Watchers {
    pub(super) fn add(&mut self, watcher: Arc<Watcher>) {
        let names = match watcher.selection.single_namespace() {
            None => &mut self.everywhere,
            Some(namespace) => self.by_namespace.entry(namespace.into()).or_default(),
        };
        match watcher.selection.single_name().map(Box::from) {
            None => names.every.push(watcher),
            Some(name) => names.by_name.entry(name).or_default().push(watcher),
        }
    }

    pub(super) fn remove(&mut self, watcher: &Arc<Watcher>) {
        let (namespace, name) = (
            watcher.selection.single_namespace(),
            watcher.selection.single_name(),
        );
        let Some(namespace) = namespace else {
            return self.everywhere.remove(watcher, name);
        };
        if let Some(names) = self.by_namespace.get_mut(namespace) {
            names.remove(watcher, name);
            if names.every.is_empty() && names.by_name.is_empty() {
                self.by_namespace.remove(namespace);
            }
        }
    }

    /// All watches that may select the object with this namespace and name.
    pub(super) fn watches_of_object<'a>(
        &'a self,
        namespace: &str,
        name: &'a str,
    ) -> impl Iterator<Item = &'a Arc<Watcher>> {
        let name_sets = [Some(&self.everywhere), self.by_namespace.get(namespace)];
        name_sets.into_iter().flatten().flat_map(move |names| {
            let named = names.by_name.get(name).into_iter().flatten();
            names.every.iter().chain(named)
        })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Watcher>> {
        let name_sets = std::iter::once(&self.everywhere).chain(self.by_namespace.values());
        name_sets.flat_map(|names| names.every.iter().chain(names.by_name.values().flatten()))
    }
}

impl WatchersByName {
    fn remove(&mut self, watcher: &Arc<Watcher>, name: Option<&str>) {
        let Some(name) = name else {
            return remove_watcher(&mut self.every, watcher);
        };
        if let Some(named) = self.by_name.get_mut(name) {
            remove_watcher(named, watcher);
            if named.is_empty() {
                self.by_name.remove(name);
            }
        }
    }
}

fn remove_watcher(watchers: &mut Vec<Arc<Watcher>>, watcher: &Arc<Watcher>) {
    if let Some(at) = watchers.iter().position(|it| Arc::ptr_eq(it, watcher)) {
        watchers.swap_remove(at);
    }
}
