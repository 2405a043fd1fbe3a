//! `metadata.managedFields`: ownership after create, update and patch, and changes by clients.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestResponse, TestServer, capacity, pod};
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

/// `manager operation subresource` of each managedFields entry.
fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array();
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    entries
        .into_iter()
        .flatten()
        .map(|entry| {
            let parts = ["manager", "operation", "subresource"].map(|name| text(entry, name));
            parts.join(" ").trim_end().to_owned()
        })
        .collect()
}

pub(super) fn owned<'a>(object: &'a Value, manager: &str) -> &'a Value {
    let entries = object["metadata"]["managedFields"].as_array();
    let mut entries = entries.into_iter().flatten();
    let entry = entries.find(|entry| entry["manager"] == manager);
    entry.map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

async fn create_as(wire: &TestServer, path: &str, manager: &str, object: Value) -> Value {
    let created = wire.post(&format!("{path}?fieldManager={manager}"), object).await;
    assert_eq!(created.code, 201, "{}", created.text);
    created.body
}

async fn patch(wire: &TestServer, path: &str, media: &str, patch: Value) -> TestResponse {
    wire.send("PATCH", path, &[("content-type", media)], patch.to_string())
        .await
}

#[tokio::test]
async fn creators_own_the_fields_they_set() {
    let wire = TestServer::start().await;
    let object = json!({"metadata": {"name": "c", "labels": {"a": "1"}, "finalizers": ["x.com/y"]},
        "storageClassName": "fast", "capacity": "1Gi", "nodeTopology": {"matchLabels": {"n": "1"}}});
    let created = create_as(&wire, CAPACITIES, "me", object).await;
    let entry = &created["metadata"]["managedFields"][0];
    assert_eq!(
        *entry,
        json!({"manager": "me", "operation": "Update", "apiVersion": "storage.k8s.io/v1",
            "time": created["metadata"]["creationTimestamp"], "fieldsType": "FieldsV1", "fieldsV1": {
                "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, "v:\"x.com/y\"": {}}},
                "f:storageClassName": {}, "f:capacity": {}, "f:nodeTopology": {}}})
    );
    assert_eq!(wire.get(&format!("{CAPACITIES}/c")).await.body, created);
}

#[tokio::test]
async fn the_default_manager_is_the_prefix_of_the_user_agent() {
    let wire = TestServer::start().await;
    for (name, agent, manager) in [
        ("a", "csi-provisioner/v6.0.0 (linux)", "csi-provisioner"),
        ("b", "curl", "curl"),
        ("c", "", "unknown"),
    ] {
        let headers = [("content-type", "application/json"), ("user-agent", agent)];
        let body = json!({"metadata": {"name": name}, "data": {"k": "v"}}).to_string();
        let created = wire.send("POST", CONFIG_MAPS, &headers, body).await;
        assert_eq!(
            managers(&created.body),
            [format!("{manager} Update")],
            "{agent:?}"
        );
    }
}

#[tokio::test]
async fn updates_take_ownership_of_changed_fields() {
    let wire = TestServer::start().await;
    let object = json!({"metadata": {"name": "c"}, "data": {"a": "1", "b": "1", "c": "1"}});
    let mut object = create_as(&wire, CONFIG_MAPS, "one", object).await;
    object["data"] = json!({"a": "1", "b": "2", "d": "1"});
    let path = format!("{CONFIG_MAPS}/c?fieldManager=two");
    let after = wire.put(&path, object).await.body;
    assert_eq!(owned(&after, "one"), &json!({"f:data": {".": {}, "f:a": {}}}));
    assert_eq!(owned(&after, "two"), &json!({"f:data": {"f:b": {}, "f:d": {}}}));
}

#[tokio::test]
async fn all_patch_types_record_their_manager() {
    let wire = TestServer::start().await;
    create_as(
        &wire,
        CONFIG_MAPS,
        "one",
        json!({"metadata": {"name": "c"}, "data": {"a": "1"}}),
    )
    .await;
    for (media, body) in [
        (
            "json-patch+json",
            json!([{"op": "add", "path": "/data/json", "value": "1"}]),
        ),
        ("merge-patch+json", json!({"data": {"merge": "1"}})),
        ("strategic-merge-patch+json", json!({"data": {"strategic": "1"}})),
    ] {
        let manager = media.split('-').next().unwrap();
        let path = format!("{CONFIG_MAPS}/c?fieldManager={manager}");
        let after = patch(&wire, &path, &format!("application/{media}"), body)
            .await
            .body;
        let field = format!("f:{manager}");
        assert_eq!(owned(&after, manager), &json!({"f:data": {field: {}}}), "{media}");
    }
}

