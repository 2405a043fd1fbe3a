//! Tests of custom resources: verbs, media types, lists, selectors, tables, field validation.

use super::super::client::TestServer;
use super::{FOOS, causes, foo, foos, with_spec};
use serde_json::{Value, json};

fn fields() -> Value {
    let mut version = with_spec(json!({
        "color": {"type": "string"}, "count": {"type": "integer"},
        "inner": {"type": "object", "properties": {"a": {"type": "string"}}},
    }));
    version["selectableFields"] = json!([{"jsonPath": ".spec.color"}]);
    version["additionalPrinterColumns"] = json!([
        {"name": "Color", "type": "string", "jsonPath": ".spec.color"},
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count", "priority": 1},
    ]);
    version
}

#[tokio::test]
async fn custom_objects_support_all_verbs() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    let made = wire.create(FOOS, foo("a", json!({"color": "red"}))).await;
    assert_eq!(made["metadata"]["generation"], 1);
    wire.create(FOOS, foo("b", json!({"color": "blue"}))).await;
    let list = wire.get(FOOS).await.body;
    assert_eq!(list["kind"], "FooList");
    assert_eq!(list["items"][0]["kind"], "Foo", "list items have a kind");
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    let mut changed = made.clone();
    changed["spec"]["count"] = 2.into();
    let changed = wire.put(&format!("{FOOS}/a"), changed).await;
    assert_eq!(changed.body["metadata"]["generation"], 2, "{}", changed.text);
    let stale = wire.put(&format!("{FOOS}/a"), made).await;
    assert_eq!(stale.code, 409);
    let patched = wire
        .merge(&format!("{FOOS}/a"), json!({"spec": {"color": null}}))
        .await;
    assert_eq!(patched.body["spec"], json!({"count": 2}));
    let gone = wire.delete(&format!("{FOOS}/a")).await;
    assert_eq!((gone.code, &gone.body["kind"]), (200, &json!("Status")));
    assert_eq!(wire.delete(FOOS).await.code, 200);
    assert_eq!(wire.get(FOOS).await.body["items"], json!([]));
}

#[tokio::test]
async fn watches_return_the_objects_that_lists_return() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    wire.create(FOOS, foo("a", json!({"color": "red"}))).await;
    let mut all = wire.watch("/apis/example.com/v1/foos?watch=true").await;
    let mut red = wire
        .watch(&format!("{FOOS}?watch=true&fieldSelector=spec.color=red"))
        .await;
    assert_eq!(all.next_events(1).await, ["ADDED a"]);
    wire.create(FOOS, foo("b", json!({"color": "blue"}))).await;
    wire.merge(&format!("{FOOS}/a"), json!({"spec": {"color": "green"}}))
        .await;
    assert_eq!(all.next_events(2).await, ["ADDED b", "MODIFIED a"]);
    assert_eq!(red.next_events(2).await, ["ADDED a", "DELETED a"]);
}

#[tokio::test]
async fn only_selectable_fields_can_be_selected() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    for (name, color) in [("a", "red"), ("b", "blue")] {
        wire.create(FOOS, foo(name, json!({"color": color}))).await;
    }
    let found = wire
        .get(&format!("{FOOS}?fieldSelector=spec.color!=red"))
        .await
        .body;
    assert_eq!(found["items"][0]["metadata"]["name"], "b");
    let refused = wire.get(&format!("{FOOS}?fieldSelector=spec.count=1")).await;
    assert_eq!(refused.code, 400);
    assert_eq!(refused.body["message"], "field label not supported: spec.count");
}

#[tokio::test]
async fn strategic_merge_patches_are_not_supported() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    wire.create(FOOS, foo("a", json!({"count": 1}))).await;
    let send = |media: &'static str, body: Value| {
        let wire = &wire;
        async move {
            let media = [("content-type", media)];
            wire.send("PATCH", &format!("{FOOS}/a"), &media, body.to_string())
                .await
        }
    };
    let operation = json!([{"op": "replace", "path": "/spec/count", "value": 5}]);
    let patched = send("application/json-patch+json", operation).await;
    assert_eq!(patched.body["spec"]["count"], 5, "{}", patched.text);
    let refused = send(
        "application/strategic-merge-patch+json",
        json!({"spec": {"count": 6}}),
    )
    .await;
    assert_eq!(
        (refused.code, &refused.body["reason"]),
        (415, &json!("UnsupportedMediaType"))
    );
    assert_eq!(
        refused.body["message"],
        "the body of the request was in an unknown format - accepted media types include: \
         application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    );
}

