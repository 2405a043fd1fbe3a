//! Tests of the parameter objects of policies (`paramKind`, `paramRef`).

use super::{DEPLOYMENTS, GROUP, deployment, register_validating};
use crate::client::{CONFIG_MAPS, TestServer};
use serde_json::{Value, json};

fn spec(kind: &Value) -> Value {
    json!({
        "paramKind": kind,
        "validations": [{
            "expression": "params == null || object.spec.replicas <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most",
        }],
    })
}

fn config_maps() -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap"})
}

fn limit(name: &str, most: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"limits": "yes"}}, "data": {"most": most}})
}

#[tokio::test]
async fn parameters_are_read_from_the_namespace_of_the_request() {
    let wire = TestServer::start().await;
    let reference = json!({"name": "limit", "parameterNotFoundAction": "Deny"});
    register_validating(&wire, spec(&config_maps()), json!({"paramRef": reference})).await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 3)).await;
    let why =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    assert!(refused.text.contains(why), "{}", refused.text);
    wire.create(CONFIG_MAPS, limit("limit", "2")).await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 3)).await;
    assert!(refused.text.contains("at most 2"), "{}", refused.text);
    wire.merge(&format!("{CONFIG_MAPS}/limit"), json!({"data": {"most": "3"}}))
        .await;
    wire.create(DEPLOYMENTS, deployment("a", 3)).await;
}

#[tokio::test]
async fn all_selected_parameters_are_evaluated() {
    let wire = TestServer::start().await;
    let reference = json!({
        "selector": {"matchLabels": {"limits": "yes"}}, "namespace": "default", "parameterNotFoundAction": "Allow",
    });
    register_validating(&wire, spec(&config_maps()), json!({"paramRef": reference})).await;
    wire.create(DEPLOYMENTS, deployment("none", 9)).await;
    wire.create(CONFIG_MAPS, limit("five", "5")).await;
    wire.create(CONFIG_MAPS, limit("two", "2")).await;
    for (replicas, code) in [(2, 201), (4, 422), (6, 422)] {
        let answer = wire
            .post(DEPLOYMENTS, deployment(&format!("d{replicas}"), replicas))
            .await;
        assert_eq!(answer.code, code, "{}", answer.text);
    }
}

#[tokio::test]
async fn parameters_may_be_custom_resources_and_must_exist() {
    let wire = TestServer::start().await;
    let kind = json!({"apiVersion": "example.com/v1", "kind": "Foo"});
    let spec = json!({
        "paramKind": kind,
        "validations": [{"expression": "object.spec.replicas <= params.spec.most"}],
    });
    let reference = json!({"name": "limit", "parameterNotFoundAction": "Deny"});
    register_validating(&wire, spec, json!({"paramRef": reference})).await;
    let refused = wire.post(DEPLOYMENTS, deployment("a", 3)).await;
    let message = "deployments.apps \"a\" is forbidden: ValidatingAdmissionPolicy 'p.example.com' denied request: failed \
                   to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Foo'";
    assert_eq!(refused.body["message"], message);
    let spec = json!({"type": "object", "properties": {"most": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    let definition = json!({"metadata": {"name": "foos.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
    }});
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    wire.create(definitions, definition).await;
    let path = "/apis/example.com/v1/namespaces/default/foos";
    let object = json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "limit"}, "spec": {"most": 2}});
    wire.create(path, object).await;
    assert_eq!(wire.post(DEPLOYMENTS, deployment("a", 3)).await.code, 422);
    wire.create(DEPLOYMENTS, deployment("a", 2)).await;
}

#[tokio::test]
async fn params_is_null_without_param_ref() {
    let wire = TestServer::start().await;
    register_validating(&wire, spec(&config_maps()), json!({})).await;
    wire.create(DEPLOYMENTS, deployment("a", 9)).await;
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings/b.example.com");
    let wrong =
        json!({"spec": {"paramRef": {"name": "x", "selector": {}, "parameterNotFoundAction": "Deny"}}});
    assert_eq!(wire.merge(&bindings, wrong).await.code, 422);
}
