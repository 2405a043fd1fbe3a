//! Custom resources with several versions, one of which is the storage version.

use super::super::client::TestServer;
use super::{DEFINITIONS, FOOS, definition_with_versions, foo, with_spec};
use serde_json::{Value, json};

const NEWER: &str = "/apis/example.com/v2/namespaces/default/foos";

fn crd_with_two_versions() -> Value {
    let first = with_spec(json!({"a": {"type": "string"}, "old": {"type": "string"}}));
    let mut second = with_spec(json!({"a": {"type": "string"}, "new": {"type": "string", "default": "x"}}));
    second["name"] = "v2".into();
    second["storage"] = false.into();
    definition_with_versions(&first, &second)
}

#[tokio::test]
async fn each_version_returns_the_fields_of_its_schema() {
    let wire = TestServer::start().await;
    wire.create(DEFINITIONS, crd_with_two_versions()).await;
    wire.create(FOOS, foo("a", json!({"a": "1", "old": "2"}))).await;
    let found = wire.get(&format!("{NEWER}/a")).await.body;
    assert_eq!(found["apiVersion"], "example.com/v2");
    assert_eq!(
        found["spec"],
        json!({"a": "1"}),
        "defaults are those of the stored version"
    );
    let mut watch = wire.watch(&format!("{NEWER}?watch=true")).await;
    let event = watch.next().await.unwrap();
    assert_eq!(event["object"]["apiVersion"], "example.com/v2");
    let sent =
        json!({"apiVersion": "example.com/v2", "kind": "Foo", "metadata": {"name": "b"}, "spec": {"a": "1"}});
    wire.create(NEWER, sent).await;
    let stored = wire.get(&format!("{FOOS}/b")).await.body;
    assert_eq!(stored["apiVersion"], "example.com/v1");
    assert_eq!(
        stored["spec"],
        json!({"a": "1"}),
        "the schema of the stored version has no other fields"
    );
    assert_eq!(
        wire.get(NEWER).await.body["items"][1]["apiVersion"],
        "example.com/v2"
    );
}

#[tokio::test]
async fn stored_versions_are_recorded_and_cannot_be_removed() {
    let wire = TestServer::start().await;
    wire.create(DEFINITIONS, crd_with_two_versions()).await;
    wire.create(FOOS, foo("a", json!({"a": "1"}))).await;
    let place = format!("{DEFINITIONS}/foos.example.com");
    let mut definition = wire.get(&place).await.body;
    definition["spec"]["versions"][0]["storage"] = false.into();
    definition["spec"]["versions"][1]["storage"] = true.into();
    let written = wire.put(&place, definition).await;
    assert_eq!(written.code, 200, "{}", written.text);
    assert_eq!(written.body["status"]["storedVersions"], json!(["v1", "v2"]));
    let found = wire.get(&format!("{FOOS}/a")).await.body;
    assert_eq!(
        (&found["apiVersion"], &found["spec"]["a"]),
        (&json!("example.com/v1"), &json!("1"))
    );
    let mut without = written.body.clone();
    without["spec"]["versions"].as_array_mut().unwrap().remove(0);
    let refused = wire.put(&place, without).await;
    assert_eq!(refused.code, 422, "a version in storedVersions cannot be removed");
}

#[tokio::test]
async fn deprecated_versions_return_a_warning_and_unserved_ones_404() {
    let wire = TestServer::start().await;
    let mut sent = crd_with_two_versions();
    sent["spec"]["versions"][0]["deprecated"] = true.into();
    sent["spec"]["versions"].as_array_mut().unwrap()[1]["served"] = true.into();
    wire.create(DEFINITIONS, sent).await;
    let answer = wire.get(FOOS).await;
    assert_eq!(
        answer.headers["warning"],
        "299 - \"example.com/v1 Foo is deprecated; use example.com/v2 Foo\""
    );
    let place = format!("{DEFINITIONS}/foos.example.com");
    let mut definition = wire.get(&place).await.body;
    definition["spec"]["versions"][1]["served"] = false.into();
    assert_eq!(wire.put(&place, definition).await.code, 200);
    assert_eq!(wire.get(NEWER).await.code, 404);
    assert_eq!(wire.get(FOOS).await.code, 200);
}
