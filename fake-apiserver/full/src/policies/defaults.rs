//! Defaults of admission policies and bindings.

use fake_apiserver::extension::json::{self, default_member};
use serde_json::{Value, json};

pub(super) fn default_policy(policy: &mut Value) {
    default_member(&mut policy["spec"], "failurePolicy", "Fail");
    default_match_resources(policy, "matchConstraints");
}

pub(super) fn default_binding(binding: &mut Value) {
    default_match_resources(binding, "matchResources");
}

fn default_match_resources(object: &mut Value, name: &str) {
    let Some(constraints) = object.pointer_mut(&format!("/spec/{name}")) else {
        return;
    };
    if !constraints.is_object() {
        return;
    }
    default_selectors(constraints);
    for list in ["/resourceRules", "/excludeResourceRules"] {
        for rule in json::entries(constraints, list) {
            default_member(rule, "scope", "*");
        }
    }
}

fn default_selectors(of: &mut Value) {
    default_member(of, "matchPolicy", "Equivalent");
    default_member(of, "namespaceSelector", json!({}));
    default_member(of, "objectSelector", json!({}));
}
