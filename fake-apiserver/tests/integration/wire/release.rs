//! Older releases: served versions, preserved fields, and stored objects of resources that are not served.

use super::client::{CAPACITIES, TestServer, capacity};
use fake_apiserver::{Release, ResourceRef, ServerOptions};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const DRIVERS: &str = "/apis/storage.k8s.io/v1/csidrivers";

fn release(text: &str) -> Release {
    text.parse().expect("the release is valid")
}

fn capacity_gate(on: Option<bool>) -> BTreeMap<String, bool> {
    on.map(|on| ("CSIStorageCapacity".to_owned(), on))
        .into_iter()
        .collect()
}

async fn start_release(text: &str, on: Option<bool>) -> TestServer {
    let options = ServerOptions {
        release: release(text),
        gates: capacity_gate(on),
        ..ServerOptions::default()
    };
    TestServer::start_with(options, None).await
}

fn capacities_of(version: &str) -> String {
    CAPACITIES.replace("/v1/", &format!("/{version}/"))
}

/// The API versions that serve CSIStorageCapacity; requests and discovery must agree.
async fn served_capacity_versions(wire: &TestServer) -> Vec<&'static str> {
    let mut found = Vec::new();
    let group = wire.get("/apis/storage.k8s.io").await.body;
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let listed = wire.get(&capacities_of(version)).await.code == 200;
        let resources = wire.get(&format!("/apis/storage.k8s.io/{version}")).await.body;
        let discovered = resources["resources"]
            .as_array()
            .into_iter()
            .flatten()
            .any(|entry| entry["name"] == "csistoragecapacities");
        assert_eq!(listed, discovered, "{version}");
        let in_group = group["versions"].as_array().expect("the group lists versions");
        assert!(
            !listed || in_group.iter().any(|entry| entry["version"] == version),
            "{version}"
        );
        if listed {
            found.push(version);
        }
    }
    found
}

#[tokio::test]
async fn each_release_serves_its_versions() {
    let wire = TestServer::start().await;
    for release in Release::all() {
        for on in [None, Some(false), Some(true)] {
            wire.server.set_release(release, &capacity_gate(on));
            let minor = release.minor();
            let gate = on.unwrap_or(minor >= 21);
            let expected: &[&str] = match minor {
                19..=20 if gate => &["v1alpha1"],
                21..=23 if gate => &["v1beta1", "v1alpha1"],
                21..=23 => &["v1beta1"],
                24..=26 => &["v1", "v1beta1"],
                27.. => &["v1"],
                _ => &[],
            };
            assert_eq!(
                served_capacity_versions(&wire).await,
                expected,
                "{release} with {on:?}"
            );
            let preferred = wire
                .server
                .served_version("storage.k8s.io", "csistoragecapacities");
            assert_eq!(preferred, expected.first().copied());
            let version = wire.get("/version").await.body;
            assert_eq!(
                version["gitVersion"],
                format!("{release}.0").replacen("1.", "v1.", 1)
            );
        }
    }
}

/// The resources of the API group storage.k8s.io in all versions.
async fn storage_resources(wire: &TestServer) -> BTreeSet<String> {
    let group = wire.get("/apis/storage.k8s.io").await.body;
    let mut names = BTreeSet::new();
    for version in group["versions"].as_array().expect("the group lists versions") {
        let path = format!(
            "/apis/{}",
            version["groupVersion"].as_str().expect("a groupVersion")
        );
        let list = wire.get(&path).await.body;
        let resources = list["resources"].as_array().expect("the version lists resources");
        names.extend(
            resources
                .iter()
                .filter_map(|it| it["name"].as_str().map(str::to_owned)),
        );
    }
    names
}

#[tokio::test]
async fn feature_gates_and_newer_releases_remove_no_resource() {
    let wire = TestServer::start().await;
    let mut before = BTreeSet::new();
    for release in Release::all() {
        wire.server.set_release(release, &capacity_gate(Some(false)));
        let without = storage_resources(&wire).await;
        wire.server.set_release(release, &capacity_gate(Some(true)));
        let with = storage_resources(&wire).await;
        assert!(
            with.is_superset(&without),
            "{release}: {without:?} became {with:?}"
        );
        assert!(with.is_superset(&before), "{release}: {before:?} became {with:?}");
        before = with;
    }
    assert!(before.contains("csistoragecapacities"), "{before:?}");
}

