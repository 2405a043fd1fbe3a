//! CRDs, and paths of their custom resources, that several tests use.

use super::client::{TestResponse, TestServer};
use serde_json::{Value, json};

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
pub(crate) const FOOS: &str = "/apis/example.com/v1/namespaces/default/foos";

/// A CRD of a namespaced resource with one version.
pub(crate) fn definition(plural: &str, kind: &str, version: Value) -> Value {
    let mut definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": plural, "kind": kind}},
    });
    definition["spec"]["versions"] = vec![version].into();
    definition
}

/// The version `v1` of a CRD, an entry of `spec.versions`.
pub(crate) fn version(schema: Value) -> Value {
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {}});
    version["schema"]["openAPIV3Schema"] = schema;
    version
}

/// A CRD version whose schema has a spec with the given `properties`, and a status that preserves unknown fields.
pub(crate) fn with_spec(properties: Value) -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let mut schema = json!({"type": "object", "properties": {"spec": {"type": "object"}, "status": open}});
    schema["properties"]["spec"]["properties"] = properties;
    version(schema)
}

/// Creates the CRD of `foos` with the given version.
pub(crate) async fn foos(wire: &TestServer, version: Value) {
    wire.create(DEFINITIONS, definition("foos", "Foo", version)).await;
}

pub(crate) fn foo(name: &str, spec: Value) -> Value {
    let mut object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": name}});
    object["spec"] = spec;
    object
}

/// Status and reason of a condition of a CRD.
pub(crate) fn condition<'a>(definition: &'a Value, of: &str) -> (&'a str, &'a str) {
    let all = definition["status"]["conditions"].as_array();
    let found = all
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == of);
    let text = |name: &str| found.and_then(|found| found[name].as_str()).unwrap_or_default();
    (text("status"), text("reason"))
}

/// The causes of an error response, as `field: message`.
pub(crate) fn causes(answer: &TestResponse) -> Vec<String> {
    let all = answer.body["details"]["causes"].as_array();
    let text = |cause: &Value, name: &str| cause[name].as_str().unwrap_or_default().to_owned();
    all.into_iter()
        .flatten()
        .map(|cause| format!("{}: {}", text(cause, "field"), text(cause, "message")))
        .collect()
}
