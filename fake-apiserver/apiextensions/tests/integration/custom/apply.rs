//! Server-side apply of custom resources: lists are merged by the list type in the schema.

use super::super::client::{TestResponse, TestServer};
use super::{FOOS, foos, with_spec};
use serde_json::{Value, json};

async fn apply(wire: &TestServer, manager: &str, spec: Value) -> TestResponse {
    let object =
        json!({"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "a"}, "spec": spec});
    let media = [("content-type", "application/apply-patch+yaml")];
    let place = format!("{FOOS}/a?fieldManager={manager}");
    wire.send("PATCH", &place, &media, object.to_string()).await
}

fn lists() -> Value {
    let item = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "value": {"type": "string"}}});
    with_spec(json!({
        "map": {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "atomic": {"type": "array", "items": {"type": "string"}},
    }))
}

#[tokio::test]
async fn managers_share_set_and_map_lists() {
    let wire = TestServer::start().await;
    foos(&wire, lists()).await;
    let made = apply(
        &wire,
        "one",
        json!({"map": [{"name": "a", "value": "1"}], "set": ["a"]}),
    )
    .await;
    assert_eq!(made.code, 201, "{}", made.text);
    let both = apply(
        &wire,
        "two",
        json!({"map": [{"name": "b", "value": "2"}], "set": ["b"]}),
    )
    .await;
    assert_eq!(both.body["spec"]["set"], json!(["a", "b"]), "{}", both.text);
    assert_eq!(both.body["spec"]["map"].as_array().unwrap().len(), 2);
    let less = apply(&wire, "one", json!({"set": ["a"]})).await;
    assert_eq!(less.body["spec"]["map"], json!([{"name": "b", "value": "2"}]));
}

#[tokio::test]
async fn applying_a_field_of_another_manager_conflicts() {
    let wire = TestServer::start().await;
    foos(&wire, lists()).await;
    apply(
        &wire,
        "one",
        json!({"map": [{"name": "a", "value": "1"}], "atomic": ["x"]}),
    )
    .await;
    let refused = apply(
        &wire,
        "two",
        json!({"map": [{"name": "a", "value": "2"}], "atomic": ["y"]}),
    )
    .await;
    assert_eq!(refused.code, 409);
    assert_eq!(
        refused.body["message"],
        "Apply failed with 2 conflicts: conflicts with \"one\":\n- .spec.atomic\n- .spec.map[name=\"a\"].value"
    );
}

#[tokio::test]
async fn managed_fields_of_custom_resources_follow_the_schema() {
    let wire = TestServer::start().await;
    foos(&wire, lists()).await;
    wire.create(FOOS, super::foo("a", json!({"set": ["a"]}))).await;
    let found = wire.get(&format!("{FOOS}/a")).await.body;
    assert_eq!(
        found["metadata"]["managedFields"][0]["fieldsV1"],
        json!({"f:spec": {".": {}, "f:set": {".": {}, "v:\"a\"": {}}}})
    );
}

#[tokio::test]
async fn applied_fields_must_be_in_the_schema() {
    let wire = TestServer::start().await;
    foos(&wire, lists()).await;
    let refused = apply(&wire, "one", json!({"bad": 1})).await;
    assert_eq!(refused.code, 500);
    assert_eq!(
        refused.body["message"],
        "failed to create typed patch object (/a; example.com/v1, Kind=Foo): .spec.bad: field not declared in \
         schema"
    );
}
