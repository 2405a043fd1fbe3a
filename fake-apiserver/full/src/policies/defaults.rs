//! Defaults of admission policies and bindings.

use fake_apiserver::extension::json::{self, default_member};
use serde_json::{Value, json};

pub(super) fn policy(policy: &mut Value) {
    default_member(&mut policy["spec"], "failurePolicy", "Fail");
    constraints(policy, "matchConstraints");
}

pub(super) fn binding(binding: &mut Value) {
    constraints(binding, "matchResources");
}

fn constraints(object: &mut Value, name: &str) {
    let Some(constraints) = object.pointer_mut(&format!("/spec/{name}")) else {
        return;
    };
    if !constraints.is_object() {
        return;
    }
    selection(constraints);
    for list in ["/resourceRules", "/excludeResourceRules"] {
        for rule in json::entries(constraints, list) {
            default_member(rule, "scope", "*");
        }
    }
}

fn selection(of: &mut Value) {
    default_member(of, "matchPolicy", "Equivalent");
    default_member(of, "namespaceSelector", json!({}));
    default_member(of, "objectSelector", json!({}));
}
