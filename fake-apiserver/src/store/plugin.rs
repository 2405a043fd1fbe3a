//! Access of admission plugins in other crates to a transaction.

use super::txn::Txn;
use crate::kinds::Kind;
use crate::object::Object;
use crate::plugin::{Plugins, Transaction};
use serde_json::Value;
use std::sync::Arc;

impl Txn<'_> {
    /// The registered and enabled plugins.
    pub(crate) fn plugins(&self) -> Plugins {
        self.store.plugins.clone()
    }
}

impl Transaction for Txn<'_> {
    fn kind(&self, group: &str, plural: &str) -> Option<Kind> {
        self.api().catalogue.find_resource(group, plural).cloned()
    }

    fn namespaced_kinds(&self) -> Vec<Kind> {
        let api = self.api();
        let kinds = api.catalogue.kinds();
        kinds
            .filter(|kind| kind.namespaced && kind.is_stored())
            .cloned()
            .collect()
    }

    fn object(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Arc<Object>> {
        self.get(kind, &kind.key(namespace, name))
    }

    fn objects(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>> {
        match namespace {
            Some(namespace) => self.in_namespace(kind, namespace),
            None => self.snapshot(kind).objects.values().cloned().collect(),
        }
    }

    fn write(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value) {
        self.put(kind, &kind.key(namespace, name), object);
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }
}
