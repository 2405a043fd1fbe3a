//! Access of admission plugins in other crates to a transaction.

use super::txn::Txn;
use crate::config::options::ServerOptions;
use crate::kinds::Kind;
use crate::object::Object;
use crate::plugin::{Controller, Plugins, Transaction};
use rand::RngExt;
use serde_json::Value;
use std::sync::Arc;

impl Txn<'_> {
    /// The controllers of other crates.
    pub(crate) fn controllers(&self) -> Arc<[Arc<dyn Controller>]> {
        self.store.controllers.clone()
    }

    /// The admission plugins of other crates that are registered and enabled.
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
            .filter(|kind| kind.namespaced && kind.is_storage_version())
            .cloned()
            .collect()
    }

    fn object(&self, kind: &Kind, namespace: Option<&str>, name: &str) -> Option<Arc<Object>> {
        self.get(kind, &kind.key(namespace, name))
    }

    fn objects(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>> {
        self.in_namespace(kind, namespace)
    }

    fn write(&mut self, kind: &Kind, namespace: Option<&str>, name: &str, object: Value) {
        self.put(kind, &kind.key(namespace, name), object);
    }

    fn warn(&mut self, text: String) {
        self.warnings.push(text);
    }

    fn options(&self) -> &ServerOptions {
        self.options()
    }

    fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    fn random_below(&mut self, limit: u64) -> u64 {
        self.random().random_range(0..limit.max(1))
    }
}
