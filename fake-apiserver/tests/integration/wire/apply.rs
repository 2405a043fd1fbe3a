//! Server-side apply: ownership, conflicts, merging, and errors.

use super::access::start_with_rbac;
use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestResponse, TestServer, client, request};
use super::managed::owned;
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

const MEDIA: [(&str, &str); 1] = [("content-type", "application/apply-patch+yaml")];

async fn apply_text(wire: &TestServer, path: &str, document: &str) -> TestResponse {
    wire.send("PATCH", path, &MEDIA, document.to_owned()).await
}

async fn apply(wire: &TestServer, path: &str, document: &Value) -> TestResponse {
    apply_text(wire, path, &document.to_string()).await
}

async fn apply_successfully(wire: &TestServer, path: &str, document: &Value) -> Value {
    let answer = apply(wire, path, document).await;
    assert!([200, 201].contains(&answer.code), "{}", answer.text);
    answer.body
}

fn config_map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

fn apply_path(manager: &str) -> String {
    format!("{CONFIG_MAPS}/c?fieldManager={manager}")
}

fn managers(object: &Value) -> Vec<&str> {
    let entries = object["metadata"]["managedFields"].as_array();
    entries
        .into_iter()
        .flatten()
        .filter_map(|entry| entry["manager"].as_str())
        .collect()
}

#[tokio::test]
async fn apply_creates_the_object_and_owns_its_fields() {
    let wire = TestServer::start().await;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, labels: {l: '1'}}\ndata:\n  a: 'on'\n";
    let made = apply_text(&wire, &apply_path("one"), yaml).await;
    assert_eq!(
        (made.code, &made.body["data"]),
        (201, &json!({"a": "on"})),
        "{}",
        made.text
    );
    let entry = &made.body["metadata"]["managedFields"][0];
    assert_eq!(
        (&entry["operation"], &entry["fieldsV1"]),
        (
            &json!("Apply"),
            &json!({"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:l": {}}}})
        )
    );
    assert_eq!(
        apply_text(&wire, &apply_path("one"), yaml).await.body,
        made.body,
        "applying the same document again changes nothing"
    );
}

#[tokio::test]
async fn fields_of_other_managers_require_force() {
    let wire = TestServer::start().await;
    apply_successfully(
        &wire,
        &apply_path("one"),
        &config_map(&json!({"a": "1", "b": "1"})),
    )
    .await;
    let refused = apply(&wire, &apply_path("two"), &config_map(&json!({"a": "2"}))).await;
    assert_eq!(
        (refused.code, &refused.body["message"], &refused.body["details"]),
        (
            409,
            &json!("Apply failed with 1 conflict: conflict with \"one\": .data.a"),
            &json!({"causes": [{"reason": "FieldManagerConflict", "message": "conflict with \"one\"",
                "field": ".data.a"}]})
        )
    );
    let refused = apply(
        &wire,
        &apply_path("two"),
        &config_map(&json!({"a": "2", "b": "2"})),
    )
    .await;
    let text = "Apply failed with 2 conflicts: conflicts with \"one\":\n- .data.a\n- .data.b";
    assert_eq!(refused.body["message"], text);
    let taken = apply_successfully(
        &wire,
        &format!("{}&force=true", apply_path("two")),
        &config_map(&json!({"a": "2"})),
    )
    .await;
    assert_eq!(taken["data"], json!({"a": "2", "b": "1"}));
    assert_eq!(owned(&taken, "one"), &json!({"f:data": {"f:b": {}}}));
    assert_eq!(owned(&taken, "two"), &json!({"f:data": {"f:a": {}}}));
}

