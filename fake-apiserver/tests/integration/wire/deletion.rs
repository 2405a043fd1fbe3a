//! delete and deletecollection: finalizers, grace periods, preconditions, namespaces.

use super::client::{CAPACITIES, CONFIG_MAPS, PODS, TestServer, capacity, pod, type_and_name};
use fake_apiserver::ServerOptions;
use serde_json::{Value, json};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[tokio::test]
async fn delete_returns_a_status_or_the_object_depending_on_kind() {
    let wire = TestServer::start().await;
    let created = wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    let deleted = wire.delete(&format!("{CAPACITIES}/c")).await;
    assert_eq!((deleted.code, &deleted.body["kind"]), (200, &json!("Status")));
    assert_eq!(deleted.body["details"]["uid"], created["metadata"]["uid"]);
    let classes = "/apis/storage.k8s.io/v1/storageclasses";
    wire.create(
        classes,
        json!({"metadata": {"name": "s"}, "provisioner": "p.example.com"}),
    )
    .await;
    assert_eq!(
        wire.delete(&format!("{classes}/s")).await.body["kind"],
        "StorageClass"
    );
}

#[tokio::test]
async fn objects_with_finalizers_are_deleted_when_the_last_one_is_removed() {
    let wire = TestServer::start().await;
    let path = format!("{CONFIG_MAPS}/m");
    let body = json!({"metadata": {"name": "m", "finalizers": ["example.com/hold"]}});
    let created = wire.create(CONFIG_MAPS, body).await;
    let from = created["metadata"]["resourceVersion"].as_str().unwrap();
    let mut watch = wire
        .watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion={from}"))
        .await;
    let held = wire.delete(&path).await;
    assert_eq!(
        (held.code, &held.body["metadata"]["deletionGracePeriodSeconds"]),
        (200, &json!(0))
    );
    let held_at = held.body["metadata"]["resourceVersion"].clone();
    let again = wire.delete(&path).await;
    assert_eq!(
        again.body["metadata"]["resourceVersion"], held_at,
        "a second delete changes nothing"
    );
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
    assert_eq!(wire.merge(&path, more).await.code, 422);
    let freed = wire.merge(&path, json!({"metadata": {"finalizers": null}})).await;
    assert_eq!(
        freed.body["metadata"]["resourceVersion"], held_at,
        "the response has the resourceVersion before the deletion"
    );
    assert_eq!(wire.get(&path).await.code, 404);
    let modified = watch.next().await.unwrap();
    let deleted = watch.next().await.unwrap();
    assert_eq!(
        [type_and_name(&modified), type_and_name(&deleted)],
        ["MODIFIED m", "DELETED m"]
    );
    let revision = |event: &Value| {
        event["object"]["metadata"]["resourceVersion"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    assert!(
        revision(&deleted) > revision(&modified),
        "the event has the resourceVersion of the deletion"
    );
}

#[tokio::test]
async fn delete_preconditions_must_match() {
    let wire = TestServer::start().await;
    let created = wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    let path = format!("{CAPACITIES}/c");
    let other = json!({"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}});
    let refused = wire.send("DELETE", &path, &JSON, other.to_string()).await;
    assert_eq!(
        (refused.code, &refused.body["details"]["kind"]),
        (409, &json!("CSIStorageCapacity"))
    );
    let stale = json!({"preconditions": {"resourceVersion": "1"}});
    assert_eq!(
        wire.send("DELETE", &path, &JSON, stale.to_string()).await.code,
        409
    );
    let right = json!({"preconditions": {"uid": created["metadata"]["uid"]}});
    assert_eq!(
        wire.send("DELETE", &path, &JSON, right.to_string()).await.code,
        200
    );
}

#[tokio::test]
async fn propagation_policies_add_finalizers() {
    let wire = TestServer::start().await;
    for (name, policy, finalizer) in [
        ("f", "Foreground", "foregroundDeletion"),
        ("o", "Orphan", "orphan"),
    ] {
        wire.create(CONFIG_MAPS, json!({"metadata": {"name": name}}))
            .await;
        let options = json!({"propagationPolicy": policy}).to_string();
        let held = wire
            .send("DELETE", &format!("{CONFIG_MAPS}/{name}"), &JSON, options)
            .await;
        assert_eq!(held.body["metadata"]["finalizers"], json!([finalizer]));
    }
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "b"}})).await;
    let bad = wire
        .delete(&format!("{CONFIG_MAPS}/b?propagationPolicy=Sideways"))
        .await;
    assert_eq!(
        (bad.code, &bad.body["details"]["kind"]),
        (422, &json!("DeleteOptions"))
    );
    assert_eq!(
        wire.delete(&format!("{CONFIG_MAPS}/b?propagationPolicy=Background"))
            .await
            .body["status"],
        "Success"
    );
}

