//! Tests of webhooks for CRDs and custom resources: versions and pruning.

use super::{VALIDATING, denied, hook, register, register_mutating};
use crate::client::TestServer;
use crate::custom_resources::{DEFINITIONS, FOOS, definition, foo, with_spec};
use crate::webhook_server::{Hook, patch};
use serde_json::{Value, json};

fn rules(group: &str, resource: &str) -> Value {
    json!({"rules": [{"operations": ["CREATE", "UPDATE"], "apiGroups": [group], "apiVersions": ["v1"],
        "resources": [resource]}]})
}

#[tokio::test]
async fn custom_objects_are_mutated_and_then_pruned() {
    let wire = TestServer::start().await;
    let version = with_spec(json!({"size": {"type": "integer"}, "stage": {"type": "string"}}));
    wire.create(DEFINITIONS, definition("foos", "Foo", version)).await;
    let server = Hook::start(|_| {
        patch(&json!([
            {"op": "add", "path": "/spec/stage", "value": "one"},
            {"op": "add", "path": "/spec/unknown", "value": "two"},
        ]))
    })
    .await;
    register_mutating(&wire, &server, rules("example.com", "foos")).await;
    let made = wire.create(FOOS, foo("a", json!({"size": 1}))).await;
    assert_eq!(made["spec"], json!({"size": 1, "stage": "one"}));
}

#[tokio::test]
async fn webhooks_are_called_for_definitions() {
    let wire = TestServer::start().await;
    let server = Hook::start(
        |request| match request["object"]["metadata"]["labels"]["banned"].is_null() {
            true => json!({"allowed": true}),
            false => denied("the definition is banned"),
        },
    )
    .await;
    let own = rules("apiextensions.k8s.io", "customresourcedefinitions");
    register(
        &wire,
        VALIDATING,
        "validates",
        vec![hook("validates", server.client("/"), own)],
    )
    .await;
    let mut banned = definition("foos", "Foo", with_spec(json!({})));
    banned["metadata"]["labels"] = json!({"banned": "yes"});
    let refused = wire.post(DEFINITIONS, banned).await;
    assert!(
        refused.text.contains("the definition is banned"),
        "{}",
        refused.text
    );
    wire.create(DEFINITIONS, definition("foos", "Foo", with_spec(json!({}))))
        .await;
    wire.create(FOOS, foo("a", json!({}))).await;
}

#[tokio::test]
async fn webhooks_receive_the_requested_version_of_objects_stored_in_another() {
    let wire = TestServer::start().await;
    let text = || with_spec(json!({"stage": {"type": "string"}}));
    let mut second = text();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    let mut both = definition("foos", "Foo", text());
    both["spec"]["versions"].as_array_mut().unwrap().push(second);
    wire.create(DEFINITIONS, both).await;
    let server = Hook::start(
        |request| match request["object"]["apiVersion"] == "example.com/v1" {
            true => patch(&json!([{"op": "add", "path": "/spec/stage", "value": "changed"}])),
            false => denied("another version"),
        },
    )
    .await;
    register_mutating(&wire, &server, rules("example.com", "foos")).await;
    let newer = "/apis/example.com/v2/namespaces/default/foos";
    let object =
        json!({"apiVersion": "example.com/v2", "kind": "Foo", "metadata": {"name": "a"}, "spec": {}});
    let made = wire.create(newer, object).await;
    assert_eq!(
        (&made["apiVersion"], &made["spec"]["stage"]),
        (&json!("example.com/v2"), &json!("changed"))
    );
    let place = format!("{DEFINITIONS}/foos.example.com");
    let mut definition = wire.get(&place).await.body;
    for (at, is_stored) in [(0, false), (1, true)] {
        definition["spec"]["versions"][at]["storage"] = is_stored.into();
    }
    assert_eq!(wire.put(&place, definition).await.code, 200);
    let changed = wire
        .merge(&format!("{FOOS}/a"), json!({"spec": {"stage": "mine"}}))
        .await;
    assert_eq!(
        (changed.code, &changed.body["spec"]["stage"]),
        (200, &json!("changed")),
        "{}",
        changed.text
    );
}
