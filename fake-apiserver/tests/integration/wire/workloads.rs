//! Workloads: selectors and `scale`.

use super::client::TestServer;
use serde_json::{Value, json};

const APPS: &str = "/apis/apps/v1/namespaces/default";

/// The spec of a workload whose selector matches its own pod template.
fn spec() -> Value {
    json!({
        "selector": {"matchLabels": {"a": "b"}},
        "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"containers": [{"name": "c", "image": "example.com/app:1"}]},
        },
    })
}

#[tokio::test]
async fn template_labels_must_match_the_selector() {
    let wire = TestServer::start().await;
    for plural in ["deployments", "replicasets", "daemonsets", "statefulsets"] {
        let path = format!("{APPS}/{plural}");
        let refusal = async |change: fn(&mut Value)| {
            let mut spec = spec();
            change(&mut spec);
            let answer = wire
                .post(&path, json!({"metadata": {"name": "w"}, "spec": spec}))
                .await;
            assert_eq!(answer.code, 422, "{plural}: {}", answer.text);
            answer.body["message"].as_str().unwrap_or_default().to_owned()
        };
        let message = refusal(|spec| spec["template"]["metadata"]["labels"] = json!({"a": "c"})).await;
        let text = "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`";
        assert!(message.contains(text), "{message}");
        let message = refusal(|spec| spec["selector"] = json!({})).await;
        assert!(
            message.contains("spec.selector: Invalid value: {}: empty selector is invalid for"),
            "{message}"
        );
        let made = wire
            .create(&path, json!({"metadata": {"name": "w"}, "spec": spec()}))
            .await;
        assert_eq!(made["metadata"]["generation"], 1);
    }
}

#[tokio::test]
async fn scale_can_be_applied_without_a_name() {
    let wire = TestServer::start().await;
    let path = format!("{APPS}/deployments");
    wire.create(&path, json!({"metadata": {"name": "d"}, "spec": spec()}))
        .await;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": {"replicas": 3}});
    let headers = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{path}/d/scale?fieldManager=me&force=true");
    let answer = wire.send("PATCH", &path, &headers, scale.to_string()).await;
    assert_eq!(
        (answer.code, &answer.body["spec"]["replicas"]),
        (200, &json!(3)),
        "{}",
        answer.text
    );
}