#[tokio::test]
async fn bound_pods_have_a_grace_period_unless_kubelet_less() {
    for kubelet_less in [true, false] {
        let options = ServerOptions {
            kubelet_less,
            default_service_accounts: true,
            ..ServerOptions::default()
        };
        let wire = TestServer::start_with(options, None).await;
        wire.create(PODS, pod("unbound")).await;
        wire.create(PODS, pod("bound")).await;
        let binding = json!({"metadata": {"name": "bound"}, "target": {"kind": "Node", "name": "n1"}});
        wire.create(&format!("{PODS}/bound/binding"), binding).await;
        for name in ["unbound", "bound"] {
            let deleted = wire.delete(&format!("{PODS}/{name}")).await;
            assert_eq!((deleted.code, &deleted.body["kind"]), (200, &json!("Pod")));
        }
        assert_eq!(wire.get(&format!("{PODS}/unbound")).await.code, 404);
        let bound = wire.get(&format!("{PODS}/bound")).await;
        if kubelet_less {
            assert_eq!(bound.code, 404);
            continue;
        }
        assert_eq!(bound.body["metadata"]["deletionGracePeriodSeconds"], 30);
        assert_eq!(
            bound.body["metadata"]["generation"], 2,
            "deleting a pod increases its generation"
        );
        let shorter = wire.delete(&format!("{PODS}/bound?gracePeriodSeconds=5")).await;
        assert_eq!(shorter.body["metadata"]["deletionGracePeriodSeconds"], 5);
        let longer = wire.delete(&format!("{PODS}/bound?gracePeriodSeconds=50")).await;
        assert_eq!(
            longer.body["metadata"]["deletionGracePeriodSeconds"], 5,
            "a grace period can only be shortened"
        );
        wire.delete(&format!("{PODS}/bound?gracePeriodSeconds=0")).await;
        assert_eq!(wire.get(&format!("{PODS}/bound")).await.code, 404);
    }
}

#[tokio::test]
async fn collections_are_deleted_by_selector() {
    let wire = TestServer::start().await;
    for (name, team) in [("a", "x"), ("b", "y"), ("c", "x")] {
        wire.create(
            CONFIG_MAPS,
            json!({"metadata": {"name": name, "labels": {"team": team}}}),
        )
        .await;
    }
    let deleted = wire
        .delete(&format!("{CONFIG_MAPS}?labelSelector=team%3Dx"))
        .await;
    assert_eq!(
        (deleted.code, deleted.body["items"].as_array().unwrap().len()),
        (200, 2)
    );
    let left = wire.get(CONFIG_MAPS).await.body;
    assert_eq!(left["items"].as_array().unwrap().len(), 1);
    assert_eq!(wire.delete("/api/v1/namespaces").await.code, 405);
    assert_eq!(
        wire.delete("/api/v1/configmaps").await.code,
        405,
        "deletecollection across all namespaces is not allowed"
    );
}

#[tokio::test]
async fn deleting_a_namespace_deletes_its_content() {
    let wire = TestServer::start().await;
    wire.create("/api/v1/namespaces", json!({"metadata": {"name": "team"}}))
        .await;
    let maps = "/api/v1/namespaces/team/configmaps";
    wire.create(maps, json!({"metadata": {"name": "plain"}})).await;
    wire.create(
        maps,
        json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}),
    )
    .await;
    wire.create("/api/v1/namespaces/team/pods", pod("p")).await;
    let deleted = wire.delete("/api/v1/namespaces/team").await;
    assert_eq!(
        (deleted.code, &deleted.body["status"]["phase"]),
        (200, &json!("Terminating"))
    );
    assert_eq!(wire.get("/api/v1/namespaces/team/pods/p").await.code, 404);
    assert_eq!(
        wire.get("/api/v1/namespaces/team").await.code,
        200,
        "an object with a finalizer blocks the namespace"
    );
    let refused = wire.post(maps, json!({"metadata": {"name": "late"}})).await;
    assert_eq!(
        (refused.code, &refused.body["details"]["causes"][0]["reason"]),
        (403, &json!("NamespaceTerminating"))
    );
    wire.merge(&format!("{maps}/held"), json!({"metadata": {"finalizers": []}}))
        .await;
    assert_eq!(wire.get("/api/v1/namespaces/team").await.code, 404);
}

