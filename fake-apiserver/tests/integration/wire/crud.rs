//! create, get, update and patch: status codes, bodies, resource versions.

use super::client::{CAPACITIES, CONFIG_MAPS, TestServer, capacity, client, request};
use serde_json::{Value, json};

#[tokio::test]
async fn get_returns_the_object_that_create_returned() {
    let wire = TestServer::start().await;
    let created = wire.create(CAPACITIES, capacity("c1", "100Gi")).await;
    assert_eq!(
        created["kind"], "CSIStorageCapacity",
        "a request body may omit its kind"
    );
    assert_eq!(created["apiVersion"], "storage.k8s.io/v1");
    assert_eq!(created["metadata"]["namespace"], "default");
    assert!(
        created["metadata"]["uid"]
            .as_str()
            .is_some_and(|uid| uid.len() == 36)
    );
    assert!(
        created["metadata"]["generation"].is_null(),
        "this kind has no generation"
    );
    let read = wire.get(&format!("{CAPACITIES}/c1")).await;
    assert_eq!((read.code, read.body), (200, created));
}

#[tokio::test]
async fn list_items_have_no_kind_and_are_sorted_by_name() {
    let wire = TestServer::start().await;
    for name in ["b", "c", "a"] {
        wire.create(CAPACITIES, capacity(name, "1Gi")).await;
    }
    let list = wire.get(CAPACITIES).await.body;
    assert_eq!(list["kind"], "CSIStorageCapacityList");
    let names: Vec<&str> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert!(
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|i| i["kind"].is_null() && i["apiVersion"].is_null())
    );
    assert_eq!(
        list["metadata"]["resourceVersion"],
        wire.server.revision().to_string()
    );
}

