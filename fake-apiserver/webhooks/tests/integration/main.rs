//! Tests of admission webhooks through the API of a server: when webhooks are called, and how their responses are handled.

#![expect(clippy::unwrap_used, reason = "a panic fails the test and names its line")]

#[path = "../../../tests/integration/wire/client.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod client;
mod configurations;
mod custom;
#[path = "../../../apiextensions/tests/integration/custom/fixtures.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod custom_resources;
#[path = "../../../tests/integration/wire/envelope.rs"]
#[expect(dead_code, reason = "other test crates use the rest of this module")]
mod envelope;
mod mutating;
mod reaching;
mod validating;
mod webhook_server;

use client::TestServer;
use fake_apiserver::extension::Extension;
use serde_json::{Value, json};
use webhook_server::Hook;

fn extensions() -> Vec<Extension> {
    vec![
        fake_apiserver_apiextensions::extension(),
        fake_apiserver_webhooks::extension(),
    ]
}

const VALIDATING: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MUTATING: &str = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

/// The configuration of a webhook for all ConfigMap writes. `own`: additional members of the configuration.
fn hook(name: &str, client: Value, own: Value) -> Value {
    let rule =
        json!({"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    let mut hook = json!({
        "name": format!("{name}.example.com"), "clientConfig": {}, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    });
    hook["clientConfig"] = client;
    let Value::Object(own) = own else {
        panic!("members are in an object");
    };
    for (member, value) in own {
        hook[member] = value;
    }
    hook
}

async fn register(wire: &TestServer, path: &str, name: &str, hooks: Vec<Value>) {
    wire.create(path, json!({"metadata": {"name": name}, "webhooks": hooks}))
        .await;
}

/// Creates a configuration with one validating webhook for ConfigMaps.
async fn register_validating(wire: &TestServer, hook_server: &Hook, own: Value) {
    let hooks = vec![hook("validates", hook_server.client("/validate"), own)];
    register(wire, VALIDATING, "validates", hooks).await;
}

/// Creates a configuration with one mutating webhook for ConfigMaps.
async fn register_mutating(wire: &TestServer, hook_server: &Hook, own: Value) {
    let hooks = vec![hook("mutates", hook_server.client("/mutate"), own)];
    register(wire, MUTATING, "mutates", hooks).await;
}

fn config_map(name: &str, data: Value) -> Value {
    let mut object = json!({"metadata": {"name": name}});
    object["data"] = data;
    object
}

fn denied(message: &str) -> Value {
    json!({"allowed": false, "status": {"message": message}})
}