#[tokio::test]
async fn conflicts_name_manager_version_and_subresource_of_updates() {
    let wire = TestServer::start().await;
    let object = json!({"metadata": {"name": "c"}, "data": {"a": "1"}});
    wire.post(&format!("{CONFIG_MAPS}?fieldManager=upd"), object)
        .await;
    let refused = apply(&wire, &apply_path("two"), &config_map(&json!({"a": "2"}))).await;
    let text = "Apply failed with 1 conflict: conflict with \"upd\" using v1: .data.a";
    assert_eq!(refused.body["message"], text);

    let claims = "/api/v1/namespaces/default/persistentvolumeclaims";
    let claim = json!({"metadata": {"name": "p"}, "spec": {"accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}}}});
    wire.create(claims, claim).await;
    let status = format!("{claims}/p/status?fieldManager=binder");
    wire.merge(&status, json!({"status": {"phase": "Bound"}})).await;
    let document = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "p"},
        "status": {"phase": "Lost"}});
    let refused = apply(&wire, &format!("{claims}/p/status?fieldManager=two"), &document).await;
    let text = "Apply failed with 1 conflict: conflict with \"binder\" with subresource \"status\" using v1: \
        .status.phase";
    assert_eq!(refused.body["message"], text);
    // An apply to the main resource ignores `status`.
    let ignored = apply_successfully(&wire, &format!("{claims}/p?fieldManager=two"), &document).await;
    assert_eq!(ignored["status"]["phase"], "Bound");
    assert!(!managers(&ignored).contains(&"two"), "{ignored}");
}

#[tokio::test]
async fn fields_no_longer_applied_are_removed_with_their_last_owner() {
    let wire = TestServer::start().await;
    apply_successfully(
        &wire,
        &apply_path("one"),
        &config_map(&json!({"a": "1", "b": "1"})),
    )
    .await;
    let shared = apply_successfully(&wire, &apply_path("two"), &config_map(&json!({"a": "1"}))).await;
    assert_eq!(owned(&shared, "one")["f:data"], json!({"f:a": {}, "f:b": {}}));
    let after = apply_successfully(&wire, &apply_path("one"), &config_map(&json!({}))).await;
    assert_eq!(after["data"], json!({"a": "1"}), "manager two still applies a");
    let after = apply_successfully(&wire, &apply_path("two"), &config_map(&json!({}))).await;
    assert_eq!(after.get("data"), None);
}

#[tokio::test]
async fn updates_take_ownership_from_appliers() {
    let wire = TestServer::start().await;
    apply_successfully(
        &wire,
        &apply_path("one"),
        &config_map(&json!({"a": "1", "b": "1"})),
    )
    .await;
    let after = wire
        .merge(&apply_path("upd"), json!({"data": {"a": "2", "b": null}}))
        .await
        .body;
    assert_eq!(
        owned(&after, "one"),
        &Value::Null,
        "manager one owns nothing any more: {after}"
    );
    assert_eq!(owned(&after, "upd"), &json!({"f:data": {"f:a": {}}}));
    let after = apply_successfully(&wire, &apply_path("one"), &config_map(&json!({}))).await;
    assert_eq!(after["data"], json!({"a": "2"}), "manager one no longer owns a");
}

#[tokio::test]
async fn untracked_fields_belong_to_before_first_apply() {
    let wire = TestServer::start().await;
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": "c"}, "data": {"a": "1", "b": "1"}}),
    )
    .await;
    wire.merge(&apply_path("x"), json!({"metadata": {"managedFields": [{}]}}))
        .await;
    let refused = apply(&wire, &apply_path("one"), &config_map(&json!({"a": "2"}))).await;
    let text = "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a";
    assert_eq!(refused.body["message"], text);
    let after = apply_successfully(&wire, &apply_path("one"), &config_map(&json!({"a": "1"}))).await;
    assert_eq!(managers(&after), ["one", "before-first-apply"]);
}

