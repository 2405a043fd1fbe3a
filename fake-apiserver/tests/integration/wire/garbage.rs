//! Garbage collection: what happens to the dependents of deleted owners.

use super::client::{CONFIG_MAPS, TestServer};
use fake_apiserver::{Release, ServerOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const EVENTS: &str = "/api/v1/namespaces/default/events";

/// An owner reference to `owner`. `blocks`: `blockOwnerDeletion`.
fn owner_reference(owner: &Value, blocks: bool) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": blocks,
    })
}

async fn create_map(wire: &TestServer, name: &str, owners: &[Value]) -> Value {
    wire.create(
        CONFIG_MAPS,
        json!({"metadata": {"name": name, "ownerReferences": owners}}),
    )
    .await
}

/// The names of the remaining ConfigMaps, after the garbage collector has become idle.
async fn remaining_maps(wire: &TestServer) -> Vec<String> {
    wire.server.quiet().await;
    let list = wire.get(CONFIG_MAPS).await.body;
    let items = list["items"].as_array().expect("the list has items");
    items
        .iter()
        .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
        .collect()
}

#[tokio::test]
async fn transitive_dependents_are_deleted_with_their_owner() {
    let wire = TestServer::start().await;
    let owner = create_map(&wire, "owner", &[]).await;
    let child = create_map(&wire, "child", &[owner_reference(&owner, false)]).await;
    create_map(&wire, "grandchild", &[owner_reference(&child, false)]).await;
    create_map(&wire, "stranger", &[]).await;
    wire.delete(&format!("{CONFIG_MAPS}/owner")).await;
    assert_eq!(remaining_maps(&wire).await, ["stranger"]);
}

#[tokio::test]
async fn dependents_with_another_owner_lose_only_the_reference() {
    let wire = TestServer::start().await;
    let owners = [
        create_map(&wire, "a", &[]).await,
        create_map(&wire, "b", &[]).await,
    ];
    create_map(
        &wire,
        "child",
        &[
            owner_reference(&owners[0], false),
            owner_reference(&owners[1], false),
        ],
    )
    .await;
    wire.delete(&format!("{CONFIG_MAPS}/a")).await;
    assert_eq!(remaining_maps(&wire).await, ["b", "child"]);
    let child = wire.get(&format!("{CONFIG_MAPS}/child")).await.body;
    assert_eq!(
        child["metadata"]["ownerReferences"],
        json!([owner_reference(&owners[1], false)])
    );
}

#[tokio::test]
async fn references_to_nonexistent_owners_are_ignored() {
    let wire = TestServer::start().await;
    let mut owner = create_map(&wire, "owner", &[]).await;
    create_map(&wire, "child", &[owner_reference(&owner, false)]).await;
    owner["metadata"]["uid"] = "2c2e7e0c-6d3a-4a63-9b0e-000000000000".into();
    create_map(&wire, "impostor", &[owner_reference(&owner, false)]).await;
    owner["kind"] = "Widget".into();
    create_map(&wire, "unknown", &[owner_reference(&owner, false)]).await;
    assert_eq!(remaining_maps(&wire).await, ["child", "owner", "unknown"]);
}

#[tokio::test]
async fn orphaned_dependents_lose_their_reference() {
    let wire = TestServer::start().await;
    let owner = create_map(&wire, "owner", &[]).await;
    create_map(&wire, "child", &[owner_reference(&owner, true)]).await;
    wire.delete(&format!("{CONFIG_MAPS}/owner?propagationPolicy=Orphan"))
        .await;
    assert_eq!(remaining_maps(&wire).await, ["child"]);
    let child = wire.get(&format!("{CONFIG_MAPS}/child")).await.body;
    assert!(child["metadata"].get("ownerReferences").is_none());
}

