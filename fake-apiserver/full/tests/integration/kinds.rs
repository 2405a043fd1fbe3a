//! Kinds without a controller: requests for certificates, and the two versions of autoscalers.

use super::client::TestServer;
use fake_apiserver::{Release, ServerOptions};
use serde_json::json;

/// A self-signed certificate signing request.
const SIGNED_REQUEST: &str = concat!(
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITU1IVUNBUUF3RXpFUk1BOEdBMVVFQXd3SWMyOXRaV0p2Wkhr",
    "d1dUQVRCZ2NxaGtqT1BRSUJCZ2dxaGtqTwpQUU1CQndOQ0FBVHd3MTY3MjNrVk13bWtoS2toVmpFa05pQm0yTWQ0c3lCYm9JZWNq",
    "bEk5YVBoTklKK0xMaDhNClRNQ0VlYjNKbk1DbVl1RmQ5Z1NOdlVYdllJYjZOUjA5b0FBd0NnWUlLb1pJemowRUF3SURSd0F3UkFJ",
    "Z0wwbWIKNm5yRnV3ZGcrd21mOWtrMG90bDhPRHY5eHJ1UU1wRndiVXF4Rm13Q0lCUXpYZVAwaG5EYldra3ZmaUk5WUllZApNRndy",
    "d0hvN08xME9YYWRtZndPeAotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K",
);

#[tokio::test]
async fn signing_requests_are_approved_through_the_subresource() {
    let wire = TestServer::start().await;
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({"metadata": {"name": "r"}, "spec": {"request": SIGNED_REQUEST, "signerName": "example.com/s", "username": "somebody-else", "usages": ["client auth"]}});
    let mut made = wire.create(path, request).await;
    assert_eq!(
        made["spec"]["username"], "tester",
        "the username is that of the client"
    );
    made["status"] = json!({"conditions": [{"type": "Approved", "status": "True"}]});
    made["spec"]["signerName"] = "example.com/other".into();
    let approved = wire.put(&format!("{path}/r/approval"), made).await;
    assert_eq!(approved.code, 200, "{}", approved.text);
    assert_eq!(approved.body["status"]["conditions"][0]["type"], "Approved");
    assert_eq!(
        approved.body["spec"]["signerName"], "example.com/s",
        "only the status is written"
    );
}

#[tokio::test]
async fn certificate_signing_requests_record_the_requesting_user() {
    let wire = TestServer::start().await;
    let path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let spec = json!({
        "request": SIGNED_REQUEST, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"],
        "username": "somebody else",
    });
    let made = wire
        .create(path, json!({"metadata": {"name": "r"}, "spec": spec}))
        .await;
    assert_eq!(
        (&made["spec"]["username"], &made["spec"]["groups"]),
        (&json!("tester"), &json!(["system:authenticated"]))
    );
    let changed = wire
        .merge(&format!("{path}/r"), json!({"spec": {"username": "x"}}))
        .await;
    assert_eq!(changed.body["spec"]["username"], "tester");
}

#[tokio::test]
async fn autoscalers_of_both_versions_are_the_same_objects() {
    let wire = TestServer::start().await;
    let path =
        |version: &str| format!("/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers");
    let spec = json!({
        "maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
    });
    wire.create(&path("v1"), json!({"metadata": {"name": "a"}, "spec": spec}))
        .await;
    let second = wire.get(&format!("{}/a", path("v2"))).await.body;
    let target = &second["spec"]["metrics"][0]["resource"]["target"];
    assert_eq!(target, &json!({"type": "Utilization", "averageUtilization": 50}));
    let merged = json!({"spec": {"maxReplicas": 4}});
    assert_eq!(wire.merge(&format!("{}/a", path("v2")), merged).await.code, 200);
    let first = wire.get(&format!("{}/a", path("v1"))).await.body;
    assert_eq!(first["spec"]["maxReplicas"], 4);
    assert_eq!(first["spec"]["targetCPUUtilizationPercentage"], 50);
    wire.delete(&format!("{}/a", path("v1"))).await;
    assert_eq!(wire.get(&format!("{}/a", path("v2"))).await.code, 404);
}

#[tokio::test]
async fn releases_before_1_23_serve_only_autoscaling_v1() {
    let options = ServerOptions {
        release: "1.22".parse::<Release>().expect("the release is valid"),
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    for (version, code) in [("v1", 200), ("v2", 404)] {
        let path = format!("/apis/autoscaling/{version}/horizontalpodautoscalers");
        assert_eq!(wire.get(&path).await.code, code, "{path}");
    }
}