#[tokio::test]
async fn unserved_resources_return_404_for_all_verbs() {
    let wire = start_release("1.20", None).await;
    let one = format!("{}/c", capacities_of("v1alpha1"));
    let answers = [
        wire.get(&capacities_of("v1alpha1")).await,
        wire.get(&format!("{}?watch=true", capacities_of("v1alpha1")))
            .await,
        wire.post(&capacities_of("v1alpha1"), capacity("c", "1Gi")).await,
        wire.put(&one, capacity("c", "1Gi")).await,
        wire.merge(&one, json!({})).await,
        wire.delete(&one).await,
    ];
    for answer in answers {
        assert_eq!(answer.code, 404);
        assert_eq!(
            answer.body["details"],
            json!({}),
            "the error names no object, since the resource is not served"
        );
    }
}

#[tokio::test]
async fn objects_survive_while_their_resource_is_not_served() {
    let wire = start_release("1.20", Some(true)).await;
    let created = wire
        .create(&capacities_of("v1alpha1"), capacity("c", "1Gi"))
        .await;
    assert_eq!(created["apiVersion"], "storage.k8s.io/v1alpha1");
    let mut watch = wire
        .watch(&format!("{}?watch=true", capacities_of("v1alpha1")))
        .await;
    assert_eq!(watch.next_events(1).await, ["ADDED c"]);
    wire.server
        .set_release(release("1.20"), &capacity_gate(Some(false)));
    assert_eq!(watch.next().await, None, "no longer served");
    assert_eq!(wire.get(&capacities_of("v1alpha1")).await.code, 404);
    for (to, version) in [
        ("1.20", "v1alpha1"),
        ("1.21", "v1beta1"),
        ("1.24", "v1"),
        ("1.36", "v1"),
    ] {
        wire.server.set_release(release(to), &capacity_gate(Some(true)));
        let found = wire.get(&format!("{}/c", capacities_of(version))).await.body;
        assert_eq!(
            found["metadata"], created["metadata"],
            "UID and resourceVersion are preserved"
        );
        assert_eq!(found["apiVersion"], format!("storage.k8s.io/{version}"));
        let list = wire.get(&capacities_of(version)).await.body;
        assert_eq!(list["apiVersion"], format!("storage.k8s.io/{version}"));
    }
}

#[tokio::test]
async fn watches_of_versions_that_stay_served_continue() {
    let wire = start_release("1.24", None).await;
    let mut old = wire
        .watch(&format!("{}?watch=true", capacities_of("v1beta1")))
        .await;
    let mut new = wire.watch(&format!("{CAPACITIES}?watch=true")).await;
    wire.server.set_release(release("1.27"), &capacity_gate(None));
    wire.create(CAPACITIES, capacity("c", "1Gi")).await;
    assert_eq!(new.next_events(1).await, ["ADDED c"]);
    assert_eq!(old.next().await, None);
}

#[tokio::test]
async fn all_versions_return_the_same_object() {
    let wire = start_release("1.23", None).await;
    let mut watch = wire
        .watch(&format!("{}?watch=true", capacities_of("v1alpha1")))
        .await;
    let mut body = capacity("c", "1Gi");
    body["maximumVolumeSize"] = "512Mi".into();
    let beta = wire.create(&capacities_of("v1beta1"), body).await;
    let seen = watch.next().await.unwrap();
    assert_eq!(seen["object"]["apiVersion"], "storage.k8s.io/v1alpha1");
    assert_eq!(seen["object"]["maximumVolumeSize"], "512Mi");
    let path = format!("{}/c", capacities_of("v1alpha1"));
    let patched = wire.merge(&path, json!({"capacity": "2Gi"})).await;
    assert_eq!(
        (patched.code, &patched.body["metadata"]["uid"]),
        (200, &beta["metadata"]["uid"])
    );
    let wrong = wire
        .put(
            &path,
            json!({"apiVersion": "storage.k8s.io/v1beta1", "metadata": {"name": "c"}}),
        )
        .await;
    assert_eq!(wrong.code, 400);
}

#[tokio::test]
async fn v1alpha1_of_1_20_has_no_maximum_volume_size() {
    let wire = start_release("1.21", None).await;
    let mut body = capacity("c", "1Gi");
    body["maximumVolumeSize"] = "512Mi".into();
    wire.create(&capacities_of("v1beta1"), body.clone()).await;
    wire.server
        .set_release(release("1.20"), &capacity_gate(Some(true)));
    let path = format!("{}/c", capacities_of("v1alpha1"));
    assert_eq!(wire.get(&path).await.body["maximumVolumeSize"], Value::Null);
    body["metadata"]["name"] = "d".into();
    wire.create(&capacities_of("v1alpha1"), body).await;
    wire.server.set_release(release("1.21"), &capacity_gate(None));
    let beta = |name: &str| format!("{}/{name}", capacities_of("v1beta1"));
    assert_eq!(
        wire.get(&beta("c")).await.body["maximumVolumeSize"],
        "512Mi",
        "the field was hidden, not removed"
    );
    assert_eq!(wire.get(&beta("d")).await.body["maximumVolumeSize"], Value::Null);
    wire.server
        .set_release(release("1.20"), &capacity_gate(Some(true)));
    wire.merge(&path, json!({"metadata": {"labels": {"touched": "yes"}}}))
        .await;
    wire.server.set_release(release("1.21"), &capacity_gate(None));
    assert_eq!(
        wire.get(&beta("c")).await.body["maximumVolumeSize"],
        Value::Null,
        "an update drops the field"
    );
}

