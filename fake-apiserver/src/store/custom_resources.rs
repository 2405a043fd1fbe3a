//! Adding and removing custom resources.
//!
//! Owns the table indexes of custom resources, and ends watches and converts objects when a CRD changes. Does not read CRDs.

use super::ResourceTable;
use super::txn::Txn;
use crate::kinds::Kind;
use crate::machinery::intern;
use crate::observe::WatchEnd;
use serde_json::Value;
use std::sync::Arc;

impl Txn<'_> {
    /// The table index of a custom resource; a new index is allocated if it has none.
    pub(crate) fn allocate_table(&mut self, group: &str, plural: &str) -> usize {
        let resource = (intern::name(group), intern::name(plural));
        let state = &mut *self.state;
        let next = state.tables.len();
        let index = *state.numbers.entry(resource).or_insert(next);
        if index == next {
            state.tables.push(ResourceTable::default());
            state.history.add_log();
        }
        index
    }

    /// Starts serving all versions of a custom resource. Ends watches of its previous versions.
    pub(crate) fn serve(&mut self, kinds: Vec<Kind>) {
        let Some(table_index) = kinds.first().map(Kind::table_index) else {
            return;
        };
        self.change_served_resources(table_index, |api| {
            api.catalogue = Arc::new(api.catalogue.with_custom_resource(kinds));
        });
    }

    /// Stops serving a custom resource and ends its watches.
    pub(crate) fn stop_serving(&mut self, group: &str, plural: &str) {
        let table_index = self
            .api()
            .catalogue
            .find_resource(group, plural)
            .map(Kind::table_index);
        if let Some(table_index) = table_index {
            self.change_served_resources(table_index, |api| {
                api.catalogue = Arc::new(api.catalogue.without_custom_resource(group, plural));
            });
        }
    }

    /// Replaces stored objects by the result of `form`, `None` if unchanged. Sends no watch events; resourceVersions remain.
    pub(crate) fn rewrite_objects(&mut self, table_index: usize, form: impl Fn(&Value) -> Option<Value>) {
        let objects = &mut self.state.tables[table_index].objects;
        let formed = objects.iter().filter_map(|(key, object)| {
            let value = object.read_value(&form)?;
            Some((
                key.clone(),
                object.replace_value(value, object.revision).serialized_only(),
            ))
        });
        for (key, object) in formed.collect::<Vec<_>>() {
            objects.insert(key, object);
        }
    }

    fn change_served_resources(&mut self, table_index: usize, change: impl FnOnce(&mut crate::kinds::Api)) {
        change(&mut self.store.api.write());
        let state = &mut *self.state;
        state.owners.unpark();
        for watcher in state.tables[table_index].watchers.all() {
            watcher.end(WatchEnd::Unserved, &self.store.activity);
        }
    }
}
