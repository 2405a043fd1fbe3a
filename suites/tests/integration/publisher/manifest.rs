//! The RBAC manifest that ships with the publisher grants exactly the permissions that the publisher uses (KEP-1472, test plan).

use std::collections::BTreeSet;
use std::time::Duration;

use capacity_publisher::{LeaderElectionOptions, Options};
use fake_apiserver::{Authorization, Effect as ApiEffect, Match, ResourceRef, Rule, Verb};
use fake_csi::{Code, Effect, Method, Pool};
use kube::Api;
use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};

use super::cluster::{Cluster, DRIVER, KEY, NAMESPACE};
use super::permissions::{create_owners, owned};

const MANIFEST: &str = include_str!("../../../../harness/publisher/rbac.yaml");
const USER: &str = "system:serviceaccount:csi:capacity-publisher";

fn manifest() -> Vec<Value> {
    serde_saphyr::from_multiple(MANIFEST).unwrap()
}

/// The permissions that the RBAC manifest grants, as `<verb> <group>/<resource>`.
fn permissions_in_manifest() -> BTreeSet<String> {
    let texts = |list: &Value| -> Vec<String> { serde_json::from_value(list.clone()).unwrap() };
    let mut found = BTreeSet::new();
    for object in manifest() {
        for rule in object["rules"].as_array().into_iter().flatten() {
            for group in texts(&rule["apiGroups"]) {
                for resource in texts(&rule["resources"]) {
                    let verbs = texts(&rule["verbs"]).into_iter();
                    found.extend(verbs.map(|verb| format!("{verb} {group}/{resource}")));
                }
            }
        }
    }
    found
}

/// A cluster with RBAC enabled, the manifest applied, and storage in one zone.
async fn cluster() -> Cluster {
    let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
    for object in manifest() {
        cluster.create(object);
    }
    create_owners(&cluster);
    cluster.create(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "now"},
        "provisioner": DRIVER, "volumeBindingMode": "Immediate",
    }));
    let zone = [(KEY.to_owned(), "n0".to_owned())].into();
    cluster.driver.set_pool(Pool::linear(zone, 1 << 30, None));
    cluster
}

fn options(cluster: &Cluster) -> Options {
    Options {
        capacity_poll_interval: Duration::from_millis(50),
        election: LeaderElectionOptions {
            enabled: true,
            namespace: Some(NAMESPACE.to_owned()),
            ..LeaderElectionOptions::default()
        },
        ..owned(cluster, "publisher-1-a", 2)
    }
}

fn claim(cluster: &Cluster, name: &str, class: &str, annotations: &Value) {
    let metadata = json!({"name": name, "namespace": NAMESPACE, "annotations": annotations});
    cluster.create(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}},
    }));
}

fn fail(cluster: &Cluster, method: Method, code: Code, times: u32) {
    let rule = fake_csi::Rule {
        method,
        segment: None,
        parameters: Default::default(),
        skip: 0,
        times: Some(times),
        effect: Effect::Code(code, "scripted".to_owned()),
    };
    cluster.driver.add_rule(rule).unwrap();
}

async fn wait_until_observed(cluster: &Cluster, what: &str, times: usize) {
    cluster.until(|cluster| cluster.count(what) >= times).await;
}

/// Makes the publisher create, update and delete capacity objects, including an update with a conflict.
async fn write_objects(cluster: &Cluster) {
    cluster.until_published(1).await;
    let conflict = Rule::new(
        Match {
            verbs: vec![Verb::Update],
            resource: Some("csistoragecapacities".to_owned()),
            ..Match::default()
        },
        ApiEffect::Status {
            code: 409,
            retry_after_seconds: 0,
        },
    );
    let conflict = cluster.api.add_fault_rule(conflict.times(1)).unwrap();
    cluster.driver.clear_rules();
    let changed = Effect::Capacity {
        available: 2 << 30,
        maximum: None,
        minimum: None,
    };
    cluster.script_get_capacity(changed, None);
    wait_until_observed(cluster, "MODIFIED csistoragecapacities", 1).await;
    cluster.api.remove_fault_rule(conflict);
    let class = ResourceRef::new("storage.k8s.io", "storageclasses").name("c0");
    cluster.admin.delete(&class).unwrap();
    wait_until_observed(cluster, "DELETED csistoragecapacities", 1).await;
    cluster.create_class(1);
    wait_until_observed(cluster, "ADDED csistoragecapacities", 2).await;
}

/// Makes the publisher provision volumes after failures, and then delete the released volumes.
async fn provision_volumes(cluster: &Cluster) {
    fail(cluster, Method::CreateVolume, Code::Internal, 2);
    claim(cluster, "data", "now", &json!({}));
    wait_until_observed(cluster, "ADDED persistentvolumes", 1).await;
    fail(cluster, Method::CreateVolume, Code::ResourceExhausted, 1);
    let selected = json!({"volume.kubernetes.io/selected-node": "n0"});
    claim(cluster, "late", "c1", &selected);
    let late = ResourceRef::core("persistentvolumeclaims")
        .namespace(NAMESPACE)
        .name("late");
    let given_back = |cluster: &Cluster| {
        let claim = cluster.admin.get(&late).unwrap();
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_null()
    };
    cluster.until(given_back).await;
    let volumes = cluster
        .admin
        .list(&ResourceRef::core("persistentvolumes"))
        .unwrap();
    let name = volumes.items[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let volume = ResourceRef::core("persistentvolumes").name(&name);
    let data = ResourceRef::core("persistentvolumeclaims")
        .namespace(NAMESPACE)
        .name("data");
    cluster.admin.delete(&data).unwrap();
    let released = json!({"status": {"phase": "Released"}});
    cluster
        .admin
        .patch_subresource(&volume, "status", released)
        .unwrap();
    wait_until_observed(cluster, "DELETED persistentvolumes", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_manifest_grants_exactly_the_used_permissions() {
    let cluster = cluster().await;
    let publisher = cluster.publish(USER, options(&cluster));
    write_objects(&cluster).await;
    provision_volumes(&cluster).await;
    publisher.stop().await;
    assert_eq!(cluster.denied_requests(), Vec::<String>::new());
    let used = cluster.seen.used_by(USER);
    let documented = permissions_in_manifest();
    let missing: Vec<_> = used.difference(&documented).collect();
    let idle: Vec<_> = documented.difference(&used).collect();
    assert!(missing.is_empty(), "used and not documented: {missing:?}");
    assert!(idle.is_empty(), "documented and not used: {idle:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn permissions_missing_in_the_manifest_are_denied() {
    let cluster = cluster().await;
    let client = cluster.client(USER);
    let api = |group: &str, kind: &str, plural: &str, namespace: Option<&str>| -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk(group, "v1", kind);
        let resource = ApiResource::from_gvk_with_plural(&kind, plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        }
    };
    let storage = "storage.k8s.io";
    for (api, name) in [
        (api("", "Secret", "secrets", Some(NAMESPACE)), None),
        (
            api(storage, "CSIStorageCapacity", "csistoragecapacities", None),
            None,
        ),
        (api("", "Node", "nodes", None), Some("n0")),
        (api("", "Pod", "pods", Some(NAMESPACE)), Some("publisher-1-a")),
        (api(storage, "StorageClass", "storageclasses", None), Some("c0")),
    ] {
        let answer = match name {
            Some(name) => api.delete(name, &DeleteParams::default()).await.map(drop),
            None => api.list(&ListParams::default()).await.map(drop),
        };
        assert!(
            matches!(&answer, Err(kube::Error::Api(status)) if status.code == 403),
            "{name:?}: {answer:?}"
        );
    }
}
