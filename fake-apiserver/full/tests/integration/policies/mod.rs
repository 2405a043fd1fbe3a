//! Tests of validating and mutating admission policies.

mod mutating;
mod objects;
mod parameters;
mod validating;

use super::client::{TestResponse, TestServer};
use serde_json::{Value, json};

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

/// Match constraints of a policy that select Deployments.
fn deployments() -> Value {
    json!({"resourceRules": [{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"],
        "resources": ["deployments"]}]})
}

/// Creates a validating policy and a binding. The policy matches Deployments unless `spec` overrides the match constraints.
async fn register_validating(wire: &TestServer, spec: Value, binding: Value) {
    let mut whole = json!({"matchConstraints": deployments()});
    merge(&mut whole, spec);
    let policies = format!("{GROUP}/validatingadmissionpolicies");
    wire.create(
        &policies,
        json!({"metadata": {"name": "p.example.com"}, "spec": whole}),
    )
    .await;
    let mut bound = json!({"policyName": "p.example.com", "validationActions": ["Deny"]});
    merge(&mut bound, binding);
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings");
    wire.create(
        &bindings,
        json!({"metadata": {"name": "b.example.com"}, "spec": bound}),
    )
    .await;
}

/// Creates a mutating policy for Deployments, and a binding of the policy.
async fn register_mutating(wire: &TestServer, name: &str, spec: Value) {
    let mut whole = json!({"matchConstraints": deployments(), "reinvocationPolicy": "Never"});
    whole["matchConstraints"]["resourceRules"][0]["operations"] = json!(["CREATE", "UPDATE"]);
    merge(&mut whole, spec);
    let policies = format!("{GROUP}/mutatingadmissionpolicies");
    wire.create(&policies, json!({"metadata": {"name": name}, "spec": whole}))
        .await;
    let bindings = format!("{GROUP}/mutatingadmissionpolicybindings");
    wire.create(
        &bindings,
        json!({"metadata": {"name": name}, "spec": {"policyName": name}}),
    )
    .await;
}

/// The causes of an error response, as `field: message`.
fn causes(answer: &TestResponse) -> Vec<String> {
    let all = answer.body["details"]["causes"].as_array();
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    all.into_iter()
        .flatten()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}

fn merge(under: &mut Value, over: Value) {
    let (Value::Object(under), Value::Object(over)) = (under, over) else {
        panic!("members are in an object");
    };
    under.extend(over);
}

fn apply_configuration_mutation(expression: &str) -> Value {
    json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}})
}

fn json_patch_mutation(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn deployment(name: &str, replicas: u32) -> Value {
    let labels = json!({"app": name});
    let container = json!({"name": "c", "image": "example.com/app:1"});
    json!({"metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }})
}
