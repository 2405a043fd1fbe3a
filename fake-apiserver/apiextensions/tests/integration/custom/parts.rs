//! Tests of the subresources `status` and `scale` of custom resources.

use super::super::client::TestServer;
use super::{FOOS, causes, foo, foos, with_spec};
use serde_json::{Value, json};

fn scaled() -> Value {
    let mut version = with_spec(json!({"replicas": {"type": "integer"}, "x": {"type": "string"}}));
    version["subresources"] = json!({"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}});
    version
}

#[tokio::test]
async fn status_and_main_resource_are_written_separately() {
    let wire = TestServer::start().await;
    foos(&wire, scaled()).await;
    let mut sent = foo("a", json!({"x": "1"}));
    sent["status"] = json!({"ready": true});
    let made = wire.create(FOOS, sent).await;
    assert_eq!(made["status"], Value::Null);
    let place = format!("{FOOS}/a/status");
    let patch = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"x": "2"}, "status": {"ready": true}});
    let written = wire.merge(&place, patch).await.body;
    assert_eq!(written["spec"]["x"], "1");
    assert_eq!(written["status"], json!({"ready": true}));
    assert_eq!(written["metadata"]["labels"], Value::Null);
    assert_eq!(written["metadata"]["generation"], 1);
    let written = wire
        .merge(&format!("{FOOS}/a"), json!({"status": {"ready": false}}))
        .await;
    assert_eq!(written.body["status"]["ready"], true);
    assert_eq!(wire.get(&place).await.body["kind"], "Foo");
}

#[tokio::test]
async fn undeclared_subresources_are_not_served() {
    let wire = TestServer::start().await;
    foos(&wire, with_spec(json!({}))).await;
    let mut sent = foo("a", json!({}));
    sent["status"] = json!({"ready": true});
    let made = wire.create(FOOS, sent).await;
    assert_eq!(made["status"]["ready"], true, "an ordinary field");
    for part in ["status", "scale"] {
        assert_eq!(wire.get(&format!("{FOOS}/a/{part}")).await.code, 404, "{part}");
    }
}

#[tokio::test]
async fn scale_is_read_and_written_through_its_paths() {
    let wire = TestServer::start().await;
    foos(&wire, scaled()).await;
    wire.create(FOOS, foo("a", json!({"replicas": 2}))).await;
    let status = json!({"status": {"replicas": 1, "selector": "app=a"}});
    wire.merge(&format!("{FOOS}/a/status"), status).await;
    let place = format!("{FOOS}/a/scale");
    let mut scale = wire.get(&place).await.body;
    assert_eq!(
        (&scale["kind"], &scale["apiVersion"]),
        (&json!("Scale"), &json!("autoscaling/v1"))
    );
    assert_eq!(scale["spec"]["replicas"], 2);
    assert_eq!(scale["status"], json!({"replicas": 1, "selector": "app=a"}));
    scale["spec"]["replicas"] = 7.into();
    assert_eq!(wire.put(&place, scale).await.code, 200);
    let found = wire.get(&format!("{FOOS}/a")).await.body;
    assert_eq!(
        (&found["spec"]["replicas"], &found["metadata"]["generation"]),
        (&json!(7), &json!(2))
    );
    let refused = wire
        .merge(&format!("{FOOS}/a"), json!({"spec": {"replicas": -1}}))
        .await;
    assert_eq!(
        causes(&refused),
        [".spec.replicas: Invalid value: -1: should be a non-negative integer"]
    );
}