#[tokio::test]
async fn lists_are_merged_by_key_by_value_or_atomically() {
    let wire = TestServer::start().await;
    let path = |manager: &str| format!("{PODS}/p?fieldManager={manager}");
    let pod = |spec: Value, finalizers: Value| json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "finalizers": finalizers}, "spec": spec});
    let spec = json!({"containers": [{"name": "a", "image": "i",
        "ports": [{"containerPort": 80}], "env": [{"name": "x", "value": "1"}]}],
        "nodeSelector": {"n": "1"}});
    let made = apply_successfully(&wire, &path("one"), &pod(spec.clone(), json!(["x.com/a"]))).await;
    assert_eq!(
        owned(&made, "one")["f:spec"],
        json!({"f:containers": {"k:{\"name\":\"a\"}": {".": {}, "f:name": {}, "f:image": {},
            "f:ports": {"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}},
            "f:env": {"k:{\"name\":\"x\"}": {".": {}, "f:name": {}, "f:value": {}}}}},
            "f:nodeSelector": {}})
    );
    let image = json!({"containers": [{"name": "a", "image": "new"}]});
    let other = apply_successfully(
        &wire,
        &format!("{}&force=true", path("two")),
        &pod(image, json!(["x.com/b"])),
    )
    .await;
    assert_eq!(other["metadata"]["finalizers"], json!(["x.com/a", "x.com/b"]));
    let container = &other["spec"]["containers"][0];
    assert_eq!(
        (&container["image"], &container["env"][0]["value"]),
        (&json!("new"), &json!("1"))
    );
    let mut mine = spec;
    mine["containers"][0].as_object_mut().unwrap().remove("image");
    let gone = apply_successfully(&wire, &path("one"), &pod(mine, json!([]))).await;
    assert_eq!(gone["metadata"]["finalizers"], json!(["x.com/b"]));
}

#[tokio::test]
async fn apply_requires_field_manager_and_type() {
    let wire = TestServer::start().await;
    let document = config_map(&json!({"a": "1"}));
    let nobody = apply(&wire, &format!("{CONFIG_MAPS}/c"), &document).await;
    let text =
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch";
    assert_eq!((nobody.code, &nobody.body["message"]), (422, &json!(text)));
    let force = wire
        .merge(&format!("{}&force=true", apply_path("one")), json!({}))
        .await;
    let text = "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch";
    assert_eq!((force.code, &force.body["message"]), (422, &json!(text)));
    let changed = |name: &str, value: Value| {
        let mut document = document.clone();
        document[name] = value;
        document
    };
    for (document, code, text) in [
        (
            changed("kind", json!("Secret")),
            400,
            "invalid object type: /v1, Kind=Secret",
        ),
        (json!({}), 400, "invalid object type: /, Kind="),
        (
            changed("metadata", json!({"name": "c", "managedFields": []})),
            400,
            "metadata.managedFields must be nil",
        ),
        (
            changed("spec", json!({})),
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .spec: field not declared in schema",
        ),
        (
            changed("data", json!({"a": 1})),
            500,
            "failed to create typed patch object (/c; /v1, Kind=ConfigMap): .data.a: expected string, got \
             &value.valueUnstructured{Value:1}",
        ),
        (
            changed("metadata", json!({"name": "d"})),
            400,
            "the name of the object (d) does not match the name on the URL (c)",
        ),
        (
            changed("metadata", json!({})),
            400,
            "the name of the object (c based on URL) was undeterminable: name must be provided",
        ),
        (
            changed("metadata", json!({"name": "c", "namespace": "other"})),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            changed("metadata", json!({"name": "c", "uid": "u"})),
            409,
            "Operation cannot be fulfilled on configmaps \"c\": uid mismatch: the provided object specified uid u, \
             and no existing object was found",
        ),
    ] {
        let refused = apply(&wire, &apply_path("one"), &document).await;
        assert_eq!(
            (refused.code, &refused.body["message"]),
            (code, &json!(text)),
            "{document}"
        );
    }
    assert_eq!(
        wire.get(&format!("{CONFIG_MAPS}/c")).await.code,
        404,
        "no rejected document was stored"
    );
}

