//! Strategic merge patches as sent by schedulers, provisioners and kubectl.

use super::client::{CONFIG_MAPS, PODS, TestResponse, TestServer, pod};
use serde_json::{Value, json};

async fn strategic_merge_patch(wire: &TestServer, path: &str, patch: Value) -> TestResponse {
    let media = [("content-type", "application/strategic-merge-patch+json")];
    wire.send("PATCH", path, &media, patch.to_string()).await
}

#[tokio::test]
async fn conditions_are_merged_by_type() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let path = format!("{PODS}/p/status");
    let ready = json!({"type": "Ready", "status": "False"});
    strategic_merge_patch(&wire, &path, json!({"status": {"conditions": [ready]}})).await;
    let scheduled = json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable"});
    let patch = json!({"status": {
        "$setElementOrder/conditions": [{"type": "PodScheduled"}], "conditions": [scheduled],
        "nominatedNodeName": "n1"}});
    let after = strategic_merge_patch(&wire, &path, patch).await;
    assert_eq!(after.code, 200, "{}", after.text);
    let types: Vec<&Value> = after.body["status"]["conditions"]
        .as_array()
        .expect("the status has conditions")
        .iter()
        .map(|condition| &condition["type"])
        .collect();
    assert_eq!(types, ["PodScheduled", "Ready"]);
    assert_eq!(after.body["status"]["nominatedNodeName"], "n1");
}

#[tokio::test]
async fn finalizers_are_removed_by_directive() {
    let wire = TestServer::start().await;
    let held = json!({"metadata": {"name": "c", "finalizers": ["example.com/a", "example.com/b"]}});
    wire.create(CONFIG_MAPS, held).await;
    let path = format!("{CONFIG_MAPS}/c");
    wire.delete(&path).await;
    for (gone, left) in [
        ("example.com/a", vec!["example.com/b"]),
        ("example.com/b", vec![]),
    ] {
        let patch = json!({"metadata": {
            "$deleteFromPrimitiveList/finalizers": [gone], "$setElementOrder/finalizers": left}});
        assert_eq!(strategic_merge_patch(&wire, &path, patch).await.code, 200);
    }
    assert_eq!(wire.get(&path).await.code, 404, "deleted");
}

#[tokio::test]
async fn patches_without_changes_preserve_the_resource_version() {
    let wire = TestServer::start().await;
    let before = wire
        .create(
            CONFIG_MAPS,
            json!({"metadata": {"name": "c", "labels": {"a": "1"}}}),
        )
        .await;
    let after = strategic_merge_patch(
        &wire,
        &format!("{CONFIG_MAPS}/c"),
        json!({"metadata": {"labels": {"a": "1"}}}),
    )
    .await;
    assert_eq!(
        after.body["metadata"]["resourceVersion"],
        before["metadata"]["resourceVersion"]
    );
}

#[tokio::test]
async fn invalid_directives_are_rejected() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let path = format!("{PODS}/p");
    let misshapen = strategic_merge_patch(&wire, &path, json!({"metadata": {"$retainKeys": "all"}})).await;
    assert_eq!(
        (misshapen.code, &misshapen.body["message"]),
        (400, &json!("invalid patch format of retainKeys"))
    );
    let unfit = strategic_merge_patch(&wire, &path, json!({"metadata": {"$patch": "explode"}})).await;
    assert_eq!(unfit.code, 500);
    assert!(
        unfit.text.contains("unknown patch type [explode]"),
        "{}",
        unfit.text
    );
}
