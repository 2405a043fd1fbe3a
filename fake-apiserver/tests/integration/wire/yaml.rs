//! YAML request and response bodies.

use super::client::{CONFIG_MAPS, PODS, TestServer};
use serde_json::json;

const YAML: [(&str, &str); 2] = [
    ("content-type", "application/yaml"),
    ("accept", "application/yaml"),
];

#[tokio::test]
async fn objects_can_be_sent_and_returned_in_yaml() {
    let wire = TestServer::start().await;
    let body = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n  labels: {on: \"1\"}\ndata:\n  a: |\n    x\n";
    let created = wire.send("POST", CONFIG_MAPS, &YAML, body.to_owned()).await;
    assert_eq!(
        (created.code, &created.headers["content-type"]),
        (201, &"application/yaml".parse().unwrap())
    );
    assert!(
        created
            .text
            .starts_with("apiVersion: v1\ndata:\n  a: |\n    x\nkind: ConfigMap\n"),
        "{}",
        created.text
    );
    let listed = wire.send("GET", CONFIG_MAPS, &YAML[1..], String::new()).await;
    assert!(
        listed.text.contains("items:\n- data:\n    a: |\n      x\n"),
        "{}",
        listed.text
    );
    let stored = wire.get(&format!("{CONFIG_MAPS}/c")).await.body;
    assert_eq!(
        (&stored["data"], &stored["metadata"]["labels"]),
        (&json!({"a": "x\n"}), &json!({"on": "1"}))
    );
}

#[tokio::test]
async fn errors_are_returned_in_yaml() {
    let wire = TestServer::start().await;
    let missing = wire
        .send("GET", &format!("{CONFIG_MAPS}/c"), &YAML[1..], String::new())
        .await;
    assert_eq!(missing.code, 404);
    assert!(missing.text.contains("reason: NotFound\n"), "{}", missing.text);
    let broken = wire
        .send("POST", CONFIG_MAPS, &YAML[..1], "a: [".to_owned())
        .await;
    assert_eq!(broken.code, 400);
    assert!(
        broken
            .text
            .contains("yaml: line 1: did not find expected node content"),
        "{}",
        broken.text
    );
}

#[tokio::test]
async fn octal_modes_are_accepted() {
    let wire = TestServer::start().await;
    let body = "metadata: {name: p}\nspec:\n  containers: [{name: c, image: i}]\n  volumes:\n  - name: v\n    \
        configMap: {name: m, defaultMode: 0440}\n";
    let created = wire.send("POST", PODS, &YAML[..1], body.to_owned()).await;
    assert_eq!(
        created.body["spec"]["volumes"][0]["configMap"]["defaultMode"], 288,
        "{}",
        created.text
    );
}

#[tokio::test]
async fn duplicate_fields_are_reported() {
    let wire = TestServer::start().await;
    let body = "metadata: {name: c}\ndata: {a: \"1\"}\ndata: {a: \"2\"}\n";
    let path = format!("{CONFIG_MAPS}?fieldValidation=Strict");
    let refused = wire.send("POST", &path, &YAML[..1], body.to_owned()).await;
    assert_eq!(refused.code, 400);
    assert!(
        refused
            .text
            .contains("strict decoding error: duplicate field \\\"data\\\""),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn watches_are_not_available_in_yaml() {
    let wire = TestServer::start().await;
    let refused = wire
        .send(
            "GET",
            &format!("{CONFIG_MAPS}?watch=true"),
            &YAML[1..],
            String::new(),
        )
        .await;
    assert_eq!(refused.code, 406);
    let text = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    assert!(refused.text.contains(text), "{}", refused.text);
}
