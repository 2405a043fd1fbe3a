//! Updates `status.used` of ResourceQuotas with every write.

use fake_apiserver::extension::{Amounts, Kind, Transaction, json, metadata};
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

use super::{quotas, usage};

/// Updates the ResourceQuotas of the namespace after a write: adds the change in usage, and recounts a quota whose limits changed.
pub(super) fn update_quotas(
    txn: &mut dyn Transaction,
    kind: &Kind,
    old: Option<&Value>,
    new: Option<&Value>,
) {
    let Some(object) = new.or(old) else { return };
    let Some((quota_kind, quotas)) = quotas(txn, metadata::text(object, "namespace")) else {
        return;
    };
    let has_new_limits = |new: &Value| {
        kind.is_resource("", "resourcequotas")
            && old.is_none_or(|old| old["spec"]["hard"] != new["spec"]["hard"])
    };
    if let Some(quota) = new.filter(|new| has_new_limits(new)) {
        recount(txn, &quota_kind, quota);
    }
    for quota in quotas {
        let of = |object: Option<&Value>| {
            object.map_or_else(Amounts::default, |object| {
                usage::usage_under_quota(quota.value(), kind, object)
            })
        };
        let mut change = of(new);
        change.subtract(&of(old));
        let change = change.filtered(|_, amount| !amount.is_zero());
        if !change.is_empty() {
            let mut used = Amounts::read(&quota.value()["status"]["used"]);
            used.add(&change);
            write_used(txn, &quota_kind, quota.value(), &used);
        }
    }
}

/// Recomputes the usage of a ResourceQuota from all objects in its namespace.
fn recount(txn: &mut dyn Transaction, quota_kind: &Kind, quota: &Value) {
    let hard = &quota["spec"]["hard"];
    let mut counted = quota.clone();
    json::assign(
        json::member_or_insert_null(&mut counted, "status"),
        "hard",
        hard.clone(),
    );
    let namespace = metadata::text(quota, "namespace");
    let mut used = Amounts::default();
    for kind in txn.namespaced_kinds() {
        let names = hard.as_object().into_iter().flatten();
        let names: Vec<&String> = names
            .map(|(name, _)| name)
            .filter(|name| usage::tracks(&kind, name))
            .collect();
        for name in &names {
            used.add_one(name, &Quantity::from_integer(0));
        }
        if !names.is_empty() {
            for object in txn.objects(&kind, Some(namespace)) {
                used.add(&usage::usage_under_quota(&counted, &kind, object.value()));
            }
        }
    }
    write_used(txn, quota_kind, &counted, &used);
}

fn write_used(txn: &mut dyn Transaction, kind: &Kind, quota: &Value, used: &Amounts) {
    let mut changed = quota.clone();
    json::assign(
        json::member_or_insert_null(&mut changed, "status"),
        "used",
        used.to_value(),
    );
    let (namespace, name) = (metadata::text(quota, "namespace"), metadata::text(quota, "name"));
    let stored = txn.object(kind, Some(namespace), name);
    if stored.is_some_and(|stored| *stored.value() != changed) {
        txn.write(kind, Some(namespace), name, changed);
    }
}