#[tokio::test]
async fn writes_without_changes_preserve_owners_and_resource_version() {
    let wire = TestServer::start().await;
    let created = create_as(&wire, CAPACITIES, "one", capacity("c", "1Gi")).await;
    let path = format!("{CAPACITIES}/c?fieldManager=two");
    let mut same = created.clone();
    same["metadata"]["managedFields"] = Value::Null;
    assert_eq!(
        wire.put(&path, same).await.body,
        created,
        "updates without managedFields preserve them"
    );
    let merged = wire.merge(&path, json!({"capacity": "1Gi"})).await.body;
    assert_eq!(merged, created);
}

#[tokio::test]
async fn status_fields_are_owned_through_the_status_subresource() {
    let wire = TestServer::start().await;
    let mut object = pod("p");
    object["status"] = json!({"phase": "Running"});
    let created = create_as(&wire, PODS, "creator", object).await;
    assert!(
        owned(&created, "creator").get("f:status").is_none(),
        "the status of a new pod is reset"
    );
    let path = format!("{PODS}/p/status?fieldManager=kubelet");
    let mut object = wire.get(&format!("{PODS}/p")).await.body;
    object["status"]["hostIP"] = json!("10.0.0.1");
    object["spec"]["schedulerName"] = json!("ignored");
    // `managedFields` in the body of a status update are ignored.
    object["metadata"]["managedFields"] = json!([{}]);
    let after = wire.put(&path, object).await.body;
    // managedFields entries are sorted by time (in seconds), then by manager.
    assert_eq!(managers(&after), ["creator Update", "kubelet Update status"]);
    assert_eq!(owned(&after, "kubelet"), &json!({"f:status": {"f:hostIP": {}}}));
}

#[tokio::test]
async fn clients_may_remove_all_entries() {
    let wire = TestServer::start().await;
    for (name, empty) in [("a", json!([{}])), ("b", json!([]))] {
        let object = json!({"metadata": {"name": name}, "data": {"a": "1"}});
        create_as(&wire, CONFIG_MAPS, "one", object).await;
        let path = format!("{CONFIG_MAPS}/{name}?fieldManager=two");
        let after = wire
            .merge(&path, json!({"metadata": {"managedFields": empty}}))
            .await
            .body;
        assert_eq!(after["metadata"].get("managedFields"), None, "{empty}");
        let after = wire.merge(&path, json!({"data": {"a": "2"}})).await.body;
        assert_eq!(
            after["metadata"].get("managedFields"),
            None,
            "after a reset, managers are tracked only from the next apply on"
        );
    }
}

#[tokio::test]
async fn clients_may_replace_entries_but_invalid_ones_are_ignored() {
    let wire = TestServer::start().await;
    let object = json!({"metadata": {"name": "c"}, "data": {"a": "1"}});
    let created = create_as(&wire, CONFIG_MAPS, "one", object).await;
    let path = format!("{CONFIG_MAPS}/c?fieldManager=two");
    for broken in [
        json!([{"manager": "x"}]),
        json!([{"manager": "x", "operation": "Take", "apiVersion": "v1", "fieldsType": "FieldsV1"}]),
        json!([{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "V2", "fieldsV1": {}}]),
        json!([{"manager": "x", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"data": {}}}]),
    ] {
        let after = wire
            .merge(&path, json!({"metadata": {"managedFields": broken}}))
            .await;
        assert_eq!(after.body, created, "{broken}: {}", after.text);
    }
    let operations = json!([
        {"op": "test", "path": "/metadata/managedFields/0/manager", "value": "one"},
        {"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "other"},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": created["metadata"]["resourceVersion"]}]);
    let media = "application/json-patch+json";
    let after = patch(&wire, &path, media, operations.clone()).await;
    assert_eq!(managers(&after.body), ["other Update"], "{}", after.text);
    assert_eq!(
        patch(&wire, &path, media, operations).await.code,
        422,
        "the manager in the `test` operation no longer matches"
    );
}

