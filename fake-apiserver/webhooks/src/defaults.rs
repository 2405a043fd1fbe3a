//! Defaults of webhook configurations.

use fake_apiserver::extension::json::{self, default_member};
use serde_json::{Value, json};

/// Sets the defaults of a webhook configuration. Only mutating webhooks have a `reinvocationPolicy`.
pub(crate) fn default_webhooks(configuration: &mut Value, mutating: bool) {
    for hook in json::entries(configuration, "/webhooks") {
        default_member(hook, "failurePolicy", "Fail");
        selectors(hook);
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

fn selectors(of: &mut Value) {
    default_member(of, "matchPolicy", "Equivalent");
    default_member(of, "namespaceSelector", json!({}));
    default_member(of, "objectSelector", json!({}));
}
