//! Tests of kinds unrelated to storage: served paths, and special behaviour.

use super::client::{PODS, TestServer, pod};
use fake_apiserver::{Release, ServerOptions};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const APPS: &str = "/apis/apps/v1/namespaces/default";
const TABLE: [(&str, &str); 1] = [("accept", "application/json;as=Table;v=v1;g=meta.k8s.io")];

fn workload(name: &str) -> Value {
    let template = json!({
        "metadata": {"labels": {"app": "a"}},
        "spec": {"containers": [{"name": "c", "image": "example.com/app:1"}]},
    });
    json!({
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "a"}}, "template": template},
    })
}

/// All resources in discovery: the URL path of each collection, and its discovery entry.
async fn resources(wire: &TestServer) -> Vec<(String, Value)> {
    let groups = wire.get("/apis").await.body;
    let groups = groups["groups"].as_array().expect("groups").clone();
    let versions = groups
        .iter()
        .flat_map(|group| group["versions"].as_array().expect("group versions").clone());
    let mut places = vec!["/api/v1".to_owned()];
    places.extend(
        versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().expect("a name"))),
    );
    let mut found = Vec::new();
    for place in places {
        let list = wire.get(&place).await.body;
        for entry in list["resources"].as_array().expect("a list of resources") {
            found.push((
                format!("{place}/{}", entry["name"].as_str().expect("a name")),
                entry.clone(),
            ));
        }
    }
    found
}

#[tokio::test]
async fn groups_are_in_the_order_of_kube_apiserver() {
    let wire = TestServer::start().await;
    let groups = wire.get("/apis").await.body;
    let names: Vec<&str> = groups["groups"]
        .as_array()
        .unwrap()
        .iter()
        .map(|group| group["name"].as_str().unwrap())
        .collect();
    let expected = [
        "apps",
        "events.k8s.io",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "batch",
        "policy",
        "rbac.authorization.k8s.io",
        "storage.k8s.io",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "scheduling.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "resource.k8s.io",
    ];
    assert_eq!(names, expected);
}

#[tokio::test]
async fn all_listable_resources_can_be_listed_and_watched_in_every_form() {
    let wire = TestServer::start().await;
    let all = resources(&wire).await;
    assert!(all.len() > 60, "{}", all.len());
    for (path, entry) in all {
        let can = |verb: &str| entry["verbs"].as_array().unwrap().contains(&json!(verb));
        if path.matches('/').count() > 4 || !can("list") {
            continue;
        }
        let list = wire.get(&path).await;
        assert_eq!(list.code, 200, "{path}");
        assert_eq!(
            list.body["kind"],
            format!("{}List", entry["kind"].as_str().unwrap()),
            "{path}"
        );
        let table = wire.send("GET", &path, &TABLE, String::new()).await;
        assert!(table.body["columnDefinitions"][0]["format"].is_string(), "{path}");
        let binary = wire
            .send(
                "GET",
                &path,
                &[("accept", "application/vnd.kubernetes.protobuf,application/json")],
                String::new(),
            )
            .await;
        let media = "application/vnd.kubernetes.protobuf";
        assert_eq!(
            (binary.code, &binary.headers["content-type"]),
            (200, &media.parse().unwrap()),
            "{path}"
        );
        // `wire.watch` panics if the server rejects the watch.
        if can("watch") {
            wire.watch(&format!("{path}?watch=true&resourceVersion=1")).await;
        }
    }
}

