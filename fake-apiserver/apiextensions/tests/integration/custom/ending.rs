//! Deletion of CustomResourceDefinitions, which first deletes their custom resources.

use super::super::client::TestServer;
use super::{DEFINITIONS, FOOS, condition, foo, foos, with_spec};
use serde_json::json;

#[tokio::test]
async fn objects_are_deleted_first_and_their_finalizers_block_the_definition() {
    let wire = TestServer::start().await;
    foos(&wire, with_spec(json!({}))).await;
    let mut held = foo("held", json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    wire.create(FOOS, held).await;
    wire.create(FOOS, foo("free", json!({}))).await;
    let place = format!("{DEFINITIONS}/foos.example.com");
    let answer = wire.delete(&place).await;
    assert_eq!(answer.code, 200, "{}", answer.text);
    let found = wire.get(&place).await.body;
    assert_eq!(
        found["metadata"]["finalizers"],
        json!(["customresourcecleanup.apiextensions.k8s.io"])
    );
    assert_eq!(condition(&found, "Terminating").0, "True");
    let left = wire.get(FOOS).await.body;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(left["items"][0]["metadata"]["name"], "held");
    let refused = wire.post(FOOS, foo("new", json!({}))).await;
    assert_eq!(refused.code, 403, "{}", refused.text);
    let released = wire
        .merge(&format!("{FOOS}/held"), json!({"metadata": {"finalizers": null}}))
        .await;
    assert_eq!(released.code, 200, "{}", released.text);
    assert_eq!(wire.get(&place).await.code, 404);
    assert_eq!(wire.get(FOOS).await.code, 404);
}

#[tokio::test]
async fn recreated_definitions_start_without_objects() {
    let wire = TestServer::start().await;
    foos(&wire, with_spec(json!({}))).await;
    wire.create(FOOS, foo("a", json!({}))).await;
    let mut watch = wire.watch(&format!("{FOOS}?watch=true")).await;
    assert_eq!(watch.next_events(1).await, ["ADDED a"]);
    wire.delete(&format!("{DEFINITIONS}/foos.example.com")).await;
    while watch.next().await.is_some() {}
    foos(&wire, with_spec(json!({}))).await;
    assert_eq!(wire.get(FOOS).await.body["items"], json!([]));
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_custom_objects() {
    let wire = TestServer::start().await;
    foos(&wire, with_spec(json!({}))).await;
    wire.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}}))
        .await;
    let place = "/apis/example.com/v1/namespaces/n/foos";
    wire.create(place, foo("a", json!({}))).await;
    wire.delete("/api/v1/namespaces/n").await;
    assert_eq!(
        wire.get("/apis/example.com/v1/foos").await.body["items"],
        json!([])
    );
}