#[tokio::test]
async fn unparsable_apply_documents_are_rejected() {
    let wire = TestServer::start().await;
    let list = apply_text(&wire, &apply_path("one"), "- a").await;
    let text = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into \
        Go value of type map[string]interface {}";
    assert_eq!((list.code, &list.body["message"]), (400, &json!(text)));
    assert_eq!(apply_text(&wire, &apply_path("one"), "a: [").await.code, 400);
    let cbor = [("content-type", "application/apply-patch+cbor")];
    assert_eq!(
        wire.send("PATCH", &apply_path("one"), &cbor, "{}".to_owned())
            .await
            .code,
        415
    );
}

#[tokio::test]
async fn list_items_with_missing_or_duplicate_keys_are_rejected() {
    let wire = TestServer::start().await;
    let path = format!("{PODS}/p?fieldManager=one");
    for (spec, why) in [
        (
            json!({"containers": [{"name": "a"}, {"name": "a"}]}),
            ".spec.containers: duplicate entries for key [name=\"a\"]",
        ),
        (
            json!({"containers": [{"image": "i"}, {"image": "j"}]}),
            ".spec.containers: duplicate entries for key [name=\"\"]",
        ),
        (
            json!({"containers": [null]}),
            ".spec.containers: element 0: associative list with keys may not have a null element",
        ),
    ] {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
            "spec": spec});
        let refused = apply(&wire, &path, &pod).await;
        let text = format!("failed to create typed patch object (/p; /v1, Kind=Pod): {why}");
        assert_eq!((refused.code, &refused.body["message"]), (500, &json!(text)));
    }
}

#[tokio::test]
async fn duplicate_yaml_fields_are_reported_with_their_line() {
    let wire = TestServer::start().await;
    let yaml = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata:\n  a: '1'\n  a: '2'\n";
    let strict = apply_text(
        &wire,
        &format!("{}&fieldValidation=Strict", apply_path("one")),
        yaml,
    )
    .await;
    let why =
        "error converting YAML to JSON: yaml: unmarshal errors:\n  line 6: key \"a\" already set in map";
    let text = format!("error strict decoding YAML: {why}");
    assert_eq!((strict.code, &strict.body["message"]), (400, &json!(text)));
    let warned = apply_text(&wire, &apply_path("one"), yaml).await;
    assert_eq!((warned.code, &warned.body["data"]), (201, &json!({"a": "2"})));
    assert_eq!(
        warned.headers["warning"],
        "299 - \"line 6: key \\\"a\\\" already set in map\""
    );
    let ignored = apply_text(
        &wire,
        &format!("{}&fieldValidation=Ignore", apply_path("one")),
        yaml,
    )
    .await;
    assert!(!ignored.headers.contains_key("warning"));
}

#[tokio::test]
async fn resource_version_and_uid_in_the_document_must_match() {
    let wire = TestServer::start().await;
    let made = apply_successfully(&wire, &apply_path("one"), &config_map(&json!({"a": "1"}))).await;
    for (field, wrong, code) in [("resourceVersion", "1", 409), ("uid", "other", 422)] {
        let mut document = config_map(&json!({"a": "2"}));
        document["metadata"][field] = json!(wrong);
        assert_eq!(
            apply(&wire, &apply_path("one"), &document).await.code,
            code,
            "{field}"
        );
        document["metadata"][field] = made["metadata"][field].clone();
        let after = apply_successfully(&wire, &format!("{}&dryRun=All", apply_path("one")), &document).await;
        assert_eq!(after["data"]["a"], "2", "{field}");
    }
    let stored = wire.get(&format!("{CONFIG_MAPS}/c")).await.body;
    assert_eq!(stored, made, "a dry run stores nothing");
}

#[tokio::test]
async fn subresources_of_missing_objects_cannot_be_applied() {
    let wire = TestServer::start().await;
    let pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "status": {"phase": "Failed"}});
    let missing = apply(&wire, &format!("{PODS}/p/status?fieldManager=one"), &pod).await;
    assert_eq!((missing.code, &missing.body["reason"]), (404, &json!("NotFound")));
}

