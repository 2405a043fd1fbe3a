//! Tests of validating webhooks: the requests that they receive, and how their responses are handled.

use super::{VALIDATING, config_map, denied, register_validating};
use crate::client::{CONFIG_MAPS, PODS, TestServer, pod};
use crate::webhook_server::Hook;
use serde_json::{Value, json};

#[tokio::test]
async fn denials_have_the_message_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["name"].as_str() {
        Some("worded") => denied("no such thing"),
        Some("coded") => {
            json!({"allowed": false, "status": {"code": 403, "reason": "Forbidden", "message": "never"}})
        }
        Some("reasoned") => json!({"allowed": false, "status": {"reason": "Because"}}),
        Some("silent") => json!({"allowed": false}),
        _ => json!({"allowed": true, "warnings": ["mind the gap"]}),
    })
    .await;
    register_validating(&wire, &server, json!({})).await;
    let denied = "admission webhook \"validates.example.com\" denied the request";
    for (name, code, message) in [
        ("worded", 400, format!("{denied}: no such thing")),
        ("coded", 403, format!("{denied}: never")),
        ("reasoned", 400, format!("{denied}: Because")),
        ("silent", 400, format!("{denied} without explanation")),
    ] {
        let refused = wire.post(CONFIG_MAPS, config_map(name, json!({}))).await;
        assert_eq!((refused.code, &refused.body["message"]), (code, &json!(message)));
    }
    let made = wire.post(CONFIG_MAPS, config_map("fine", json!({}))).await;
    assert_eq!(made.code, 201);
    assert_eq!(made.headers["warning"], "299 - \"mind the gap\"");
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/worded")).await.code, 404);
}

#[tokio::test]
async fn admission_reviews_describe_the_request() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| json!({"allowed": true})).await;
    register_validating(&wire, &server, json!({})).await;
    let path = format!("{CONFIG_MAPS}?fieldManager=me");
    wire.create(&path, config_map("a", json!({"k": "1"}))).await;
    wire.merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"k": "2"}}))
        .await;
    assert_eq!(wire.delete(&format!("{CONFIG_MAPS}/a")).await.code, 200);
    let reviews = server.reviews();
    assert_eq!(reviews[0]["apiVersion"], "admission.k8s.io/v1");
    let requests = server.requests();
    let operations: Vec<&Value> = requests.iter().map(|request| &request["operation"]).collect();
    assert_eq!(operations, ["CREATE", "UPDATE", "DELETE"]);
    let created = &requests[0];
    assert_eq!(
        created["kind"],
        json!({"group": "", "version": "v1", "kind": "ConfigMap"})
    );
    assert_eq!(
        created["resource"],
        json!({"group": "", "version": "v1", "resource": "configmaps"})
    );
    assert_eq!(
        (&created["name"], &created["namespace"]),
        (&json!("a"), &json!("default"))
    );
    assert_eq!(created["userInfo"]["username"], "tester");
    assert_eq!(created["options"]["kind"], "CreateOptions");
    assert_eq!(created["options"]["fieldManager"], "me");
    assert_eq!(
        (&created["dryRun"], &created["oldObject"]),
        (&json!(false), &Value::Null)
    );
    assert!(
        created["object"]["metadata"]["uid"].is_string(),
        "the object has all server-set metadata"
    );
    assert!(created["object"]["metadata"]["managedFields"].is_array());
    let updated = &requests[1];
    assert_eq!(
        (
            &updated["object"]["data"]["k"],
            &updated["oldObject"]["data"]["k"]
        ),
        (&json!("2"), &json!("1"))
    );
    let deleted = &requests[2];
    assert_eq!(
        (&deleted["object"], &deleted["oldObject"]["data"]["k"]),
        (&Value::Null, &json!("2"))
    );
    assert_eq!(deleted["options"]["kind"], "DeleteOptions");
}