#[tokio::test]
async fn foreground_deletion_waits_for_blocking_dependents() {
    let wire = TestServer::start().await;
    let owner = create_map(&wire, "owner", &[]).await;
    let mut held = json!({"metadata": {"name": "held", "finalizers": ["example.com/hold"]}});
    held["metadata"]["ownerReferences"] = json!([owner_reference(&owner, true)]);
    wire.create(CONFIG_MAPS, held).await;
    create_map(&wire, "loose", &[owner_reference(&owner, false)]).await;
    let answer = wire
        .delete(&format!("{CONFIG_MAPS}/owner?propagationPolicy=Foreground"))
        .await;
    assert_eq!(
        answer.body["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    assert_eq!(remaining_maps(&wire).await, ["held", "loose", "owner"]);
    wire.merge(
        &format!("{CONFIG_MAPS}/held"),
        json!({"metadata": {"finalizers": null}}),
    )
    .await;
    assert_eq!(remaining_maps(&wire).await, Vec::<String>::new());
}

#[tokio::test]
async fn owner_cycles_are_deleted_in_the_foreground() {
    let wire = TestServer::start().await;
    let maps = [
        create_map(&wire, "a", &[]).await,
        create_map(&wire, "b", &[]).await,
        create_map(&wire, "c", &[]).await,
    ];
    for (owner, dependent) in [(0, "b"), (1, "c"), (2, "a")] {
        let owners = json!({"metadata": {"ownerReferences": [owner_reference(&maps[owner], true)]}});
        assert_eq!(
            wire.merge(&format!("{CONFIG_MAPS}/{dependent}"), owners)
                .await
                .code,
            200
        );
    }
    wire.delete(&format!("{CONFIG_MAPS}/a?propagationPolicy=Foreground"))
        .await;
    assert_eq!(remaining_maps(&wire).await, Vec::<String>::new());
}

#[tokio::test]
async fn replication_controllers_and_jobs_orphan_their_pods_by_default() {
    let wire = TestServer::start().await;
    let spec = json!({"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"});
    let controllers = "/api/v1/namespaces/default/replicationcontrollers";
    let controller = json!({"metadata": {"name": "rc"}, "spec": {"template": {
        "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
    }}});
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    let job = json!({"metadata": {"name": "job"}, "spec": {"template": {"spec": spec}}});
    for (path, owner, name) in [(controllers, controller, "rc"), (jobs, job, "job")] {
        for (query, stays) in [("", true), ("?propagationPolicy=Background", false)] {
            let owner = wire.create(path, owner.clone()).await;
            create_map(&wire, "child", &[owner_reference(&owner, false)]).await;
            let answer = wire.delete(&format!("{path}/{name}{query}")).await;
            let warned = answer.headers.contains_key("warning");
            assert_eq!(warned, stays && name == "job", "{name} {query}");
            assert_eq!(
                remaining_maps(&wire).await.len(),
                usize::from(stays),
                "{name} {query}"
            );
            wire.delete(&format!("{CONFIG_MAPS}/child")).await;
        }
    }
}

#[tokio::test]
async fn the_garbage_collector_is_observed_as_a_client() {
    let (wire, recorder) = super::observer::start_with_recorder().await;
    let owner = create_map(&wire, "owner", &[]).await;
    create_map(&wire, "child", &[owner_reference(&owner, false)]).await;
    wire.delete(&format!("{CONFIG_MAPS}/owner")).await;
    wire.server.quiet().await;
    let reported = recorder.texts_containing("commits DELETED");
    let who: Vec<&str> = reported
        .iter()
        .filter_map(|text| text.split(" @").next())
        .collect();
    assert_eq!(
        who,
        [
            "tester commits DELETED configmaps/owner",
            "system:gc commits DELETED configmaps/child"
        ]
    );
}

#[tokio::test]
async fn events_expire() {
    let options = ServerOptions {
        event_ttl: std::time::Duration::ZERO,
        ..Default::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let event = json!({"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}});
    wire.create(EVENTS, event).await;
    assert_eq!(wire.get(&format!("{EVENTS}/e")).await.code, 404);
}

const CAPACITIES: &str = "/apis/storage.k8s.io/v1alpha1/namespaces/default/csistoragecapacities";

/// A 1.20 server whose feature gate enables CSIStorageCapacity, with a CSIStorageCapacity object that `owner` owns.
async fn start_with_owned_capacity(owner: &str) -> TestServer {
    let options = ServerOptions {
        release: Release::new(20).expect("the release is supported"),
        gates: capacity_gate(true),
        ..ServerOptions::default()
    };
    let wire = TestServer::start_with(options, None).await;
    let owner = create_map(&wire, owner, &[]).await;
    let capacity = json!({
        "metadata": {"name": "c", "ownerReferences": [owner_reference(&owner, false)]}, "storageClassName": "fast",
    });
    wire.create(CAPACITIES, capacity).await;
    wire
}

fn capacity_gate(on: bool) -> BTreeMap<String, bool> {
    BTreeMap::from([("CSIStorageCapacity".to_owned(), on)])
}

#[tokio::test]
async fn dependents_of_an_unserved_resource_are_collected_once_it_is_served_again() {
    let wire = start_with_owned_capacity("owner").await;
    let release = wire.server.release();
    wire.server.set_release(release, &capacity_gate(false));
    wire.delete(&format!("{CONFIG_MAPS}/owner")).await;
    wire.server.quiet().await;
    let before = wire.get(CONFIG_MAPS).await.body["metadata"]["resourceVersion"].clone();
    wire.server.set_release(release, &capacity_gate(true));
    let since = before.as_str().expect("lists have a resourceVersion");
    let mut watch = wire
        .watch(&format!("{CAPACITIES}?watch=1&resourceVersion={since}"))
        .await;
    assert_eq!(watch.next_events(1).await, ["DELETED c"], "deleted only now");
}

#[tokio::test]
async fn namespaces_are_deleted_despite_objects_of_unserved_resources() {
    let wire = start_with_owned_capacity("owner").await;
    let release = wire.server.release();
    wire.create("/api/v1/namespaces", json!({"metadata": {"name": "other"}}))
        .await;
    let others = CAPACITIES.replace("default", "other");
    wire.create(
        &others,
        json!({"metadata": {"name": "left"}, "storageClassName": "fast"}),
    )
    .await;
    wire.server.set_release(release, &capacity_gate(false));
    wire.delete("/api/v1/namespaces/other").await;
    assert_eq!(
        wire.get("/api/v1/namespaces/other").await.code,
        404,
        "objects of unserved resources do not block the namespace"
    );
    wire.server.set_release(release, &capacity_gate(true));
    assert_eq!(
        wire.get(&format!("{others}/left")).await.code,
        200,
        "the object of the unserved resource still exists"
    );
}
