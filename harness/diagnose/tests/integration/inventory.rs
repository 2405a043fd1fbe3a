//! Tests of reading a cluster from an API server: pages and API versions.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use capacity_diagnose::inventory::{self, Inventory};
use capacity_scheduler::objects::ObjectKey;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Request, Response};
use kube::Client;
use serde_json::{Value, json};

/// A client of a server that returns these lists by path (with `?…` for a page), and the status `otherwise` for every other path.
fn serving(lists: &[(&str, Value)], otherwise: u16) -> Client {
    let lists: Arc<BTreeMap<String, Value>> = Arc::new(
        lists
            .iter()
            .map(|(path, list)| ((*path).to_owned(), list.clone()))
            .collect(),
    );
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let path = request.uri().to_string();
        let page = path.split("continue=").nth(1).filter(|token| !token.is_empty());
        let path = path.split('?').next().unwrap_or_default();
        let path = page.map_or(path.to_owned(), |token| format!("{path}?{token}"));
        let found = lists.get(&path).cloned();
        let refusal = || json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": path, "reason": "No", "code": otherwise});
        let mut answer = Response::new(Full::<Bytes>::from(
            found.clone().unwrap_or_else(refusal).to_string(),
        ));
        if found.is_none() {
            *answer.status_mut() = otherwise.try_into().unwrap();
        }
        async { Ok::<_, Infallible>(answer) }
    });
    Client::new(service, "default")
}

fn list(kind: &str, items: &[Value], next: &str) -> Value {
    json!({"kind": format!("{kind}List"), "metadata": {"continue": next}, "items": items})
}

fn named(name: &str) -> Value {
    json!({"metadata": {"name": name}})
}

/// Empty lists, except for two pages of nodes, and CSIStorageCapacity objects in an old version.
fn cluster() -> Vec<(&'static str, Value)> {
    let capacity = json!({"metadata": {"name": "c", "namespace": "driver"}, "storageClassName": "fast", "capacity": "1Gi"});
    let pod = json!({"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": []}});
    vec![
        ("/api/v1/nodes", list("Node", &[named("n1")], "page2")),
        ("/api/v1/nodes?page2", list("Node", &[named("n2")], "")),
        ("/api/v1/pods", list("Pod", &[pod], "")),
        (
            "/api/v1/persistentvolumeclaims",
            list("PersistentVolumeClaim", &[], ""),
        ),
        ("/api/v1/persistentvolumes", list("PersistentVolume", &[], "")),
        (
            "/apis/storage.k8s.io/v1/storageclasses",
            list("StorageClass", &[], ""),
        ),
        ("/apis/storage.k8s.io/v1/csidrivers", list("CSIDriver", &[], "")),
        ("/apis/storage.k8s.io/v1/csinodes", list("CSINode", &[], "")),
        (
            "/apis/storage.k8s.io/v1/volumeattachments",
            list("VolumeAttachment", &[], ""),
        ),
        ("/api/v1/namespaces", list("Namespace", &[], "")),
        (
            "/apis/storage.k8s.io/v1beta1/csistoragecapacities",
            list("CSIStorageCapacity", &[capacity], ""),
        ),
    ]
}

#[tokio::test]
async fn all_pages_and_the_served_version_of_capacity_are_listed() {
    let objects = inventory::list_objects(&serving(&cluster(), 404), &[])
        .await
        .unwrap();
    let mut inventory = Inventory::default();
    objects
        .into_iter()
        .try_for_each(|object| inventory.add(object))
        .unwrap();
    let nodes: Vec<_> = inventory
        .snapshot
        .nodes
        .iter()
        .map(|node| node.name().to_owned())
        .collect();
    assert_eq!(nodes, ["n1", "n2"]);
    assert_eq!(inventory.snapshot.capacities.iter().count(), 1);
    assert!(inventory.pods.contains_key(&ObjectKey::namespaced("ns", "p")));
}

#[tokio::test]
async fn a_rejected_list_request_is_an_error() {
    let error = inventory::list_objects(&serving(&cluster(), 403), &[])
        .await
        .unwrap_err();
    assert!(error.to_string().contains("csistoragecapacities"), "{error}");
    let without = &cluster()[1..];
    assert!(
        inventory::list_objects(&serving(without, 404), &[])
            .await
            .is_err(),
        "the nodes API is always served"
    );
}

#[tokio::test]
async fn objects_are_returned_unmodified_including_additional_paths() {
    let mut lists = cluster();
    lists.push(("/api/v1/events", list("Event", &[named("e")], "")));
    let objects = inventory::list_objects(&serving(&lists, 404), &["/api/v1/events"])
        .await
        .unwrap();
    let names: Vec<_> = objects
        .iter()
        .map(|object| format!("{} {}", object["kind"], object["metadata"]["name"]))
        .collect();
    assert_eq!(
        names,
        [
            "\"Node\" \"n1\"",
            "\"Node\" \"n2\"",
            "\"Pod\" \"p\"",
            "\"Event\" \"e\"",
            "\"CSIStorageCapacity\" \"c\""
        ]
    );
}

#[test]
fn an_invalid_object_is_shown_truncated() {
    let error = Inventory::default()
        .add_text(format!("{{what: {}}}", "x".repeat(99)).as_bytes())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("{\"what\":\"xxx") && !error.contains(&"x".repeat(40)),
        "{error}"
    );
}
