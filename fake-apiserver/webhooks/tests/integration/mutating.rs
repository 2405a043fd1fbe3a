//! Tests of mutating webhooks: patches, order, reinvocation and matching.

use super::{MUTATING, VALIDATING, config_map, hook, register, register_mutating};
use crate::client::{CONFIG_MAPS, PODS, TestServer, pod};
use crate::webhook_server::{Hook, patch};
use serde_json::{Value, json};

fn add(path: &str, value: &str) -> Value {
    patch(&json!([{"op": "add", "path": path, "value": value}]))
}

#[tokio::test]
async fn patches_of_webhooks_are_stored() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["operation"] == "DELETE" {
        true => json!({"allowed": true}),
        false => add("/data/stamp", "1"),
    })
    .await;
    register_mutating(&wire, &server, json!({})).await;
    let made = wire.create(CONFIG_MAPS, config_map("a", json!({"k": "v"}))).await;
    assert_eq!(made["data"], json!({"k": "v", "stamp": "1"}));
    let path = format!("{CONFIG_MAPS}/a");
    let changed = wire
        .merge(&path, json!({"data": {"stamp": null, "more": "2"}}))
        .await;
    assert_eq!(changed.body["data"], json!({"k": "v", "stamp": "1", "more": "2"}));
    let applied =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": {"own": "1"}});
    let apply = [("content-type", "application/apply-patch+yaml")];
    let path = format!("{CONFIG_MAPS}/b?fieldManager=me");
    let applied = wire.send("PATCH", &path, &apply, applied.to_string()).await;
    assert_eq!(applied.body["data"], json!({"own": "1", "stamp": "1"}));
    let created = &server.requests()[0];
    assert!(
        created["object"]["metadata"]["uid"].is_null(),
        "mutating webhooks run before the UID is assigned"
    );
}

#[tokio::test]
async fn webhooks_run_in_name_order_and_see_earlier_changes() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(|path, review| {
        let seen = review["request"]["object"]["data"]["seen"]
            .as_str()
            .unwrap_or_default();
        let mut response = add("/data/seen", &format!("{seen}{}", &path[1..]));
        response["uid"] = review["request"]["uid"].clone();
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
    })
    .await;
    let one = |name: &str| hook(name, server.client(&format!("/{name}")), json!({}));
    register(&wire, MUTATING, "b", vec![one("z"), one("y")]).await;
    register(&wire, MUTATING, "a", vec![one("x")]).await;
    let made = wire
        .create(CONFIG_MAPS, config_map("a", json!({"seen": ""})))
        .await;
    assert_eq!(made["data"]["seen"], "xzy");
}

#[tokio::test]
async fn webhooks_are_reinvoked_if_needed_after_a_later_change() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(|path, review| {
        let (name, data) = (&path[1..], &review["request"]["object"]["data"]);
        let count = data[name].as_str().map_or(0, str::len);
        let mut response = add(&format!("/data/{name}"), &"i".repeat(count + 1));
        if review["request"]["name"] == "still" {
            response = json!({"allowed": true});
        }
        response["uid"] = review["request"]["uid"].clone();
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
    })
    .await;
    let one = |name: &str, again: &str| {
        hook(
            name,
            server.client(&format!("/{name}")),
            json!({"reinvocationPolicy": again}),
        )
    };
    let hooks = vec![
        one("first", "IfNeeded"),
        one("second", "Never"),
        one("third", "IfNeeded"),
    ];
    register(&wire, MUTATING, "all", hooks).await;
    let made = wire.create(CONFIG_MAPS, config_map("a", json!({"k": "v"}))).await;
    assert_eq!(
        made["data"],
        json!({"k": "v", "first": "ii", "second": "i", "third": "i"})
    );
    wire.create(CONFIG_MAPS, config_map("still", json!({"k": "v"})))
        .await;
    assert_eq!(server.reviews().len(), 4 + 3);
}

#[tokio::test]
async fn patched_objects_are_defaulted_and_validated() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| {
        let name = match request["name"] == "bad" {
            true => "Not_A_Name",
            false => "added",
        };
        let container = json!({"name": name, "image": "example.com/init:1"});
        patch(&json!([{"op": "add", "path": "/spec/initContainers", "value": [container]}]))
    })
    .await;
    let rules =
        json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
    register_mutating(&wire, &server, json!({"rules": rules})).await;
    let made = wire.create(PODS, pod("good")).await;
    let added = &made["spec"]["initContainers"][0];
    assert_eq!(
        (&added["name"], &added["imagePullPolicy"]),
        (&json!("added"), &json!("IfNotPresent"))
    );
    assert_eq!(added["terminationMessagePolicy"], "File");
    let refused = wire.post(PODS, pod("bad")).await;
    assert_eq!(refused.code, 422);
    assert!(
        refused.text.contains("spec.initContainers[0].name"),
        "{}",
        refused.text
    );
}