#[tokio::test]
async fn the_reviewed_object_is_the_stored_object() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| json!({"allowed": true})).await;
    register_validating(&wire, &server, json!({})).await;
    let made = wire
        .create(CONFIG_MAPS, json!({"metadata": {"generateName": "some-"}}))
        .await;
    let requested = &server.requests()[0];
    for field in ["name", "uid", "creationTimestamp"] {
        assert_eq!(
            requested["object"]["metadata"][field], made["metadata"][field],
            "{field}"
        );
    }
    assert_eq!(requested["name"], made["metadata"]["name"]);
}

#[tokio::test]
async fn selectors_and_match_conditions_decide_about_calls() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| denied("seen")).await;
    let labelled = json!({"matchLabels": {"watched": "yes"}});
    let condition = json!({
        "name": "not-skipped",
        "expression": "(!has(object.data) || !has(object.data.skip)) && request.userInfo.username == 'tester' \
                       && authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
    });
    let own = json!({
        "namespaceSelector": {"matchExpressions": [{"key": "free", "operator": "DoesNotExist"}]},
        "objectSelector": labelled, "matchConditions": [condition],
    });
    register_validating(&wire, &server, own).await;
    let namespace = json!({"metadata": {"name": "free", "labels": {"free": ""}}});
    wire.create("/api/v1/namespaces", namespace).await;
    let object = |name: &str, labels: Value, data: Value| {
        let mut object = config_map(name, data);
        object["metadata"]["labels"] = labels;
        object
    };
    let yes = || json!({"watched": "yes"});
    let free = "/api/v1/namespaces/free/configmaps";
    for (path, object, code) in [
        (CONFIG_MAPS, object("a", yes(), json!({})), 400),
        (CONFIG_MAPS, object("b", json!({}), json!({})), 201),
        (CONFIG_MAPS, object("c", yes(), json!({"skip": "me"})), 201),
        (free, object("d", yes(), json!({})), 201),
    ] {
        assert_eq!(wire.post(path, object.clone()).await.code, code, "{object}");
    }
    let bare = json!({"metadata": {"labels": null}, "data": null});
    let relabelled = wire.merge(&format!("{CONFIG_MAPS}/c"), bare).await;
    assert_eq!(relabelled.code, 400, "the old labels match");
}