#[tokio::test]
async fn applied_objects_are_validated_and_get_a_generation() {
    let wire = TestServer::start().await;
    let path = format!("{CAPACITIES}/c?fieldManager=one");
    let document = |capacity: &str| {
        json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity", "metadata": {"name": "c"},
            "storageClassName": "fast", "capacity": capacity})
    };
    assert_eq!(apply(&wire, &path, &document("-1Gi")).await.code, 422);
    let made = apply_successfully(&wire, &path, &document("1024Mi")).await;
    assert_eq!(made["capacity"], "1Gi");
    assert_eq!(
        apply_successfully(&wire, &path, &document("1024Mi")).await,
        made,
        "an equal quantity is no change"
    );
    let refused = apply(&wire, &path, &document("much")).await;
    assert_eq!(refused.code, 500, "{}", refused.text);
    let text = refused.body["message"].as_str().unwrap_or_default();
    assert!(
        text.contains("unable to convert unstructured object to storage.k8s.io/v1, Kind=CSIStorageCapacity")
    );
}

#[tokio::test]
async fn managed_fields_entries_contain_version_and_its_field_names() {
    let wire = TestServer::start().await;
    let event = |version: &str, about: &str, text: &str| {
        json!({"apiVersion": version, "kind": "Event", "metadata": {"name": "e"},
            about: {"namespace": "default", "name": "p"}, text: "hello", "reason": "R", "action": "A",
            "eventTime": "2026-01-01T00:00:00.000000Z", "reportingInstance": "i", "type": "Normal"})
    };
    let mut newer = event("events.k8s.io/v1", "regarding", "note");
    newer["reportingController"] = json!("c");
    let path = "/apis/events.k8s.io/v1/namespaces/default/events/e?fieldManager=new";
    let made = apply_successfully(&wire, path, &newer).await;
    let entry = &made["metadata"]["managedFields"][0];
    assert_eq!(entry["apiVersion"], "events.k8s.io/v1");
    assert!(entry["fieldsV1"].get("f:note").is_some(), "{entry}");
    let core = "/api/v1/namespaces/default/events/e?fieldManager=old";
    let shown = wire.get("/api/v1/namespaces/default/events/e").await.body;
    assert_eq!(
        shown["metadata"]["managedFields"][0], *entry,
        "managedFields are the same in both groups"
    );
    let mut document = event("v1", "involvedObject", "message");
    document["message"] = json!("bye");
    let refused = apply(&wire, core, &document).await;
    let text = "Apply failed with 1 conflict: conflict with \"new\": .note";
    assert_eq!(
        refused.body["message"], text,
        "the conflict has the field path in the owner's version"
    );
}

