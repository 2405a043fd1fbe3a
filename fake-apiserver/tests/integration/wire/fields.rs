//! Unknown, duplicate and mistyped fields, and fields that are always serialized.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestResponse, TestServer, pod};
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A pod with unknown fields and a duplicate field.
const FLAWED: &str = r#"{"metadata": {"name": "p", "labels": {"a": "1", "a": "2"}}, "spec": {"containers": [
    {"name": "c", "image": "i", "imagePullPolice": "Always"}], "hostNetwork": false}, "sepc": {}}"#;

async fn create_flawed_pod(wire: &TestServer, query: &str) -> TestResponse {
    wire.send("POST", &format!("{PODS}{query}"), &JSON, FLAWED.to_owned())
        .await
}

fn warnings(answer: &TestResponse) -> Vec<&str> {
    let texts = answer.headers.get_all("warning").iter();
    texts
        .map(|value| value.to_str().expect("warnings are ASCII"))
        .collect()
}

#[tokio::test]
async fn strict_validation_rejects_unknown_and_duplicate_fields() {
    let wire = TestServer::start().await;
    let refused = create_flawed_pod(&wire, "?fieldValidation=Strict").await;
    assert_eq!(
        (refused.code, &refused.body["reason"]),
        (400, &json!("BadRequest"))
    );
    let text = "Pod in version \"v1\" cannot be handled as a Pod: strict decoding error: duplicate field \
        \"metadata.labels.a\", unknown field \"spec.containers[0].imagePullPolice\", unknown field \"sepc\"";
    assert_eq!(refused.body["message"], text);
    assert_eq!(wire.get(&format!("{PODS}/p")).await.code, 404);
    let fine = wire
        .post(&format!("{PODS}?fieldValidation=Strict"), pod("fine"))
        .await;
    assert_eq!(fine.code, 201, "{}", fine.text);
}

#[tokio::test]
async fn unknown_fields_return_warnings_by_default() {
    let wire = TestServer::start().await;
    let created = create_flawed_pod(&wire, "").await;
    assert_eq!(created.code, 201);
    assert_eq!(
        warnings(&created),
        [
            "299 - \"duplicate field \\\"metadata.labels.a\\\"\"",
            "299 - \"unknown field \\\"spec.containers[0].imagePullPolice\\\"\"",
            "299 - \"unknown field \\\"sepc\\\"\"",
        ]
    );
    assert!(
        !created.text.contains("imagePullPolice"),
        "unknown fields are dropped"
    );
    assert_eq!(
        created.body["metadata"]["labels"]["a"], "2",
        "the last duplicate is effective"
    );
    wire.delete(&format!("{PODS}/p")).await;
    let ignored = create_flawed_pod(&wire, "?fieldValidation=Ignore").await;
    assert_eq!((ignored.code, warnings(&ignored).len()), (201, 0));
}

#[tokio::test]
async fn fields_of_patches_are_validated() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "c"}})).await;
    let path = format!("{CONFIG_MAPS}/c?fieldValidation=Strict");
    for (media, patch) in [
        ("application/merge-patch+json", json!({"dada": {"a": "1"}})),
        (
            "application/strategic-merge-patch+json",
            json!({"dada": {"a": "1"}}),
        ),
        (
            "application/json-patch+json",
            json!([{"op": "add", "path": "/dada", "value": {}}]),
        ),
    ] {
        let refused = wire
            .send("PATCH", &path, &[("content-type", media)], patch.to_string())
            .await;
        assert_eq!(
            (refused.code, &refused.body["reason"]),
            (422, &json!("Invalid")),
            "{media}"
        );
        let cause = &refused.body["details"]["causes"][0];
        assert_eq!(cause["field"], "patch");
        let message = cause["message"].as_str().expect("causes have messages");
        assert!(
            message.ends_with("strict decoding error: unknown field \"dada\""),
            "{message}"
        );
    }
}

