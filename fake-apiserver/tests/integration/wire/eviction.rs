//! Tests of `pods/eviction` with and without PodDisruptionBudgets.

use super::client::{PODS, TestResponse, TestServer, pod};
use serde_json::{Value, json};

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

/// Creates a ready pod with the label `app: a`.
async fn create_running_pod(wire: &TestServer, name: &str) {
    let mut pod = pod(name);
    pod["metadata"]["labels"] = json!({"app": "a"});
    wire.create(PODS, pod).await;
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let status = json!({"status": {"phase": "Running", "conditions": ready}});
    assert_eq!(
        wire.merge(&format!("{PODS}/{name}/status"), status).await.code,
        200
    );
}

/// Creates a PodDisruptionBudget for pods with the label `app: a`, with the status that the disruption controller would set.
async fn create_budget(wire: &TestServer, allowed: i64) {
    let spec = json!({"minAvailable": 1, "selector": {"matchLabels": {"app": "a"}}});
    wire.create(BUDGETS, json!({"metadata": {"name": "b"}, "spec": spec}))
        .await;
    let status = json!({"status": {
        "observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 2, "desiredHealthy": 2}});
    assert_eq!(wire.merge(&format!("{BUDGETS}/b/status"), status).await.code, 200);
}

async fn evict(wire: &TestServer, name: &str, body: Value) -> TestResponse {
    wire.post(&format!("{PODS}/{name}/eviction"), body).await
}

#[tokio::test]
async fn pods_without_a_budget_are_evicted() {
    let wire = TestServer::start().await;
    create_running_pod(&wire, "p").await;
    let answer = evict(
        &wire,
        "p",
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}),
    )
    .await;
    assert_eq!(
        (answer.code, &answer.body["status"], &answer.body["code"]),
        (201, &json!("Success"), &json!(201))
    );
    assert_eq!(wire.get(&format!("{PODS}/p")).await.code, 404);
}

#[tokio::test]
async fn evictions_are_rejected_when_the_budget_is_exhausted() {
    let wire = TestServer::start().await;
    for name in ["p", "q"] {
        create_running_pod(&wire, name).await;
    }
    create_budget(&wire, 1).await;
    assert_eq!(
        evict(&wire, "p", json!({"metadata": {"name": "p"}})).await.code,
        201
    );
    let spent = wire.get(&format!("{BUDGETS}/b")).await.body;
    assert_eq!(spent["status"]["disruptionsAllowed"], 0);
    assert!(spent["status"]["disruptedPods"]["p"].is_string());
    let refused = evict(&wire, "q", json!({"metadata": {"name": "q"}})).await;
    assert_eq!((refused.code, refused.headers.get("retry-after")), (429, None));
    assert_eq!(
        refused.body["details"]["causes"],
        json!([{"reason": "DisruptionBudget", "message": "The disruption budget b needs 2 healthy pods and has 2 currently"}])
    );
    assert_eq!(wire.get(&format!("{PODS}/q")).await.code, 200);
}

#[tokio::test]
async fn evictions_return_retry_after_until_the_budget_has_a_status() {
    let wire = TestServer::start().await;
    create_running_pod(&wire, "p").await;
    let spec = json!({"minAvailable": 1, "selector": {}});
    wire.create(BUDGETS, json!({"metadata": {"name": "b"}, "spec": spec}))
        .await;
    let refused = evict(&wire, "p", json!({"metadata": {"name": "p"}})).await;
    assert_eq!(
        (refused.code, &refused.headers["retry-after"]),
        (429, &"10".parse().unwrap())
    );
}

#[tokio::test]
async fn eviction_body_must_name_the_pod() {
    let wire = TestServer::start().await;
    create_running_pod(&wire, "p").await;
    let refused = evict(&wire, "p", json!({"metadata": {"name": "q"}})).await;
    assert_eq!(
        (refused.code, &refused.body["message"]),
        (400, &json!("name in URL does not match name in Eviction object"))
    );
    let stale = json!({"metadata": {"name": "p"}, "deleteOptions": {"preconditions": {"uid": "other"}}});
    assert_eq!(evict(&wire, "p", stale).await.code, 409);
    let dry = json!({"metadata": {"name": "p"}, "deleteOptions": {"dryRun": ["All"]}});
    assert_eq!(evict(&wire, "p", dry).await.code, 201);
    assert_eq!(
        wire.get(&format!("{PODS}/p")).await.code,
        200,
        "a dry run evicts no pod"
    );
}