#[tokio::test]
async fn protection_finalizers_are_added_if_the_plugin_is_enabled() {
    let options = ServerOptions {
        admission: fake_apiserver::Admission::kubernetes_defaults(),
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let claim = json!({
        "metadata": {"name": "c"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let created = wire
        .create("/api/v1/namespaces/default/persistentvolumeclaims", claim)
        .await;
    assert_eq!(
        created["metadata"]["finalizers"],
        json!(["kubernetes.io/pvc-protection"])
    );
}

#[tokio::test]
async fn large_collections_are_deleted_despite_concurrent_writes() {
    let wire = TestServer::start().await;
    let local = wire.server.client("writer");
    let map = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("m{number:04}"), "namespace": "default"},
        })
    };
    for number in 0..1000 {
        local.create(map(number)).expect("the name is unused");
    }
    let maps = "/api/v1/namespaces/default/configmaps";
    // deletecollection deletes in batches, and must not block a concurrent writer between two batches.
    let (deleted, written) = tokio::join!(wire.delete(maps), async {
        let mut written = 0;
        for number in 1000..1200 {
            written += usize::from(wire.post(maps, map(number)).await.code == 201);
        }
        written
    });
    assert_eq!((deleted.code, written), (200, 200));
    let names = |list: &Value| -> Vec<String> {
        let items = list["items"].as_array().expect("the response is a list");
        items
            .iter()
            .filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned()))
            .collect()
    };
    let (gone, left) = (names(&deleted.body), names(&wire.get(maps).await.body));
    assert!(
        gone.len() >= 1000 && gone.len() + left.len() == 1200,
        "{} and {}",
        gone.len(),
        left.len()
    );
    assert!(
        left.iter().all(|name| !gone.contains(name)),
        "a deleted object still exists"
    );
}

#[tokio::test]
async fn resource_version_in_the_query_is_a_precondition_of_delete() {
    let wire = TestServer::start().await;
    let body = |name: &str| json!({"metadata": {"name": name}});
    let first = wire.create(CONFIG_MAPS, body("a")).await;
    let second = wire.create(CONFIG_MAPS, body("b")).await;
    let revision = |object: &Value| object["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    let (old, new) = (revision(&first), revision(&second));
    for path in [CONFIG_MAPS.to_owned(), format!("{CONFIG_MAPS}/a")] {
        let answer = wire.delete(&format!("{path}?resourceVersion={new}")).await;
        let text = format!(
            "Operation cannot be fulfilled on ConfigMap \"a\": the ResourceVersion in the precondition ({new}) does \
             not match the ResourceVersion in record ({old}). The object might have been modified"
        );
        assert_eq!(
            (answer.code, &answer.body["message"]),
            (409, &json!(text)),
            "{path}"
        );
    }
    // ConfigMap `b` did not exist at the revision `old`, so it is not deleted.
    let swept = wire.delete(&format!("{CONFIG_MAPS}?resourceVersion={old}")).await;
    assert_eq!(
        (swept.code, swept.body["items"].as_array().map(Vec::len)),
        (200, Some(1))
    );
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/b")).await.code, 200);
}

#[tokio::test]
async fn collections_are_deleted_even_if_the_response_is_not_acceptable() {
    let wire = TestServer::start().await;
    wire.create(CONFIG_MAPS, json!({"metadata": {"name": "a"}})).await;
    let one = [(
        "accept",
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
    )];
    let answer = wire.send("DELETE", CONFIG_MAPS, &one, String::new()).await;
    let text =
        "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)";
    assert_eq!((answer.code, &answer.body["message"]), (406, &json!(text)));
    assert_eq!(wire.get(&format!("{CONFIG_MAPS}/a")).await.code, 404);
}