#[tokio::test]
async fn deletecollection_stops_at_the_first_denial() {
    let wire = TestServer::start().await;
    let server = Hook::start(|request| match request["name"] == "b" {
        true => denied("not that one"),
        false => json!({"allowed": true}),
    })
    .await;
    for name in ["a", "b", "c"] {
        wire.create(CONFIG_MAPS, config_map(name, json!({}))).await;
    }
    let rules =
        json!([{"operations": ["DELETE"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    register_validating(&wire, &server, json!({"rules": rules})).await;
    let refused = wire.delete(CONFIG_MAPS).await;
    assert!(
        refused.text.contains("denied the request: not that one"),
        "{}",
        refused.text
    );
    let names: Vec<Value> = server
        .requests()
        .into_iter()
        .map(|mut request| request["name"].take())
        .collect();
    assert_eq!(names, ["a", "b"]);
    let left = wire.get(CONFIG_MAPS).await;
    let left: Vec<&Value> = left.body["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| &item["metadata"]["name"])
        .collect();
    assert_eq!(left, ["b", "c"]);
}

#[tokio::test]
async fn webhooks_are_called_for_subresources() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| json!({"allowed": true})).await;
    wire.create("/api/v1/nodes", json!({"metadata": {"name": "n"}}))
        .await;
    for name in ["p", "q"] {
        wire.create(PODS, pod(name)).await;
    }
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template});
    let sets = "/apis/apps/v1/namespaces/default/replicasets";
    wire.create(sets, json!({"metadata": {"name": "r"}, "spec": spec}))
        .await;
    let resources = [
        "pods/status",
        "pods/binding",
        "pods/eviction",
        "replicasets/scale",
    ];
    let rules =
        json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": resources}]);
    register_validating(&wire, &server, json!({"rules": rules})).await;
    let target = json!({"kind": "Node", "name": "n"});
    wire.create(
        &format!("{PODS}/p/binding"),
        json!({"metadata": {"name": "p"}, "target": target}),
    )
    .await;
    wire.merge(
        &format!("{PODS}/p/status"),
        json!({"status": {"phase": "Running"}}),
    )
    .await;
    wire.merge(&format!("{PODS}/p"), json!({"metadata": {"labels": {"x": "y"}}}))
        .await;
    wire.merge(&format!("{sets}/r/scale"), json!({"spec": {"replicas": 3}}))
        .await;
    wire.create(&format!("{PODS}/q/eviction"), json!({"metadata": {"name": "q"}}))
        .await;
    let reported: Vec<String> = server
        .requests()
        .iter()
        .map(|request| {
            let text = |pointer: &str| {
                request
                    .pointer(pointer)
                    .and_then(Value::as_str)
                    .unwrap_or("-")
                    .to_owned()
            };
            [
                text("/operation"),
                text("/resource/resource"),
                text("/subResource"),
                text("/kind/kind"),
            ]
            .join(" ")
        })
        .collect();
    assert_eq!(
        reported,
        [
            "CREATE pods binding Binding",
            "UPDATE pods status Pod",
            "UPDATE replicasets scale Scale",
            "CREATE pods eviction Eviction",
        ]
    );
    let binding = &server.requests()[0]["object"];
    assert_eq!(
        (
            &binding["apiVersion"],
            &binding["kind"],
            &binding["metadata"]["namespace"]
        ),
        (&json!("v1"), &json!("Binding"), &json!("default")),
        "missing type and namespace of the body are filled in"
    );
    assert_eq!(server.requests()[2]["object"]["spec"]["replicas"], 3);
    assert_eq!(server.requests()[2]["oldObject"]["spec"]["replicas"], 1);
}

#[tokio::test]
async fn webhooks_are_called_again_after_a_concurrent_change() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, config_map("a", json!({}))).await;
    let local = wire.server.client("other");
    let server = Hook::start({
        let local = local.clone();
        move |request| {
            // During the first call, another client changes a field.
            if request["oldObject"]["data"]["other"].is_null() {
                let at = fake_apiserver::ResourceRef::core("configmaps")
                    .namespace("default")
                    .name("a");
                drop(local.patch_merge(&at, json!({"data": {"other": "1"}})));
            }
            json!({"allowed": true})
        }
    })
    .await;
    let own =
        json!({"matchConditions": [{"name": "c", "expression": "request.userInfo.username == 'tester'"}]});
    register_validating(&wire, &server, own).await;
    let changed = wire
        .merge(&format!("{CONFIG_MAPS}/a"), json!({"data": {"mine": "1"}}))
        .await;
    assert_eq!(changed.code, 200, "{}", changed.text);
    assert_eq!(changed.body["data"]["mine"], "1");
    drop(local);
}

#[tokio::test]
async fn in_process_clients_cannot_call_webhooks() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| json!({"allowed": true})).await;
    register_validating(&wire, &server, json!({})).await;
    let local = wire.server.client("local");
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
    let refused = local.create(object).unwrap_err();
    assert!(refused.message.contains("cannot call webhooks"), "{refused}");
}

#[tokio::test]
async fn webhook_configurations_are_exempt_from_webhooks() {
    let wire = TestServer::start().await;
    let server = Hook::start(|_| denied("all")).await;
    let rules =
        json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    register_validating(&wire, &server, json!({"rules": rules})).await;
    assert_eq!(wire.post(CONFIG_MAPS, config_map("a", json!({}))).await.code, 400);
    assert_eq!(
        wire.merge(
            &format!("{VALIDATING}/validates"),
            json!({"metadata": {"labels": {"a": "b"}}})
        )
        .await
        .code,
        200
    );
    assert_eq!(wire.delete(&format!("{VALIDATING}/validates")).await.code, 200);
}
