//! Permissions that the publisher needs. Each test enables RBAC, and grants the publisher only the listed rules.

use std::collections::BTreeSet;
use std::time::Duration;

use capacity_publisher::{CleanerOptions, Options};
use fake_apiserver::{Authorization, ResourceRef};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams};
use serde_json::{Value, json};

use super::cluster::{Cluster, DRIVER, KEY, NAMESPACE};

fn rule(group: &str, resource: &str, verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": verbs})
}

/// Grants RBAC rules to a user: `everywhere` by a ClusterRole, `here` by a Role in the publisher's namespace.
fn grant(cluster: &Cluster, user: &str, everywhere: Vec<Value>, here: Vec<Value>) {
    let subjects = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]);
    let version = "rbac.authorization.k8s.io/v1";
    for (kind, rules, namespace) in [("ClusterRole", everywhere, None), ("Role", here, Some(NAMESPACE))] {
        let metadata = json!({"name": user, "namespace": namespace});
        let reference = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user});
        cluster.create(json!({"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules}));
        cluster.create(json!({
            "apiVersion": version, "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": reference, "subjects": subjects,
        }));
    }
}

const READ: [&str; 3] = ["get", "list", "watch"];

/// Cluster-wide RBAC rules for provisioning and central publishing, as external-provisioner documents them.
fn cluster_wide_rules() -> Vec<Value> {
    vec![
        rule("storage.k8s.io", "storageclasses", &READ),
        rule("storage.k8s.io", "csinodes", &READ),
        rule("", "nodes", &READ),
        rule("", "persistentvolumeclaims", &["get", "list", "watch", "update"]),
        rule(
            "",
            "persistentvolumes",
            &["get", "list", "watch", "create", "patch", "delete"],
        ),
        rule("", "events", &["list", "watch", "create", "update", "patch"]),
    ]
}

/// RBAC rule for capacity objects in the publisher's namespace.
fn objects() -> Value {
    let all = ["get", "list", "watch", "create", "update", "patch", "delete"];
    rule("storage.k8s.io", "csistoragecapacities", &all)
}

/// Creates a Deployment with its ReplicaSet and the publisher's pod, and a StatefulSet with a second pod.
pub(crate) fn create_owners(cluster: &Cluster) {
    let containers = json!([{"name": "publisher", "image": "example.com/publisher"}]);
    let labels = json!({"app": "publisher"});
    let template = json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
    let create = |kind: &str, name: &str, owner: Option<&Value>| {
        let owners: Vec<Value> = owner
            .map(|owner| {
                json!({
                    "apiVersion": owner["apiVersion"], "kind": owner["kind"], "controller": true,
                    "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
                })
            })
            .into_iter()
            .collect();
        let (version, spec) = match kind {
            "Pod" => ("v1", json!({"containers": containers})),
            _ => (
                "apps/v1",
                json!({"selector": {"matchLabels": labels}, "serviceName": "publisher", "template": template}),
            ),
        };
        let metadata = json!({"name": name, "namespace": NAMESPACE, "ownerReferences": owners});
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        cluster.admin.create(object).unwrap()
    };
    let deployment = create("Deployment", "publisher", None);
    let replica_set = create("ReplicaSet", "publisher-1", Some(&deployment));
    create("Pod", "publisher-1-a", Some(&replica_set));
    let stateful_set = create("StatefulSet", "publisher", None);
    create("Pod", "publisher-0", Some(&stateful_set));
}

pub(crate) fn owned(cluster: &Cluster, pod: &str, level: i32) -> Options {
    Options {
        capacity_ownerref_level: level,
        pod_name: Some(pod.to_owned()),
        ..cluster.options()
    }
}

/// The kinds of the owners of all capacity objects.
fn owners(cluster: &Cluster) -> BTreeSet<String> {
    let objects = cluster.admin.list(&cluster.capacities()).unwrap().items;
    let kind = |object: &std::sync::Arc<Value>| object["metadata"]["ownerReferences"][0]["kind"].to_string();
    objects.iter().map(kind).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn looking_up_an_owner_needs_get_on_the_objects_below_it_only() {
    for (pod, level, readable, kind) in [
        ("publisher-1-a", 0, &["pods"][..], "Pod"),
        ("publisher-0", 1, &["pods"][..], "StatefulSet"),
        ("publisher-1-a", 2, &["pods", "replicasets"][..], "Deployment"),
    ] {
        let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
        create_owners(&cluster);
        let group = |resource: &str| if resource == "pods" { "" } else { "apps" };
        let mut here: Vec<Value> = readable
            .iter()
            .map(|resource| rule(group(resource), resource, &["get"]))
            .collect();
        here.push(objects());
        grant(&cluster, "publisher", cluster_wide_rules(), here);
        let publisher = cluster.publish("publisher", owned(&cluster, pod, level));
        cluster.until_published(1).await;
        assert_eq!(owners(&cluster), BTreeSet::from([format!("{kind:?}")]));
        publisher.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_owner_fails_the_start_with_its_name() {
    for (readable, missing) in [(vec![], "Pod"), (vec![rule("", "pods", &["get"])], "ReplicaSet")] {
        let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
        create_owners(&cluster);
        let here = [readable, vec![objects()]].concat();
        grant(&cluster, "publisher", cluster_wide_rules(), here);
        let publisher = cluster.publish("publisher", owned(&cluster, "publisher-1-a", 2));
        let ended = tokio::time::timeout(Duration::from_secs(20), publisher.task).await;
        let text = ended.unwrap().unwrap().unwrap_err().to_string();
        assert!(text.contains(missing) && text.contains("grant get"), "{text}");
        assert_eq!(cluster.count("ADDED csistoragecapacities"), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn publishing_waits_until_nodes_may_be_read() {
    let cluster = Cluster::start(2, 1, Authorization::Rbac).await;
    let without: Vec<Value> = cluster_wide_rules()
        .into_iter()
        .filter(|rule| rule["resources"][0] != "csinodes")
        .collect();
    grant(&cluster, "publisher", without, vec![objects()]);
    let publisher = cluster.publish("publisher", cluster.options());
    cluster
        .until(|cluster| cluster.count("refused csinodes") >= 3)
        .await;
    assert_eq!(cluster.count("GetCapacity OK"), 0, "no call for unknown segments");
    assert_eq!(cluster.count("ADDED csistoragecapacities"), 0);
    grant(
        &cluster,
        "more",
        vec![rule("storage.k8s.io", "csinodes", &READ)],
        vec![],
    );
    let place = ResourceRef::new("rbac.authorization.k8s.io", "clusterrolebindings").name("more");
    let subjects = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "publisher"}]);
    cluster
        .admin
        .patch_merge(&place, json!({"subjects": subjects}))
        .unwrap();
    cluster.until_published(2).await;
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_publishing_no_rule_for_capacity_objects_is_needed() {
    let cluster = Cluster::start(1, 0, Authorization::Rbac).await;
    grant(&cluster, "publisher", cluster_wide_rules(), vec![]);
    cluster.create(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "now"},
        "provisioner": DRIVER, "volumeBindingMode": "Immediate",
    }));
    let zone = [(KEY.to_owned(), "n0".to_owned())].into();
    cluster.driver.set_pool(fake_csi::Pool::linear(zone, 10, None));
    let publisher = cluster.publish(
        "publisher",
        Options {
            enable_capacity: false,
            ..cluster.options()
        },
    );
    cluster.create(json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": NAMESPACE},
        "spec": {"storageClassName": "now", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1"}}},
    }));
    cluster
        .until(|cluster| cluster.count("ADDED persistentvolumes") == 1)
        .await;
    cluster.api.quiet().await;
    let refused = cluster.denied_requests();
    assert!(refused.is_empty(), "unneeded requests: {refused:?}");
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_may_read_capacity_objects_but_not_write_them() {
    let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
    let publisher_rules = vec![objects()];
    grant(&cluster, "publisher", cluster_wide_rules(), publisher_rules);
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(1).await;
    publisher.stop().await;
    grant(
        &cluster,
        "viewer",
        vec![rule("storage.k8s.io", "csistoragecapacities", &READ)],
        vec![],
    );
    let client = cluster.client("viewer");
    let kind = GroupVersionKind::gvk("storage.k8s.io", "v1", "CSIStorageCapacity");
    let resource = ApiResource::from_gvk_with_plural(&kind, "csistoragecapacities");
    let api: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
    let found = api.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(found.len(), 1);
    let name = found[0].metadata.name.as_deref().unwrap();
    let refused = api.replace(name, &PostParams::default(), &found[0]).await;
    assert!(matches!(refused, Err(kube::Error::Api(status)) if status.code == 403));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_rules_suffice_to_publish() {
    let cluster = Cluster::start(2, 1, Authorization::Rbac).await;
    grant(&cluster, "publisher", cluster_wide_rules(), vec![objects()]);
    let publisher = cluster.publish("publisher", cluster.options());
    cluster.until_published(2).await;
    cluster
        .admin
        .delete(&ResourceRef::new("storage.k8s.io", "storageclasses").name("c0"))
        .unwrap();
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 2)
        .await;
    let refused = cluster.denied_requests();
    assert!(refused.is_empty(), "no request may be denied: {refused:?}");
    publisher.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cleaner_needs_csinodes_and_capacity_objects_but_no_socket() {
    let cluster = Cluster::start(1, 1, Authorization::Rbac).await;
    let object = |node: &str| {
        let labels = json!({
            "csi.storage.k8s.io/drivername": DRIVER,
            "csi.storage.k8s.io/managed-by": format!("external-provisioner-{node}"),
        });
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": format!("of-{node}"), "namespace": NAMESPACE, "labels": labels},
            "storageClassName": "c0", "capacity": "1Gi", "nodeTopology": {"matchLabels": {KEY: node}},
        })
    };
    cluster.create(object("n0"));
    cluster.create(object("gone"));
    let csi_nodes = rule("storage.k8s.io", "csinodes", &["list", "watch"]);
    let objects = rule("storage.k8s.io", "csistoragecapacities", &["list", "delete"]);
    grant(&cluster, "cleaner", vec![csi_nodes], vec![objects]);
    let options = Options {
        kube_api_capacity_qps: 0.0,
        namespace: Some(NAMESPACE.to_owned()),
        cleaner: CleanerOptions {
            clean_orphans: true,
            driver_name: Some(DRIVER.to_owned()),
            orphan_after: Duration::from_millis(50),
        },
        ..Options::default()
    };
    let cleaner = cluster.publish("cleaner", options);
    cluster
        .until(|cluster| cluster.count("DELETED csistoragecapacities") == 1)
        .await;
    let left = cluster.admin.list(&cluster.capacities()).unwrap().items;
    let names: BTreeSet<&str> = left
        .iter()
        .filter_map(|object| object["metadata"]["name"].as_str())
        .collect();
    assert_eq!(names, BTreeSet::from(["of-n0"]), "the driver is on n0");
    cleaner.stop().await;
}