#[tokio::test]
async fn type_errors_have_the_text_of_go_s_decoder() {
    let wire = TestServer::start().await;
    let spec = |name: &str, value: Value| {
        let mut pod = pod("p");
        pod["spec"][name] = value;
        pod
    };
    for (object, why) in [
        (
            spec("nodeName", json!(1)),
            "number into Go struct field PodSpec.spec.nodeName of type string",
        ),
        (
            spec("restartPolicy", json!([])),
            "array into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        (
            spec("priority", json!(1.5)),
            "number 1.5 into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            spec("priority", json!("1")),
            "string into Go struct field PodSpec.spec.priority of type int32",
        ),
        (
            spec("containers", json!({})),
            "object into Go struct field PodSpec.spec.containers of type []v1.Container",
        ),
        (
            spec("containers", json!([{"name": true}])),
            "bool into Go struct field Container.spec.containers.name of type string",
        ),
        (
            spec("affinity", json!("no")),
            "string into Go struct field PodSpec.spec.affinity of type v1.Affinity",
        ),
        (
            json!({"metadata": {"name": "p", "labels": {"a": 1}}}),
            "number into Go struct field ObjectMeta.metadata.labels of type string",
        ),
        (
            json!({"metadata": "p"}),
            "string into Go struct field Pod.metadata of type v1.ObjectMeta",
        ),
    ] {
        let refused = wire.post(PODS, object).await;
        let text = format!("Pod in version \"v1\" cannot be handled as a Pod: json: cannot unmarshal {why}");
        assert_eq!((refused.code, &refused.body["message"]), (400, &json!(text)));
    }
}

#[tokio::test]
async fn bodies_that_are_not_objects_report_a_decoding_error() {
    let wire = TestServer::start().await;
    for (body, why) in [
        (
            "hello",
            "invalid character 'h' looking for beginning of value (68656c6c6f)",
        ),
        ("", "unexpected end of JSON input (<empty>)"),
        (
            "{\"metadata\": ",
            "unexpected end of JSON input ({\"metadata\": )",
        ),
    ] {
        let refused = wire.send("POST", CAPACITIES, &JSON, body.to_owned()).await;
        let head = "the object provided is unrecognized (must be of type CSIStorageCapacity): couldn't get \
            version/kind; json parse error:";
        assert_eq!(
            (refused.code, &refused.body["message"]),
            (400, &json!(format!("{head} {why}")))
        );
    }
}

#[tokio::test]
async fn fields_without_omitempty_are_always_returned() {
    let wire = TestServer::start().await;
    let nodes = "/api/v1/nodes";
    let condition =
        json!({"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:04:05+01:00"});
    let node = json!({"metadata": {"name": "n"}, "status": {"conditions": [condition]}});
    let node = wire.create(nodes, node).await;
    assert_eq!(node["spec"], json!({}));
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "");
    assert_eq!(
        node["status"]["daemonEndpoints"],
        json!({"kubeletEndpoint": {"Port": 0}})
    );
    let condition = &node["status"]["conditions"][0];
    assert_eq!(
        condition["lastHeartbeatTime"], "2026-01-02T02:04:05Z",
        "times are UTC"
    );
    assert_eq!(condition["lastTransitionTime"], Value::Null);
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": "50%"}});
    let budget = wire
        .create("/apis/policy/v1/namespaces/default/poddisruptionbudgets", budget)
        .await;
    assert_eq!(
        budget["status"],
        json!({"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0})
    );
}

#[tokio::test]
async fn null_fields_are_dropped_but_null_map_values_become_empty_strings() {
    let wire = TestServer::start().await;
    let map = json!({"metadata": {"name": "m", "annotations": null}, "data": {"a": null}, "immutable": null});
    let map = wire.create(CONFIG_MAPS, map).await;
    assert_eq!(map["data"], json!({"a": ""}));
    assert!(map.get("immutable").is_none() && map["metadata"].get("annotations").is_none());
}