#[tokio::test]
async fn fields_set_by_the_server_have_no_owner() {
    let options = ServerOptions {
        kubelet_less: false,
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let node = create_as(&wire, "/api/v1/nodes", "one", json!({"metadata": {"name": "n"}})).await;
    assert!(
        node["spec"]["taints"].is_array() && managers(&node).is_empty(),
        "{node}"
    );
    let space = create_as(
        &wire,
        "/api/v1/namespaces",
        "one",
        json!({"metadata": {"name": "s"}}),
    )
    .await;
    let label = json!({"f:metadata": {"f:labels": {".": {}, "f:kubernetes.io/metadata.name": {}}}});
    assert_eq!(owned(&space, "one"), &label, "owns the default");
    let initial = wire.get("/api/v1/namespaces/default").await.body;
    assert_eq!(owned(&initial, "kube-apiserver"), &label);
}

#[tokio::test]
async fn bindings_and_deletions_do_not_change_owners() {
    let wire = TestServer::start().await;
    let created = create_as(&wire, PODS, "one", pod("p")).await;
    let binding = json!({"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}});
    assert_eq!(wire.post(&format!("{PODS}/p/binding"), binding).await.code, 201);
    let bound = wire.get(&format!("{PODS}/p")).await.body;
    assert_eq!(
        bound["metadata"]["managedFields"],
        created["metadata"]["managedFields"]
    );
    let held = json!({"metadata": {"name": "c", "finalizers": ["x.com/y"]}});
    let held = create_as(&wire, CONFIG_MAPS, "one", held).await;
    let deleted = wire.delete(&format!("{CONFIG_MAPS}/c")).await.body;
    assert_eq!(
        deleted["metadata"]["managedFields"],
        held["metadata"]["managedFields"]
    );
}

#[tokio::test]
async fn entries_are_returned_by_get_list_watch_and_in_process_clients() {
    let wire = TestServer::start().await;
    let created = create_as(
        &wire,
        CONFIG_MAPS,
        "one",
        json!({"metadata": {"name": "c"}, "data": {"a": "1"}}),
    )
    .await;
    let entries = &created["metadata"]["managedFields"];
    let path = format!("{CONFIG_MAPS}/c");
    let metadata = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let shown = wire
        .send("GET", &path, &[("accept", metadata)], String::new())
        .await;
    assert_eq!(&shown.body["metadata"]["managedFields"], entries);
    let listed = wire.get(CONFIG_MAPS).await.body;
    assert_eq!(&listed["items"][0]["metadata"]["managedFields"], entries);
    let local = wire.server.client("x");
    let at = fake_apiserver::ResourceRef::core("configmaps")
        .namespace("default")
        .name("c");
    assert_eq!(&local.get(&at).unwrap()["metadata"]["managedFields"], entries);
    let mut events = wire
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=1"))
        .await;
    let event = events.next().await.expect("the watch returns an event");
    assert_eq!(&event["object"]["metadata"]["managedFields"], entries);
}

#[tokio::test]
async fn field_manager_must_be_short_and_printable() {
    let wire = TestServer::start().await;
    let body = || json!({"metadata": {"name": "c"}});
    let long = wire
        .post(&format!("{CONFIG_MAPS}?fieldManager={}", "m".repeat(129)), body())
        .await;
    let text =
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than 128 bytes";
    assert_eq!((long.code, &long.body["message"]), (422, &json!(text)));
    let odd = wire
        .post(&format!("{CONFIG_MAPS}?fieldManager=a%0Ab"), body())
        .await;
    let text = "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\nb\": invalid character \
        U+000A (at position 1)";
    assert_eq!((odd.code, &odd.body["message"]), (422, &json!(text)));
}

#[tokio::test]
async fn in_process_clients_are_managers() {
    let wire = TestServer::start().await;
    let local = wire.server.client("harness");
    let object = json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "default"}, "storageClassName": "fast", "capacity": "1Gi"});
    let created = local.create(object).unwrap();
    assert_eq!(managers(&created), ["harness Update"]);
    let mut changed = Value::clone(&created);
    changed["capacity"] = json!("2Gi");
    let after = wire.server.client("other").update(changed).unwrap();
    assert_eq!(owned(&after, "other"), &json!({"f:capacity": {}}));
}