#[tokio::test]
async fn table_rows_have_one_cell_per_column() {
    let wire = TestServer::start().await;
    for (path, entry) in resources(&wire).await {
        let can = |verb: &str| entry["verbs"].as_array().unwrap().contains(&json!(verb));
        if path.matches('/').count() > 4 || !can("list") || !can("create") || path.ends_with("/namespaces") {
            continue;
        }
        let path = match entry["namespaced"] == true {
            true => {
                let (group, plural) = path.rsplit_once('/').unwrap();
                format!("{group}/namespaces/default/{plural}")
            }
            false => path,
        };
        let name = "v1.example.com";
        // Kinds with validation reject this body with status 422; the remaining kinds store the object.
        let answer = wire.post(&path, json!({"metadata": {"name": name}})).await;
        match answer.code {
            422 => continue,
            code => assert_eq!(code, 201, "{path}: {}", answer.text),
        }
        let table = wire
            .send("GET", &format!("{path}/{name}"), &TABLE, String::new())
            .await
            .body;
        let length = |value: &Value| value.as_array().map_or(0, Vec::len);
        assert_eq!(
            length(&table["rows"][0]["cells"]),
            length(&table["columnDefinitions"]),
            "{path}"
        );
        assert!(
            table["rows"][0]["cells"]
                .as_array()
                .unwrap()
                .contains(&json!(name)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn workloads_are_scaled_through_the_scale_subresource() {
    let wire = TestServer::start().await;
    for collection in ["deployments", "replicasets", "statefulsets"] {
        let path = format!("{APPS}/{collection}");
        let made = wire.create(&path, workload("w")).await;
        let scale = wire.get(&format!("{path}/w/scale")).await.body;
        assert_eq!(
            (&scale["kind"], &scale["apiVersion"]),
            (&json!("Scale"), &json!("autoscaling/v1"))
        );
        assert_eq!(scale["spec"]["replicas"], 2);
        assert_eq!(scale["status"]["selector"], "app=a");
        assert_eq!(
            scale["metadata"]["resourceVersion"],
            made["metadata"]["resourceVersion"]
        );
        let patched = wire
            .merge(&format!("{path}/w/scale"), json!({"spec": {"replicas": 5}}))
            .await;
        assert_eq!(
            (patched.code, &patched.body["spec"]["replicas"]),
            (200, &json!(5))
        );
        let now = wire.get(&format!("{path}/w")).await.body;
        assert_eq!(
            (&now["spec"]["replicas"], &now["metadata"]["generation"]),
            (&json!(5), &json!(2))
        );
        let mut stale = scale.clone();
        stale["spec"]["replicas"] = 7.into();
        assert_eq!(
            wire.put(&format!("{path}/w/scale"), stale).await.body["reason"],
            "Conflict"
        );
        let mut none = patched.body.clone();
        none["spec"] = json!({});
        let none = wire.put(&format!("{path}/w/scale"), none).await;
        assert_eq!(
            (none.code, &none.body["spec"]),
            (200, &json!({})),
            "zero is omitted"
        );
        let negative = wire
            .merge(&format!("{path}/w/scale"), json!({"spec": {"replicas": -1}}))
            .await;
        assert_eq!(
            (negative.code, &negative.body["details"]["kind"]),
            (422, &json!("Scale"))
        );
        let wrong = wire
            .merge(&format!("{path}/w/scale"), json!({"kind": "Deployment"}))
            .await;
        assert_eq!(wrong.code, 400);
    }
    assert_eq!(
        wire.get("/apis/apps/v1/namespaces/default/daemonsets/w/scale")
            .await
            .code,
        404
    );
}

#[tokio::test]
async fn workloads_are_defaulted() {
    let wire = TestServer::start().await;
    let mut plain = workload("w");
    plain["spec"].as_object_mut().unwrap().remove("replicas");
    let made = wire.create(&format!("{APPS}/deployments"), plain).await["spec"].take();
    assert_eq!(made["replicas"], 1);
    assert_eq!(
        made["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
    );
    assert_eq!(made["template"]["spec"]["restartPolicy"], "Always");
    assert_eq!(
        made["template"]["spec"]["containers"][0]["imagePullPolicy"],
        "IfNotPresent"
    );
    let mut recreate = workload("r");
    recreate["spec"]["strategy"] = json!({"type": "Recreate"});
    let made = wire.create(&format!("{APPS}/deployments"), recreate).await["spec"].take();
    assert_eq!(made["strategy"], json!({"type": "Recreate"}));
}

#[tokio::test]
async fn string_data_of_a_secret_is_merged_into_data() {
    let wire = TestServer::start().await;
    let path = "/api/v1/namespaces/default/secrets";
    let secret = json!({"metadata": {"name": "s"}, "data": {"a": "eA=="}, "stringData": {"b": "y"}, "immutable": true});
    let made = wire.create(path, secret).await;
    assert_eq!(
        (&made["type"], &made["data"]),
        (&json!("Opaque"), &json!({"a": "eA==", "b": "eQ=="}))
    );
    assert!(made["stringData"].is_null());
    let changed = wire
        .merge(&format!("{path}/s"), json!({"data": {"a": "eQ=="}}))
        .await;
    assert_eq!(
        (changed.code, &changed.body["details"]["causes"][0]["field"]),
        (422, &json!("data"))
    );
    let of_type = |of: &str| format!("{path}?fieldSelector=type%3D{of}");
    assert_eq!(
        wire.get(&of_type("Opaque")).await.body["items"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
    assert_eq!(
        wire.get(&of_type("other")).await.body["items"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
}

#[tokio::test]
async fn pods_get_the_priority_of_their_class() {
    let wire = TestServer::start().await;
    let classes = "/apis/scheduling.k8s.io/v1/priorityclasses";
    let names = wire.get(classes).await.body;
    let named = |i: usize| names["items"][i]["metadata"]["name"].clone();
    assert_eq!(
        (named(0), named(1)),
        (json!("system-cluster-critical"), json!("system-node-critical"))
    );
    wire.create(
        classes,
        json!({"metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}),
    )
    .await;
    let with = |name: &str, spec: Value| {
        let mut pod = pod(name);
        pod["spec"]
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        pod
    };
    let made = wire
        .create(PODS, with("a", json!({"priorityClassName": "high"})))
        .await;
    assert_eq!(
        (&made["spec"]["priority"], &made["spec"]["preemptionPolicy"]),
        (&json!(7), &json!("Never"))
    );
    let unknown = wire
        .post(PODS, with("b", json!({"priorityClassName": "low"})))
        .await;
    assert_eq!(unknown.code, 403);
    assert_eq!(
        unknown.body["message"],
        "pods \"b\" is forbidden: no PriorityClass with name low was found"
    );
    assert_eq!(wire.post(PODS, with("c", json!({"priority": 3}))).await.code, 403);
    wire.merge(&format!("{classes}/high"), json!({"globalDefault": true}))
        .await;
    let made = wire.create(PODS, pod("d")).await;
    assert_eq!(
        (&made["spec"]["priority"], &made["spec"]["priorityClassName"]),
        (&json!(7), &json!("high"))
    );
    let reserved = wire
        .post(classes, json!({"metadata": {"name": "system-mine"}, "value": 1}))
        .await;
    assert_eq!(reserved.code, 422);
    let changed = wire.merge(&format!("{classes}/high"), json!({"value": 8})).await;
    assert_eq!(
        (changed.code, &changed.body["details"]["causes"][0]["field"]),
        (422, &json!("value"))
    );
}

#[tokio::test]
async fn older_releases_serve_fewer_kinds() {
    let of = |text: &str| ServerOptions {
        release: text.parse::<Release>().expect("the release is valid"),
        gates: BTreeMap::new(),
        ..ServerOptions::default()
    };
    for (release, path, code) in [
        ("1.33", "/apis/resource.k8s.io/v1/deviceclasses", 404),
        ("1.34", "/apis/resource.k8s.io/v1/deviceclasses", 200),
        ("1.20", "/apis/batch/v1/cronjobs", 404),
        ("1.21", "/apis/batch/v1/cronjobs", 200),
    ] {
        let wire = TestServer::start_with(of(release), None).await;
        assert_eq!(wire.get(path).await.code, code, "{path} in {release}");
    }
}
