//! CSIStorageCapacity: scope, fields, and selection by driver.

use super::client::{CAPACITIES, TestServer, capacity};
use serde_json::{Value, json};

const EVERYWHERE: &str = "/apis/storage.k8s.io/v1/csistoragecapacities";

fn names(list: &Value) -> Vec<&str> {
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter_map(|item| item["metadata"]["name"].as_str())
        .collect()
}

#[tokio::test]
async fn capacities_are_namespaced() {
    let wire = TestServer::start().await;
    let elsewhere = CAPACITIES.replace("default", "kube-system");
    for path in [CAPACITIES, &elsewhere] {
        wire.create(path, capacity("same", "1Gi")).await;
        assert_eq!(names(&wire.get(path).await.body), ["same"]);
    }
    assert_eq!(names(&wire.get(EVERYWHERE).await.body), ["same", "same"]);
    let nowhere = wire.post(EVERYWHERE, capacity("c", "1Gi")).await;
    assert_eq!(nowhere.code, 405, "{}", nowhere.text);
}

#[tokio::test]
async fn capacities_have_neither_spec_nor_status() {
    let wire = TestServer::start().await;
    let nested = json!({
        "metadata": {"name": "c"}, "spec": {"storageClassName": "fast"}, "status": {"availableCapacity": "1Gi"},
    });
    let refused = wire.post(CAPACITIES, nested).await;
    assert_eq!(refused.code, 422, "{}", refused.text);
    assert_eq!(refused.body["details"]["causes"][0]["field"], "storageClassName");
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    for method in ["GET", "PUT", "PATCH"] {
        let body = capacity("c", "2Gi").to_string();
        let media = [("content-type", "application/merge-patch+json")];
        let answer = wire
            .send(method, &format!("{CAPACITIES}/c/status"), &media, body)
            .await;
        assert_eq!(answer.code, 404, "{method}: {}", answer.text);
    }
}

/// Some examples in KEP-1472 contain a node selector, and one example misnames the capacity field. CSIStorageCapacity has neither field.
#[tokio::test]
async fn fields_of_kep_examples_that_the_type_lacks_are_dropped() {
    let wire = TestServer::start().await;
    let object = json!({
        "metadata": {"name": "c"}, "storageClassName": "fast", "availableCapacity": "128G",
        "nodeTopology": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]},
    });
    let strict = format!("{CAPACITIES}?fieldValidation=Strict");
    assert_eq!(wire.post(&strict, object.clone()).await.code, 400);
    let stored = wire.post(CAPACITIES, object).await;
    assert_eq!(stored.code, 201, "{}", stored.text);
    assert_eq!(stored.headers.get_all("warning").iter().count(), 2);
    assert_eq!(stored.body["nodeTopology"], json!({}), "selects every node");
    for field in ["capacity", "maximumVolumeSize", "availableCapacity"] {
        assert!(stored.body.get(field).is_none(), "{field}");
    }
}

#[tokio::test]
async fn capacities_outlive_their_storage_class() {
    const CLASSES: &str = "/apis/storage.k8s.io/v1/storageclasses";
    let wire = TestServer::start().await;
    wire.create(CAPACITIES, capacity("early", "1Gi")).await;
    let class = json!({"metadata": {"name": "fast"}, "provisioner": "disk.example.com"});
    wire.create(CLASSES, class).await;
    wire.create(CAPACITIES, capacity("late", "1Gi")).await;
    wire.delete(&format!("{CLASSES}/fast")).await;
    wire.server.quiet().await;
    assert_eq!(names(&wire.get(CAPACITIES).await.body), ["early", "late"]);
    for name in ["early", "late"] {
        let removed = wire.delete(&format!("{CAPACITIES}/{name}")).await;
        assert_eq!(removed.code, 200, "only a client deletes the object");
    }
}

#[tokio::test]
async fn capacity_values_can_be_added_changed_and_removed() {
    let wire = TestServer::start().await;
    let created = wire
        .create(
            CAPACITIES,
            json!({"metadata": {"name": "c"}, "storageClassName": "fast"}),
        )
        .await;
    let mut revision = created["metadata"]["resourceVersion"].clone();
    let mut watch = wire
        .watch(&format!(
            "{CAPACITIES}?watch=true&resourceVersion={}",
            revision.as_str().expect("stored objects have a resourceVersion")
        ))
        .await;
    for field in ["capacity", "maximumVolumeSize"] {
        for value in [json!("1Gi"), json!("2Gi"), Value::Null] {
            let changed = wire
                .merge(&format!("{CAPACITIES}/c"), json!({field: value}))
                .await;
            assert_eq!(changed.code, 200, "{field} to {value}: {}", changed.text);
            assert_eq!(changed.body[field], value);
            assert_eq!(
                changed.body.get(field).is_none(),
                value.is_null(),
                "an unset field is absent, not null"
            );
            assert_ne!(changed.body["metadata"]["resourceVersion"], revision);
            revision = changed.body["metadata"]["resourceVersion"].clone();
            assert_eq!(watch.next_events(1).await, ["MODIFIED c"]);
        }
    }
}

#[tokio::test]
async fn capacities_of_a_driver_are_selected_by_label() {
    let wire = TestServer::start().await;
    let labelled = |name: &str, labels: Value| {
        let mut object = capacity(name, "1Gi");
        object["metadata"]["labels"] = labels;
        object
    };
    let of = |driver: &str| json!({"csi.storage.k8s.io/drivername": driver});
    let elsewhere = CAPACITIES.replace("default", "kube-system");
    let selected = format!("{CAPACITIES}?labelSelector=csi.storage.k8s.io%2Fdrivername%3Da.example.com");
    let mut watch = wire.watch(&format!("{selected}&watch=true")).await;
    wire.create(&elsewhere, labelled("a0", of("a.example.com"))).await;
    for (name, labels) in [
        ("b1", of("b.example.com")),
        ("a1", of("a.example.com")),
        ("none", json!({})),
        ("a2", of("a.example.com")),
    ] {
        wire.create(CAPACITIES, labelled(name, labels)).await;
    }
    assert_eq!(
        watch.next_events(2).await,
        ["ADDED a1", "ADDED a2"],
        "only labelled objects are sent"
    );
    assert_eq!(names(&wire.get(&selected).await.body), ["a1", "a2"]);
    let deleted = wire.delete(&selected).await;
    assert_eq!(deleted.code, 200, "{}", deleted.text);
    assert_eq!(names(&wire.get(CAPACITIES).await.body), ["b1", "none"]);
    assert_eq!(names(&wire.get(&elsewhere).await.body), ["a0"]);
}
