//! Aggregated ClusterRoles: their rules are the rules of all ClusterRoles that their aggregationRule selects.
//!
//! Implements the clusterrole-aggregation controller of kube-controller-manager, in the transaction that changed a role.

use crate::kinds::CLUSTER_ROLE;
use crate::machinery::selector::LabelSelector;
use crate::store::Txn;
use serde_json::Value;

/// Updates the rules of all aggregated ClusterRoles. Because aggregated ClusterRoles can select each other, repeats the update until
/// nothing changes, at most once per role.
pub(crate) fn update_aggregated_roles(txn: &mut Txn<'_>) {
    let rounds = txn.snapshot(&CLUSTER_ROLE).objects.len();
    for _ in 0..rounds {
        if !update_outdated_roles(txn) {
            return;
        }
    }
}

/// Updates each outdated aggregated ClusterRole once. Returns whether any was outdated.
fn update_outdated_roles(txn: &mut Txn<'_>) -> bool {
    let roles = txn.snapshot(&CLUSTER_ROLE).objects;
    let mut changed = false;
    for (key, role) in &roles {
        let Some(selectors) = role.value()["aggregationRule"]["clusterRoleSelectors"].as_array() else {
            continue;
        };
        let selectors: Vec<LabelSelector> = selectors.iter().filter_map(LabelSelector::from_object).collect();
        let mut rules: Vec<Value> = Vec::new();
        for selector in &selectors {
            for (other, member) in &roles {
                if other != key && selector.matches(member.value()) {
                    let of_member = member.value()["rules"].as_array().into_iter().flatten();
                    let new: Vec<Value> = of_member.filter(|rule| !rules.contains(rule)).cloned().collect();
                    rules.extend(new);
                }
            }
        }
        let rules = if rules.is_empty() {
            Value::Null
        } else {
            rules.into()
        };
        if !has_same_rules(&role.value()["rules"], &rules) {
            let mut role = role.value().clone();
            role["rules"] = rules;
            txn.put(&CLUSTER_ROLE, key, role);
            changed = true;
        }
    }
    changed
}

/// Whether two lists contain the same rules in any order. The order is ignored because roles that select each other could otherwise rewrite
/// each other's list forever.
fn has_same_rules(one: &Value, other: &Value) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (one, other) = (list(one), list(other));
    one.len() == other.len() && one.iter().all(|rule| other.contains(rule))
}