fn driver_with_storage_capacity(tracks: &Value) -> Value {
    json!({"metadata": {"name": "d"}, "spec": {"storageCapacity": tracks}})
}

/// Writes `spec.storageCapacity` of a CSIDriver by merge patch, JSON patch and update; returns the status code of each request.
async fn write_storage_capacity(wire: &TestServer, tracks: bool) -> Vec<u16> {
    let path = format!("{DRIVERS}/d");
    let mut whole = wire.get(&path).await.body;
    let operations = json!([{"op": "add", "path": "/spec/storageCapacity", "value": tracks}]);
    let merged = wire
        .merge(&path, json!({"spec": {"storageCapacity": tracks}}))
        .await;
    let json_patch = [("content-type", "application/json-patch+json")];
    let patched = wire
        .send("PATCH", &path, &json_patch, operations.to_string())
        .await;
    whole["spec"]["storageCapacity"] = tracks.into();
    whole["metadata"]["resourceVersion"] = wire.get(&path).await.body["metadata"]["resourceVersion"].clone();
    let replaced = wire.put(&path, whole).await;
    vec![merged.code, patched.code, replaced.code]
}

#[tokio::test]
async fn storage_capacity_of_a_driver_is_immutable_up_to_1_22_and_mutable_since_1_23() {
    for release in Release::all().skip(1) {
        let wire = start_release(&release.to_string(), Some(true)).await;
        wire.create(DRIVERS, json!({"metadata": {"name": "d"}, "spec": {}}))
            .await;
        let changed = if release.minor() <= 22 { 422 } else { 200 };
        assert_eq!(
            write_storage_capacity(&wire, true).await,
            [changed; 3],
            "{release}"
        );
        let same = wire.get(&format!("{DRIVERS}/d")).await.body["spec"]["storageCapacity"] == true;
        assert_eq!(same, release.minor() >= 23);
        assert_eq!(
            write_storage_capacity(&wire, same).await,
            [200; 3],
            "unchanged in {release}"
        );
        wire.delete(&format!("{DRIVERS}/d")).await;
        wire.create(DRIVERS, driver_with_storage_capacity(&json!(true)))
            .await;
        assert_eq!(
            write_storage_capacity(&wire, true).await,
            [200; 3],
            "recreated in {release}"
        );
    }
}

#[tokio::test]
async fn other_fields_of_a_driver_are_mutable_by_release() {
    let wire = TestServer::start().await;
    wire.create(DRIVERS, driver_with_storage_capacity(&json!(true)))
        .await;
    for (minor, field, value, code) in [
        (28, "podInfoOnMount", json!(true), 422),
        (29, "podInfoOnMount", json!(true), 200),
        (28, "fsGroupPolicy", json!("None"), 422),
        (29, "fsGroupPolicy", json!("None"), 200),
        (22, "attachRequired", json!(false), 422),
        (37, "attachRequired", json!(false), 422),
        (23, "requiresRepublish", json!(true), 200),
    ] {
        wire.server
            .set_release(Release::new(minor).unwrap(), &capacity_gate(None));
        let answer = wire
            .merge(&format!("{DRIVERS}/d"), json!({"spec": {field: value}}))
            .await;
        assert_eq!(answer.code, code, "{field} in 1.{minor}: {}", answer.text);
    }
}