#[tokio::test]
async fn entries_of_removed_versions_belong_to_the_same_manager() {
    let options = ServerOptions {
        release: fake_apiserver::Release::new(24).expect("the release is supported"),
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let of = |version: &str, capacity: Value| {
        json!({"apiVersion": format!("storage.k8s.io/{version}"), "kind": "CSIStorageCapacity",
            "metadata": {"name": "c"}, "storageClassName": "fast", "capacity": capacity})
    };
    let beta = CAPACITIES.replace("/v1/", "/v1beta1/");
    apply_successfully(
        &wire,
        &format!("{beta}/c?fieldManager=one"),
        &of("v1beta1", json!("1Gi")),
    )
    .await;
    let after = apply_successfully(
        &wire,
        &format!("{CAPACITIES}/c?fieldManager=one"),
        &of("v1", Value::Null),
    )
    .await;
    assert_eq!(managers(&after), ["one"]);
    assert_eq!(
        after["metadata"]["managedFields"][0]["apiVersion"],
        "storage.k8s.io/v1"
    );
}

#[tokio::test]
async fn server_side_apply_takes_over_fields_of_client_side_apply() {
    let wire = TestServer::start().await;
    let last =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    let object =
        json!({"metadata": {"name": "c", "annotations": {key: last.to_string()}}, "data": {"a": "1"}});
    wire.post(
        &format!("{CONFIG_MAPS}?fieldManager=kubectl-client-side-apply"),
        object,
    )
    .await;
    assert_eq!(
        apply(&wire, &apply_path("other"), &config_map(&json!({"a": "2"})))
            .await
            .code,
        409
    );
    let taken = apply_successfully(&wire, &apply_path("kubectl"), &config_map(&json!({"a": "2"}))).await;
    let annotation = taken["metadata"]["annotations"][key].as_str().unwrap_or_default();
    assert_eq!(
        annotation,
        format!("{}\n", config_map(&json!({"a": "2"}))),
        "the last-applied annotation is updated"
    );
    wire.merge(&apply_path("upd"), json!({"data": {"a": "3"}})).await;
    let refused = apply(&wire, &apply_path("kubectl"), &config_map(&json!({"a": "4"}))).await;
    assert_eq!(refused.code, 409, "another manager has changed the field since");
}

#[tokio::test]
async fn creating_by_apply_requires_the_create_permission() {
    let wire = start_with_rbac().await;
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch", "get"]}]);
    let role = json!({"metadata": {"name": "r"}, "rules": rules});
    wire.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
        .await;
    let binding = json!({"metadata": {"name": "b"}, "subjects": [{"kind": "User", "name": "limited",
        "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}});
    wire.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        .await;
    let token = wire.server.add_client("limited");
    let limited = client(&wire.running, Some(token));
    let body = config_map(&json!({})).to_string();
    let refused = request(&limited, "PATCH", &apply_path("one"), &MEDIA, body.clone()).await;
    assert_eq!(refused.status(), 403);
    apply_successfully(&wire, &apply_path("one"), &config_map(&json!({}))).await;
    assert_eq!(
        request(&limited, "PATCH", &apply_path("one"), &MEDIA, body)
            .await
            .status(),
        200
    );
}

/// API-33: since 1.23, `storageCapacity` can be added to an existing CSIDriver, by server-side apply as well as by a patch of kubectl.
#[tokio::test]
async fn adding_storage_capacity_to_a_csi_driver_is_accepted_since_1_23() {
    const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";
    for (minor, code) in [(21, 422), (22, 422), (23, 200), (36, 200)] {
        let options = ServerOptions {
            release: fake_apiserver::Release::new(minor).expect("the release is supported"),
            ..ServerOptions::default()
        };
        let wire = TestServer::start_with(options, None).await;
        let driver = |name: &str, spec: &Value| json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec});
        let (first, second) = (
            json!({"attachRequired": false}),
            json!({"attachRequired": false, "storageCapacity": true}),
        );
        let path = format!("{DRIVERS}/server?fieldManager=installer");
        apply_successfully(&wire, &path, &driver("server", &first)).await;
        let same = apply(&wire, &path, &driver("server", &first)).await;
        assert_eq!(same.code, 200, "1.{minor}: {}", same.text);
        let server_side = apply(&wire, &path, &driver("server", &second)).await;

        wire.create(DRIVERS, driver("client", &first)).await;
        let patch = json!({"spec": {"storageCapacity": true}}).to_string();
        let media = [("content-type", "application/strategic-merge-patch+json")];
        let client_side = wire
            .send("PATCH", &format!("{DRIVERS}/client"), &media, patch)
            .await;
        for (answer, name) in [(server_side, "server"), (client_side, "client")] {
            assert_eq!(answer.code, code, "1.{minor}, {name}: {}", answer.text);
            let stored = wire.get(&format!("{DRIVERS}/{name}")).await.body;
            assert_eq!(
                stored["spec"]["storageCapacity"],
                code == 200,
                "1.{minor}, {name}"
            );
        }
    }
}
