//! Changes of the state by CustomResourceDefinitions: resources that are added and removed.
//!
//! Owns the table indexes of custom resources, and ends watches and converts objects when a definition changes. Does not read definitions.

use super::txn::Txn;
use super::{Shelf, State};
use crate::kinds::Kind;
use crate::kinds::definition::Others;
use crate::machinery::intern;
use crate::observe::WatchEnd;
use serde_json::Value;
use std::sync::Arc;

impl State {
    /// The table index of a custom resource, allocated if it is new.
    fn number(&mut self, group: &str, plural: &str) -> usize {
        let place = (intern::name(group), intern::name(plural));
        let next = self.shelves.len();
        let number = *self.numbers.entry(place).or_insert(next);
        if number == next {
            self.shelves.push(Shelf::default());
            self.history.grow();
        }
        number
    }
}

impl Txn<'_> {
    /// The names of all other definitions in the group of this one.
    pub(crate) fn names_of_others(&self, definition: &Value) -> Others<'_> {
        self.state.names.of_others(definition)
    }

    /// Keys of the definitions of a group that still wait for names in use by another definition.
    pub(crate) fn definitions_without_names(&self, group: &str) -> Vec<String> {
        self.state.names.waiting(group)
    }

    /// The table index of a resource, allocated if it is new.
    pub(crate) fn resource_number(&mut self, group: &str, plural: &str) -> usize {
        self.state.number(group, plural)
    }

    /// Starts serving all versions of a custom resource. Ends watches of its previous versions.
    pub(crate) fn define(&mut self, kinds: Vec<Kind>) {
        let Some(shelf) = kinds.first().map(Kind::shelf) else {
            return;
        };
        self.change(shelf, |api| api.catalogue = Arc::new(api.catalogue.with(kinds)));
    }

    /// Stops serving a custom resource and ends its watches.
    pub(crate) fn undefine(&mut self, group: &str, plural: &str) {
        let shelf = self.api().catalogue.find_resource(group, plural).map(Kind::shelf);
        if let Some(shelf) = shelf {
            self.change(shelf, |api| {
                api.catalogue = Arc::new(api.catalogue.without(group, plural));
            });
        }
    }

    /// Rewrites the stored objects of a resource in another form. Watches see no event, and revisions do not change.
    pub(crate) fn reform(&mut self, shelf: usize, form: impl Fn(&Value) -> Option<Value>) {
        let objects = &mut self.state.shelves[shelf].objects;
        let formed = objects.iter().filter_map(|(key, object)| {
            let value = object.look(&form)?;
            Some((key.clone(), object.like(value, object.revision).unparsed()))
        });
        for (key, object) in formed.collect::<Vec<_>>() {
            objects.insert(key, object);
        }
    }

    fn change(&mut self, shelf: usize, change: impl FnOnce(&mut crate::kinds::Api)) {
        change(&mut self.store.api.write());
        let state = &mut *self.state;
        state.owners.unpark();
        for watcher in state.shelves[shelf].watchers.all() {
            watcher.end(WatchEnd::Unserved, &self.store.activity);
        }
    }
}
