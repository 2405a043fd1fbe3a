//! Subresources and generations: which fields each path can change.

use super::client::{PODS, TestServer, pod};
use serde_json::json;

#[tokio::test]
async fn main_resource_ignores_status_and_status_subresource_ignores_spec() {
    let wire = TestServer::start().await;
    let created = wire.create(PODS, pod("p")).await;
    assert_eq!(
        (&created["status"]["phase"], &created["metadata"]["generation"]),
        (&json!("Pending"), &json!(1))
    );
    let path = format!("{PODS}/p");
    let main = wire
        .merge(
            &path,
            json!({"status": {"phase": "Running"}, "metadata": {"labels": {"a": "1"}}}),
        )
        .await
        .body;
    assert_eq!(
        (&main["status"]["phase"], &main["metadata"]["labels"]["a"]),
        (&json!("Pending"), &json!("1"))
    );
    let patch = json!({
        "status": {"phase": "Running"},
        "spec": {"activeDeadlineSeconds": 5}, "metadata": {"labels": {"a": "2"}},
    });
    let status = wire.merge(&format!("{path}/status"), patch).await.body;
    assert_eq!(status["status"]["phase"], "Running");
    assert!(status["spec"]["activeDeadlineSeconds"].is_null());
    assert_eq!(
        status["metadata"]["labels"]["a"], "2",
        "built-in kinds accept label changes through /status"
    );
    assert_eq!(status["metadata"]["generation"], 1);
    let spec = wire
        .merge(&path, json!({"spec": {"activeDeadlineSeconds": 5}}))
        .await
        .body;
    assert_eq!(spec["metadata"]["generation"], 2);
}

#[tokio::test]
async fn csi_drivers_get_a_generation_with_their_first_update() {
    let wire = TestServer::start().await;
    let drivers = "/apis/storage.k8s.io/v1/csidrivers";
    let created = wire
        .create(
            drivers,
            json!({"metadata": {"name": "d.example.com"}, "spec": {}}),
        )
        .await;
    assert!(created["metadata"]["generation"].is_null());
    let changed = wire
        .merge(
            &format!("{drivers}/d.example.com"),
            json!({"spec": {"storageCapacity": true}}),
        )
        .await;
    assert_eq!(changed.body["metadata"]["generation"], 1);
}

#[tokio::test]
async fn pods_are_bound_once() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n1"}});
    let bound = wire.post(&format!("{PODS}/p/binding"), binding.clone()).await;
    assert_eq!(
        (bound.code, &bound.body["status"], &bound.body["code"]),
        (201, &json!("Success"), &json!(201))
    );
    let pod = wire.get(&format!("{PODS}/p")).await.body;
    assert_eq!(pod["spec"]["nodeName"], "n1");
    assert_eq!(pod["status"]["conditions"][0]["type"], "PodScheduled");
    let again = wire.post(&format!("{PODS}/p/binding"), binding).await;
    assert_eq!(
        (again.code, &again.body["details"]["kind"]),
        (409, &json!("pods/binding"))
    );
    let missing = wire
        .post(
            &format!("{PODS}/nobody/binding"),
            json!({"metadata": {"name": "nobody"}, "target": {"name": "n1"}}),
        )
        .await;
    assert_eq!(missing.code, 404);
}

#[tokio::test]
async fn new_claims_and_volumes_are_pending() {
    let wire = TestServer::start().await;
    let claim = json!({
        "metadata": {"name": "c"}, "status": {"phase": "Bound"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}},
    });
    let created = wire
        .create("/api/v1/namespaces/default/persistentvolumeclaims", claim)
        .await;
    assert_eq!(created["status"], json!({"phase": "Pending"}));
    assert_eq!(created["spec"]["volumeMode"], "Filesystem");
    assert_eq!(
        created["spec"]["resources"]["requests"]["storage"], "1Gi",
        "quantities are canonicalized"
    );
    assert!(
        created["metadata"]["finalizers"].is_null(),
        "the protection plugin is off by default"
    );
}

#[tokio::test]
async fn ephemeral_containers_can_be_added_but_not_removed() {
    let wire = TestServer::start().await;
    wire.create(PODS, pod("p")).await;
    let path = format!("{PODS}/p/ephemeralcontainers");
    let debug = json!({"name": "debug", "image": "example.com/tools:1", "targetContainerName": "c"});
    let patch = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"ephemeralContainers": [debug]}});
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    let added = wire.send("PATCH", &path, &headers, patch.to_string()).await;
    assert_eq!(added.code, 200, "{}", added.text);
    let container = &added.body["spec"]["ephemeralContainers"][0];
    assert_eq!(
        (
            &container["imagePullPolicy"],
            &added.body["metadata"]["generation"]
        ),
        (&json!("IfNotPresent"), &json!(2))
    );
    assert_eq!(added.body["metadata"].get("labels"), None, "labels are ignored");
    assert_eq!(
        wire.get(&path).await.body["spec"]["ephemeralContainers"][0]["name"],
        "debug"
    );
    let refusal = async |containers: serde_json::Value| {
        let answer = wire
            .merge(&path, json!({"spec": {"ephemeralContainers": containers}}))
            .await;
        assert_eq!(answer.code, 422, "{}", answer.text);
        answer.body["details"]["causes"][0]["message"].clone()
    };
    assert_eq!(
        refusal(json!([])).await,
        "Forbidden: existing ephemeral containers \"debug\" may not be removed\n"
    );
}
