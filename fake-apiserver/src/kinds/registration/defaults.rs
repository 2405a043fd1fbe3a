//! Defaults of admission webhooks.

use crate::machinery::json::{self, default_member};
use serde_json::{Value, json};

/// Defaults of a webhook configuration; only mutating webhooks have a reinvocation policy.
pub(in crate::kinds) fn webhooks(configuration: &mut Value, mutating: bool) {
    for hook in json::entries(configuration, "/webhooks") {
        default_member(hook, "failurePolicy", "Fail");
        selection(hook);
        default_member(hook, "timeoutSeconds", 10);
        if mutating {
            default_member(hook, "reinvocationPolicy", "Never");
        }
        if hook["clientConfig"]["service"].is_object() {
            default_member(&mut hook["clientConfig"]["service"], "port", 443);
        }
        for rule in json::entries(hook, "/rules") {
            default_member(rule, "scope", "*");
        }
    }
}

fn selection(of: &mut Value) {
    default_member(of, "matchPolicy", "Equivalent");
    default_member(of, "namespaceSelector", json!({}));
    default_member(of, "objectSelector", json!({}));
}