#[tokio::test]
async fn generated_names_end_with_five_consonants_or_digits() {
    let wire = TestServer::start().await;
    let long = "g".repeat(70);
    for base in ["csisc-", &long] {
        let body = json!({"metadata": {"generateName": base}, "storageClassName": "fast"});
        let created = wire.create(CAPACITIES, body).await;
        let name = created["metadata"]["name"].as_str().unwrap();
        let stored = &base[..base.len().min(58)];
        let suffix = name.strip_prefix(stored).unwrap();
        assert_eq!(suffix.len(), 5, "{name}");
        assert!(
            suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn updates_with_an_old_resource_version_conflict() {
    let wire = TestServer::start().await;
    let path = format!("{CAPACITIES}/c1");
    let first = wire.create(CAPACITIES, capacity("c1", "1Gi")).await;
    let mut second = first.clone();
    second["capacity"] = json!("2Gi");
    let updated = wire.put(&path, second.clone()).await;
    assert_eq!(updated.code, 200);
    assert_ne!(
        updated.body["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
    let stale = wire.put(&path, second.clone()).await;
    assert_eq!((stale.code, &stale.body["reason"]), (409, &json!("Conflict")));
    second["metadata"]["resourceVersion"] = Value::Null;
    let without = wire.put(&path, second).await;
    assert_eq!(without.code, 422, "unconditional updates are invalid");
    assert!(without.text.contains("must be specified for an update"));
}

#[tokio::test]
async fn writes_without_changes_preserve_the_resource_version() {
    let wire = TestServer::start().await;
    let created = wire
        .create(
            CONFIG_MAPS,
            json!({"metadata": {"name": "m"}, "data": {"a": "1"}}),
        )
        .await;
    let before = wire.server.revision();
    let put = wire.put(&format!("{CONFIG_MAPS}/m"), created.clone()).await;
    let patched = wire
        .merge(&format!("{CONFIG_MAPS}/m"), json!({"data": {"a": "1"}}))
        .await;
    assert_eq!((put.body, patched.body), (created.clone(), created));
    assert_eq!(wire.server.revision(), before);
}

#[tokio::test]
async fn server_managed_metadata_cannot_be_changed() {
    let wire = TestServer::start().await;
    let created = wire.create(CONFIG_MAPS, json!({"metadata": {"name": "m"}})).await;
    let meddled = json!({"metadata": {
        "creationTimestamp": "2001-01-01T00:00:00Z", "generation": 9, "labels": {"a": "b"},
    }});
    let patched = wire.merge(&format!("{CONFIG_MAPS}/m"), meddled).await.body;
    assert_eq!(patched["metadata"]["labels"]["a"], "b");
    for field in ["creationTimestamp", "generation", "uid"] {
        assert_eq!(patched["metadata"][field], created["metadata"][field], "{field}");
    }
    for (field, value) in [("deletionTimestamp", "2001-01-01T00:00:00Z"), ("uid", "other")] {
        let refused = wire
            .merge(&format!("{CONFIG_MAPS}/m"), json!({"metadata": {field: value}}))
            .await;
        assert_eq!(refused.code, 422, "{field}");
    }
}

#[tokio::test]
async fn put_creates_missing_objects_only_of_kinds_that_allow_it() {
    let wire = TestServer::start().await;
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let lease = json!({"metadata": {"name": "l"}, "spec": {"holderIdentity": "a"}});
    assert_eq!(wire.put(&format!("{leases}/l"), lease).await.code, 201);
    assert_eq!(
        wire.put(&format!("{CAPACITIES}/c"), capacity("c", "1Gi"))
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn patches_are_applied_atomically() {
    let wire = TestServer::start().await;
    let path = format!("{CAPACITIES}/c1");
    wire.create(CAPACITIES, capacity("c1", "1Gi")).await;
    let merged = wire
        .merge(&path, json!({"capacity": null, "maximumVolumeSize": "5Gi"}))
        .await;
    assert_eq!(merged.code, 200);
    assert!(merged.body.get("capacity").is_none());
    let operations = json!([
        {"op": "add", "path": "/capacity", "value": "3Gi"},
        {"op": "test", "path": "/storageClassName", "value": "slow"},
    ]);
    let json_patch = [("content-type", "application/json-patch+json")];
    let failed = wire
        .send("PATCH", &path, &json_patch, operations.to_string())
        .await;
    assert_eq!((failed.code, &failed.body["reason"]), (422, &json!("Invalid")));
    assert!(
        wire.get(&path).await.body.get("capacity").is_none(),
        "no operation of a failed patch is stored"
    );
}

#[tokio::test]
async fn dry_runs_are_validated_but_not_stored() {
    let wire = TestServer::start().await;
    let before = wire.server.revision();
    let created = wire
        .post(&format!("{CAPACITIES}?dryRun=All"), capacity("c1", "1Gi"))
        .await;
    assert_eq!(created.code, 201);
    assert!(created.body["metadata"]["resourceVersion"].is_null());
    assert_eq!(
        wire.post(&format!("{CAPACITIES}?dryRun=All"), capacity("c1", "-1"))
            .await
            .code,
        422
    );
    assert_eq!(wire.get(&format!("{CAPACITIES}/c1")).await.code, 404);
    wire.create(CAPACITIES, capacity("c2", "1Gi")).await;
    let path = format!("{CAPACITIES}/c2?dryRun=All");
    assert_eq!(
        wire.merge(&path, json!({"capacity": "9Gi"})).await.body["capacity"],
        "9Gi"
    );
    assert_eq!(wire.delete(&path).await.code, 200);
    assert_eq!(
        wire.get(&format!("{CAPACITIES}/c2")).await.body["capacity"],
        "1Gi"
    );
    assert_eq!(
        wire.server.revision(),
        before + 1,
        "only the creation without dry run increased the revision"
    );
}

#[tokio::test]
async fn events_are_served_in_both_groups() {
    let wire = TestServer::start().await;
    let event = json!({
        "metadata": {"name": "e"}, "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "message": "no room", "reason": "FailedScheduling", "count": 2,
    });
    let created = wire.create("/api/v1/namespaces/default/events", event).await;
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    let shown = wire.get(&format!("{path}/e")).await.body;
    assert_eq!(shown["note"], "no room");
    assert_eq!(shown["regarding"]["name"], "p");
    assert_eq!(shown["deprecatedCount"], 2);
    assert_eq!(shown["metadata"], created["metadata"]);
    let patched = wire
        .merge(&format!("{path}/e"), json!({"metadata": {"labels": {"a": "b"}}}))
        .await;
    assert_eq!(
        (patched.code, &patched.body["note"]),
        (200, &json!("no room")),
        "{}",
        patched.text
    );
    let core = wire.get("/api/v1/namespaces/default/events/e").await.body;
    assert_eq!(
        (&core["message"], &core["metadata"]["labels"]["a"]),
        (&json!("no room"), &json!("b"))
    );
    let list = wire
        .get(&format!("{path}?fieldSelector=regarding.name%3Dp"))
        .await
        .body;
    assert_eq!(
        (&list["items"][0]["note"], list["items"][0].get("message")),
        (&json!("no room"), None)
    );
    let old = json!({"metadata": {"name": "e2"}, "regarding": {"namespace": "default"}, "note": "n"});
    assert!(
        wire.post(path, old)
            .await
            .text
            .contains("eventTime: Required value"),
        "events.k8s.io/v1 has stricter validation"
    );
}

#[tokio::test]
async fn requests_without_a_valid_token_are_unauthorized() {
    let wire = TestServer::start().await;
    let wrong = client(&wire.running, Some("wrong".to_owned()));
    assert_eq!(
        request(&wrong, "GET", CAPACITIES, &[], String::new())
            .await
            .status(),
        401
    );
    let nobody = client(&wire.running, None);
    assert_eq!(
        request(&nobody, "GET", CAPACITIES, &[], String::new())
            .await
            .status(),
        403
    );
    assert_eq!(
        request(&nobody, "GET", "/api", &[], String::new()).await.status(),
        403
    );
    assert_eq!(
        request(&nobody, "GET", "/readyz", &[], String::new())
            .await
            .status(),
        200
    );
    let open = wire.server.start_as("kubectl").await.unwrap();
    let welcome = client(&open, None);
    assert_eq!(
        request(&welcome, "GET", CAPACITIES, &[], String::new())
            .await
            .status(),
        200
    );
}

#[tokio::test]
async fn in_process_clients_behave_like_http_clients() {
    use fake_apiserver::ResourceRef;
    let wire = TestServer::start().await;
    let local = wire.server.client("harness");
    let at = ResourceRef::new("storage.k8s.io", "csistoragecapacities").namespace("default");
    let object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {"name": "c", "namespace": "default"}, "storageClassName": "fast", "capacity": "1024Mi",
    });
    let created = local.create(object.clone()).unwrap();
    assert_eq!(*created, wire.get(&format!("{CAPACITIES}/c")).await.body);
    assert_eq!(local.create(object).unwrap_err().reason, Some("AlreadyExists"));
    let one = at.clone().name("c");
    let refused = local.patch_merge(&one, json!({"capacity": "-1Gi"})).unwrap_err();
    assert_eq!(refused.code, 422);
    let mut changed = Value::clone(&created);
    changed["capacity"] = json!("2Gi");
    assert_eq!(local.update(changed).unwrap()["capacity"], "2Gi");
    assert_eq!(local.list(&at).unwrap().items.len(), 1);
    local.delete(&one).unwrap();
    assert_eq!(local.get(&one).unwrap_err().code, 404);
}

#[tokio::test]
async fn dry_run_create_ignores_the_resource_version() {
    let wire = TestServer::start().await;
    let map = json!({"metadata": {"name": "m", "resourceVersion": "7"}});
    assert_eq!(wire.post(CONFIG_MAPS, map.clone()).await.code, 500);
    assert_eq!(
        wire.post(&format!("{CONFIG_MAPS}?dryRun=All"), map).await.code,
        201
    );
}

#[tokio::test]
async fn members_of_a_status_are_in_go_order() {
    let wire = TestServer::start().await;
    let text = r#"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"configmaps \"m\" not found","reason":"NotFound","details":{"name":"m","kind":"configmaps"},"code":404}"#;
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/m")).await.text.trim_end(), text);
    let pretty = wire.get(&format!("{CONFIG_MAPS}/m?pretty=true")).await.text;
    assert!(
        pretty.starts_with("{\n  \"kind\": \"Status\",\n  \"apiVersion\": \"v1\","),
        "{pretty}"
    );
}