#[tokio::test]
async fn protobuf_is_not_supported() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    let media = [("content-type", "application/vnd.kubernetes.protobuf")];
    assert_eq!(wire.send("POST", FOOS, &media, String::new()).await.code, 415);
    let accept = [("accept", "application/vnd.kubernetes.protobuf")];
    assert_eq!(wire.send("GET", FOOS, &accept, String::new()).await.code, 406);
    let either = [("accept", "application/vnd.kubernetes.protobuf,application/json")];
    let list = wire.send("GET", FOOS, &either, String::new()).await;
    assert_eq!(list.headers["content-type"], "application/json");
}

#[tokio::test]
async fn tables_have_the_additional_printer_columns() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    wire.create(FOOS, foo("a", json!({"color": "red", "count": 3})))
        .await;
    let accept = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];
    let table = wire.send("GET", FOOS, &accept, String::new()).await.body;
    let names: Vec<&Value> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| &column["name"])
        .collect();
    assert_eq!(names, ["Name", "Color", "Count"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", "red", 3]));
    assert_eq!(table["columnDefinitions"][2]["priority"], 1);
}

#[tokio::test]
async fn unknown_and_duplicate_fields_are_reported_by_field_validation() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    let body = r#"{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"a","bad":1},
        "spec":{"color":"red","color":"blue","x":1,"inner":{"y":2}}}"#;
    let media = [("content-type", "application/json")];
    let strict = format!("{FOOS}?fieldValidation=Strict");
    let refused = wire.send("POST", &strict, &media, body.to_owned()).await;
    assert_eq!(refused.code, 400);
    assert_eq!(
        refused.body["message"],
        "Foo in version \"v1\" cannot be handled as a Foo: strict decoding error: duplicate field \"spec.color\", \
         unknown field \"metadata.bad\", unknown field \"spec.inner.y\", unknown field \"spec.x\""
    );
    let warned = wire.send("POST", FOOS, &media, body.to_owned()).await;
    assert_eq!(warned.code, 201);
    assert_eq!(warned.headers.get_all("warning").iter().count(), 4);
    assert_eq!(
        warned.body["spec"],
        json!({"color": "blue", "inner": {}}),
        "the last duplicate is effective"
    );
}

#[tokio::test]
async fn kind_and_api_version_must_match_the_resource() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    let other = json!({"apiVersion": "example.com/v1", "kind": "Bar", "metadata": {"name": "a"}});
    assert_eq!(
        causes(&wire.post(FOOS, other).await),
        ["kind: Invalid value: \"Bar\": must be Foo"]
    );
    let version = json!({"apiVersion": "example.com/v2", "kind": "Foo", "metadata": {"name": "a"}});
    assert_eq!(
        wire.post(FOOS, version).await.body["message"],
        "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)"
    );
}

#[tokio::test]
async fn dependents_are_deleted_with_their_owner() {
    let wire = TestServer::start().await;
    foos(&wire, fields()).await;
    let owner = wire.create(FOOS, foo("owner", json!({}))).await;
    let mut dependent = foo("dependent", json!({}));
    dependent["metadata"]["ownerReferences"] = json!([{"apiVersion": "example.com/v1", "kind": "Foo", "name": "owner",
        "uid": owner["metadata"]["uid"]}]);
    let mut watch = wire.watch(&format!("{FOOS}?watch=true")).await;
    wire.create(FOOS, dependent).await;
    wire.delete(&format!("{FOOS}/owner")).await;
    assert_eq!(
        watch.next_events(4).await,
        [
            "ADDED owner",
            "ADDED dependent",
            "DELETED owner",
            "DELETED dependent"
        ]
    );
}
