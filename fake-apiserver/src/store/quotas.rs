//! What quotas say is used: every commit keeps it right.
//!
//! Owns the sums. What an object uses is in `kinds::usage`; who is refused is decided in `verbs`.

use super::Txn;
use crate::kinds::{Kind, RESOURCE_QUOTA, usage};
use crate::machinery::amounts::Amounts;
use crate::machinery::{json, metadata};
use serde_json::Value;

impl Txn<'_> {
    /// Counts a change of an object in the quotas of its namespace.
    pub(super) fn account(&mut self, kind: &Kind, old: Option<&Value>, new: Option<&Value>) {
        let namespace = new
            .or(old)
            .map_or("", |object| metadata::text(object, "namespace"));
        if namespace.is_empty() || !self.has_any(&RESOURCE_QUOTA) {
            return;
        }
        for quota in self.in_namespace(&RESOURCE_QUOTA, namespace) {
            let of = |object: Option<&Value>| {
                object.map_or_else(Amounts::default, |object| {
                    usage::counted(quota.value(), kind, object)
                })
            };
            let mut change = of(new);
            change.subtract(&of(old));
            let change = change.filtered(|_, amount| !amount.is_zero());
            if change.is_empty() {
                continue;
            }
            let mut used = Amounts::read(&quota.value()["status"]["used"]);
            used.add(&change);
            self.put_used(quota.value(), &used);
        }
    }

    /// Counts everything in the namespace of a quota that is new or has other limits.
    pub(crate) fn recount(&mut self, key: &str) {
        let Some(quota) = self.get(&RESOURCE_QUOTA, key) else {
            return;
        };
        let hard = &quota.value()["spec"]["hard"];
        let mut counted = quota.value().clone();
        json::assign(json::slot(&mut counted, "status"), "hard", hard.clone());
        let namespace = metadata::text(quota.value(), "namespace");
        let mut used = Amounts::default();
        let api = self.api();
        let kinds = api
            .catalogue
            .kinds()
            .filter(|kind| kind.namespaced && kind.is_stored());
        for kind in kinds {
            let names = hard.as_object().into_iter().flatten();
            let names: Vec<&String> = names
                .map(|(name, _)| name)
                .filter(|name| usage::tracks(kind, name))
                .collect();
            for name in &names {
                used.add_one(name, &"0".parse().expect("zero is a quantity"));
            }
            if names.is_empty() {
                continue;
            }
            for object in self.in_namespace(kind, namespace) {
                used.add(&object.look(|value| usage::counted(&counted, kind, value)));
            }
        }
        self.put_used(&counted, &used);
    }

    fn put_used(&mut self, quota: &Value, used: &Amounts) {
        let mut changed = quota.clone();
        json::assign(json::slot(&mut changed, "status"), "used", used.to_value());
        let key = RESOURCE_QUOTA.key(
            Some(metadata::text(quota, "namespace")),
            metadata::text(quota, "name"),
        );
        let is_new = self
            .get(&RESOURCE_QUOTA, &key)
            .is_some_and(|present| *present.value() != changed);
        if is_new {
            self.put(&RESOURCE_QUOTA, &key, changed);
        }
    }
}