#[tokio::test]
async fn validating_webhooks_see_the_mutated_object() {
    let wire = TestServer::start().await;
    let server = Hook::start_raw(|path, review| {
        let seen = review["request"]["object"]["data"]["stamp"] == "1";
        let mut response = match path {
            "/mutate" => add("/data/stamp", "1"),
            _ => json!({"allowed": seen}),
        };
        response["uid"] = review["request"]["uid"].clone();
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response})
    })
    .await;
    register_mutating(&wire, &server, json!({})).await;
    register(
        &wire,
        VALIDATING,
        "validates",
        vec![hook("validates", server.client("/validate"), json!({}))],
    )
    .await;
    wire.create(CONFIG_MAPS, config_map("a", json!({"k": "v"}))).await;
}

#[tokio::test]
async fn inapplicable_patches_are_errors() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["operation"] == "DELETE" {
        true => add("/data/x", "1"),
        false => patch(&json!([{"op": "remove", "path": "/data/none/deep"}])),
    })
    .await;
    wire.create(CONFIG_MAPS, config_map("old", json!({}))).await;
    register_mutating(&wire, &server, json!({})).await;
    let refused = wire.post(CONFIG_MAPS, config_map("a", json!({}))).await;
    assert_eq!(
        (refused.code, &refused.body["reason"]),
        (500, &json!("InternalError"))
    );
    let refused = wire.delete(&format!("{CONFIG_MAPS}/old")).await;
    let text = "Internal error occurred: admission webhook \"mutates.example.com\" attempted to modify the object, which \
                is not supported for this operation";
    assert_eq!(refused.body["message"], text);
}

#[tokio::test]
async fn equivalent_versions_match_unless_match_policy_is_exact() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| json!({"allowed": true})).await;
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"]}]);
    register_mutating(
        &wire,
        &server,
        json!({"rules": rules, "matchPolicy": "Equivalent"}),
    )
    .await;
    let exact = hook(
        "exact",
        server.client("/exact"),
        json!({"rules": rules, "matchPolicy": "Exact"}),
    );
    register(&wire, MUTATING, "exact", vec![exact]).await;
    let event = json!({
        "metadata": {"name": "a"}, "eventTime": "2026-01-01T00:00:00.000000Z", "action": "Run", "reason": "Done",
        "type": "Normal", "reportingController": "example.com/c", "reportingInstance": "c-1",
        "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
    });
    wire.create(events, event).await;
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0]["kind"]["group"], "");
    assert_eq!(requests[0]["requestKind"]["group"], "events.k8s.io");
    assert_eq!(requests[0]["object"]["apiVersion"], "v1");
}

#[tokio::test]
async fn subresource_bodies_can_be_mutated_within_their_type() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["name"].as_str() {
        Some("spoilt") => patch(&json!([{"op": "replace", "path": "", "value": []}])),
        Some("odd") => patch(&json!([{"op": "add", "path": "/spec", "value": "none"}])),
        _ => patch(&json!([{"op": "add", "path": "/target/name", "value": "other"}])),
    })
    .await;
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    for name in ["spoilt", "odd"] {
        wire.create(accounts, json!({"metadata": {"name": name}})).await;
    }
    wire.create(PODS, pod("p")).await;
    let rules = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["pods/binding", "serviceaccounts/token"]}]);
    register_mutating(&wire, &server, json!({"rules": rules})).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    wire.create(&format!("{PODS}/p/binding"), binding).await;
    assert_eq!(
        wire.get(&format!("{PODS}/p")).await.body["spec"]["nodeName"],
        "other"
    );
    for (name, code) in [("spoilt", 500), ("odd", 400)] {
        let refused = wire
            .post(&format!("{accounts}/{name}/token"), json!({"spec": {}}))
            .await;
        assert_eq!(refused.code, code, "{}", refused.text);
    }
}

#[tokio::test]
async fn webhooks_cannot_change_namespace_or_name() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| {
        let field = request["object"]["data"]["changes"].as_str().unwrap_or_default();
        add(&format!("/metadata/{field}"), "kube-system")
    })
    .await;
    for name in ["namespace", "name"] {
        wire.create(CONFIG_MAPS, config_map(name, json!({}))).await;
    }
    register_mutating(&wire, &server, json!({})).await;
    let moved = "the namespace of the provided object does not match the namespace sent on the request";
    let made = wire
        .post(CONFIG_MAPS, config_map("a", json!({"changes": "namespace"})))
        .await;
    assert_eq!((made.code, &made.body["message"]), (400, &moved.into()));
    for (field, code, text) in [
        ("namespace", 400, moved),
        ("name", 422, "metadata.name: Invalid value: "),
    ] {
        let change = json!({"data": {"changes": field}});
        let changed = wire.merge(&format!("{CONFIG_MAPS}/{field}"), change).await;
        let message = changed.body["message"].as_str().unwrap();
        assert!(
            changed.code == code && message.contains(text),
            "{} {message}",
            changed.code
        );
    }
    let all = wire.get(CONFIG_MAPS).await.body["items"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(all, 2);
}