#[tokio::test]
async fn storage_capacity_is_dropped_on_create_and_preserved_on_update_if_the_gate_is_off() {
    let path = format!("{DRIVERS}/d");
    for minor in ["1.19", "1.20", "1.21", "1.22", "1.23"] {
        let wire = start_release(minor, Some(false)).await;
        let created = wire
            .create(DRIVERS, driver_with_storage_capacity(&json!(true)))
            .await;
        assert_eq!(created["spec"]["storageCapacity"], Value::Null, "{minor}");
        wire.merge(&path, json!({"spec": {"storageCapacity": true}}))
            .await;
        assert_eq!(
            wire.get(&path).await.body["spec"]["storageCapacity"],
            Value::Null,
            "{minor}"
        );
        wire.delete(&path).await;
        wire.server
            .set_release(release(minor), &capacity_gate(Some(true)));
        wire.create(DRIVERS, driver_with_storage_capacity(&json!(true)))
            .await;
        wire.server
            .set_release(release(minor), &capacity_gate(Some(false)));
        assert_eq!(
            wire.get(&path).await.body["spec"]["storageCapacity"],
            true,
            "{minor}"
        );
        let touched = wire
            .merge(&path, json!({"metadata": {"labels": {"touched": "yes"}}}))
            .await;
        assert_eq!(
            (touched.code, &touched.body["spec"]["storageCapacity"]),
            (200, &json!(true))
        );
    }
}

#[tokio::test]
async fn the_gate_is_locked_since_1_24() {
    let wire = start_release("1.24", Some(false)).await;
    let created = wire
        .create(DRIVERS, driver_with_storage_capacity(&json!(true)))
        .await;
    assert_eq!(created["spec"]["storageCapacity"], true);
    assert_eq!(wire.get(CAPACITIES).await.code, 200);
}

#[tokio::test]
async fn releases_without_storage_capacity_hide_it_and_drop_it_on_update() {
    let wire = start_release("1.19", Some(true)).await;
    let path = format!("{DRIVERS}/d");
    let created = wire
        .create(DRIVERS, driver_with_storage_capacity(&json!(true)))
        .await;
    wire.server.set_release(release("1.18"), &capacity_gate(None));
    let hidden = wire.get(&path).await.body;
    assert_eq!(hidden["spec"]["storageCapacity"], Value::Null);
    assert_eq!(hidden["metadata"], created["metadata"]);
    wire.server
        .set_release(release("1.19"), &capacity_gate(Some(true)));
    assert_eq!(
        wire.get(&path).await.body["spec"]["storageCapacity"],
        true,
        "reading does not drop the field"
    );
    wire.server.set_release(release("1.18"), &capacity_gate(None));
    let touched = wire
        .merge(&path, json!({"metadata": {"labels": {"touched": "yes"}}}))
        .await;
    assert_eq!(touched.code, 200, "{}", touched.text);
    wire.server
        .set_release(release("1.19"), &capacity_gate(Some(true)));
    let back = wire.get(&path).await.body;
    assert_eq!(back["spec"]["storageCapacity"], Value::Null);
    assert_eq!(back["metadata"]["uid"], created["metadata"]["uid"]);
}

#[tokio::test]
async fn older_releases_serve_older_discovery() {
    let wire = start_release("1.26", None).await;
    let both = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
        application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";
    for (minor, kind) in [(26, "APIGroupList"), (28, "v2beta1"), (30, "v2")] {
        wire.server
            .set_release(Release::new(minor).unwrap(), &capacity_gate(None));
        let answer = wire
            .send("GET", "/apis", &[("accept", both)], String::new())
            .await;
        let reported = [&answer.body["kind"], &answer.body["apiVersion"]];
        assert!(
            reported
                .iter()
                .any(|reported| reported.as_str().unwrap_or_default().ends_with(kind)),
            "1.{minor}: {reported:?}"
        );
    }
    wire.server.set_release(release("1.18"), &capacity_gate(None));
    let groups = wire.get("/apis").await.body.to_string();
    assert!(
        !groups.contains("events.k8s.io") && !groups.contains("policy"),
        "{groups}"
    );
    assert_eq!(wire.get("/apis/policy").await.code, 404);
    assert_eq!(wire.get("/apis/storage.k8s.io/v1beta1").await.code, 404);
}

#[tokio::test]
async fn in_process_clients_use_the_served_version() {
    let wire = start_release("1.20", Some(true)).await;
    wire.create(&capacities_of("v1alpha1"), capacity("c", "1Gi"))
        .await;
    let local = wire.server.client("local");
    let at = ResourceRef::new("storage.k8s.io", "csistoragecapacities").namespace("default");
    assert_eq!(local.list(&at).unwrap().items.len(), 1);
    local
        .patch_merge(&at.clone().name("c"), json!({"capacity": "2Gi"}))
        .unwrap();
    let mut body = capacity("d", "1Gi");
    body["apiVersion"] = "storage.k8s.io/v1".into();
    body["kind"] = "CSIStorageCapacity".into();
    assert_eq!(local.create(body).unwrap_err().code, 404);
    wire.server
        .set_release(release("1.20"), &capacity_gate(Some(false)));
    assert_eq!(local.list(&at).unwrap_err().code, 404);
}
