//! Tests of the health indicators: each indicator changes with the condition of the cluster that the indicator describes.

use std::collections::BTreeMap;
use std::time::Duration;

use capacity_diagnose::health::{
    Calls, DriverCapacity, Indicator, ObservedCluster, Question, ReportedValues, Requests, State,
};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::Options;
use serde_json::{Value, json};

const DRIVER: &str = "disk.example.com";
const GIB: i64 = 1 << 30;

/// The objects of a healthy cluster.
fn cluster() -> Vec<Value> {
    let key = format!("{DRIVER}/node");
    let node = |name: &str| json!({"kind": "Node", "metadata": {"name": name, "labels": {&key: name}}});
    let csi_node = |name: &str| {
        let entry = json!({"name": DRIVER, "nodeID": name, "topologyKeys": [&key]});
        json!({"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": [entry]}})
    };
    let owner = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver", "uid": "ds"}]);
    let capacity = |name: &str| {
        json!({"kind": "CSIStorageCapacity", "metadata": {"name": name, "namespace": "csi", "ownerReferences": owner}, "storageClassName": "fast",
            "nodeTopology": {"matchLabels": {&key: name}}, "capacity": "10Gi"})
    };
    let ready = json!([{"type": "Ready", "status": "True"}]);
    vec![
        node("n1"),
        node("n2"),
        csi_node("n1"),
        csi_node("n2"),
        json!({"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {"storageCapacity": true}}),
        json!({"kind": "StorageClass", "metadata": {"name": "fast"}, "provisioner": DRIVER,
            "volumeBindingMode": "WaitForFirstConsumer", "parameters": {"csi.storage.k8s.io/fstype": "ext4", "raid": "none"}}),
        capacity("n1"),
        capacity("n2"),
        json!({"kind": "Pod", "metadata": {"name": "driver-0", "namespace": "csi", "uid": "d", "ownerReferences": owner},
            "spec": {"nodeName": "n1", "containers": []}, "status": {"phase": "Running", "conditions": ready}}),
    ]
}

/// A pod that was rejected for lack of storage, and its PVC of this size.
fn rejected_pod(size: &str) -> [Value; 2] {
    let message = "0/2 nodes are available: 2 node(s) did not have enough free storage.";
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "data"}});
    [
        json!({"kind": "Pod", "metadata": {"name": "app", "namespace": "default", "uid": "a"},
            "spec": {"containers": [], "volumes": [volume]}, "status": {"phase": "Pending", "conditions": [condition]}}),
        json!({"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default", "uid": "c"},
            "spec": {"storageClassName": "fast", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}}),
    ]
}

fn indicators(objects: &[Value], reported: &ReportedValues) -> Vec<Indicator> {
    let mut inventory = Inventory::default();
    objects
        .iter()
        .try_for_each(|object| inventory.add(object.clone()))
        .unwrap();
    let observed = ObservedCluster {
        objects,
        pods: &[],
        inventory: &inventory,
        reported,
    };
    observed.indicators(&Options::default().rules().unwrap())
}

/// Question and message of each indicator with the state `Bad` or `Risk`.
fn bad_indicators(objects: &[Value], reported: &ReportedValues) -> Vec<(Question, String)> {
    let all = indicators(objects, reported).into_iter();
    all.filter(|it| matches!(it.state, State::Bad | State::Risk))
        .map(|it| (it.question, it.message))
        .collect()
}

/// Question and message of the only indicator with the state `Bad` or `Risk`.
fn only_bad_indicator(objects: &[Value], reported: &ReportedValues) -> (Question, String) {
    let mut all = bad_indicators(objects, reported);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn cluster_with_changed(kind: &str, change: impl Fn(&mut Value)) -> Vec<Value> {
    let mut objects = cluster();
    objects
        .iter_mut()
        .filter(|object| object["kind"] == kind)
        .for_each(change);
    objects
}

#[test]
fn use_is_detected_from_objects_and_metrics_and_not_from_workloads() {
    let word = |objects: &[Value], reported: &ReportedValues| {
        let all = indicators(objects, reported);
        let of_driver = all
            .into_iter()
            .find(|it| it.subject == format!("driver {DRIVER}"));
        of_driver.expect("the driver has an indicator").message
    };
    let none_reported = ReportedValues::default();
    assert!(word(&cluster(), &none_reported).starts_with("in use: storageCapacity is true, 2 capacity"));
    let off = cluster_with_changed("CSIDriver", |it| it["spec"]["storageCapacity"] = json!(false));
    assert!(word(&off, &none_reported).starts_with("prepared: 2 capacity objects"));
    let mut none = off;
    none.retain(|object| object["kind"] != "CSIStorageCapacity");
    none.extend(rejected_pod("1Gi"));
    assert!(
        word(&none, &none_reported).starts_with("not in use"),
        "pods are not evidence of use"
    );
    let mut unpublished = cluster();
    unpublished.retain(|object| object["kind"] != "CSIStorageCapacity");
    let (question, message) = bad_indicators(&unpublished, &none_reported).remove(0);
    assert_eq!(question, Question::InUse);
    assert!(message.contains("there are no objects"), "{message}");
    let goal = ReportedValues {
        goal: Some(2.0),
        ..ReportedValues::default()
    };
    let of_publisher = |it: &Indicator| it.question == Question::InUse && it.subject == "publisher";
    let all = indicators(&cluster(), &goal);
    let message = &all
        .iter()
        .find(|it| of_publisher(it))
        .expect("the publisher has an indicator")
        .message;
    assert_eq!(message, "2 capacity objects are desired, and 2 exist");
}

#[test]
fn each_failing_component_is_reported() {
    let none_reported = ReportedValues::default();
    assert_eq!(bad_indicators(&cluster(), &none_reported), []);
    let unready = cluster_with_changed("Pod", |it| {
        it["status"]["conditions"][0]["status"] = json!("False");
    });
    let (question, message) = only_bad_indicator(&unready, &none_reported);
    assert_eq!(
        (question, message.as_str()),
        (Question::Health, "0 of its 1 pods are ready; not driver-0")
    );
    let gone = cluster_with_changed("CSINode", |it| it["spec"]["drivers"] = json!([]));
    assert!(
        bad_indicators(&gone, &none_reported)
            .iter()
            .any(|(_, message)| message == "registered on 0 of 2 nodes")
    );
    let wrong = cluster_with_changed("CSIStorageCapacity", |it| {
        it.as_object_mut()
            .expect("the object is a map")
            .remove("nodeTopology");
    });
    let messages: Vec<String> = bad_indicators(&wrong, &none_reported)
        .into_iter()
        .map(|(_, message)| message)
        .collect();
    assert_eq!(messages[0], "class fast: 0 of 2 nodes have an object; not n1, n2");
    assert!(
        messages[1].contains("findings about the driver's objects"),
        "{messages:?}"
    );
    let calls = |failed| ReportedValues {
        calls: Some(Calls { all: 10.0, failed }),
        ..ReportedValues::default()
    };
    assert_eq!(bad_indicators(&cluster(), &calls(1.0)), []);
    let (question, message) = only_bad_indicator(&cluster(), &calls(2.0));
    assert_eq!(
        (question, message.as_str()),
        (Question::Health, "2 of 10 GetCapacity calls failed")
    );
}

#[test]
fn a_rejection_is_bad_if_there_is_capacity() {
    let mut objects = cluster();
    objects.extend(rejected_pod("20Gi"));
    let answered = |bytes: i64, raid: &str| ReportedValues {
        driver_capacities: Some(vec![DriverCapacity {
            driver: DRIVER.to_owned(),
            segment: BTreeMap::from([(format!("{DRIVER}/node"), "n2".to_owned())]),
            parameters: BTreeMap::from([("raid".to_owned(), raid.to_owned())]),
            bytes,
        }]),
        ..ReportedValues::default()
    };
    // Not bad: the driver has too little capacity, GetCapacity responses are known only for other parameters, or none is known.
    assert_eq!(bad_indicators(&objects, &answered(20 * GIB - 1, "none")), []);
    assert_eq!(bad_indicators(&objects, &answered(20 * GIB, "mirror")), []);
    assert_eq!(bad_indicators(&objects, &ReportedValues::default()), []);
    let unknown = indicators(&objects, &ReportedValues::default());
    let of_pod = unknown
        .iter()
        .find(|it| it.question == Question::Refusals)
        .expect("a pod is rejected");
    assert_eq!(of_pod.state, State::Unknown);
    let (question, message) = only_bad_indicator(&objects, &answered(20 * GIB, "none"));
    assert_eq!(question, Question::Refusals);
    assert!(
        message.contains("the driver has 20Gi for class fast on node n2, which is not published"),
        "{message}"
    );
    let mut fits = cluster();
    fits.extend(rejected_pod("10Gi"));
    let (question, message) = only_bad_indicator(&fits, &ReportedValues::default());
    assert_eq!(question, Question::Refusals);
    assert!(
        message.contains("it fits n1 according to the published capacity"),
        "{message}"
    );
}

#[test]
fn excessive_changes_and_failing_requests_are_reported() {
    let requests = |changes: f64, failed: f64, over: Option<u64>| ReportedValues {
        requests: Some(Requests {
            all: 100.0,
            updates: changes,
            failed,
            over: over.map(Duration::from_secs),
            ..Requests::default()
        }),
        ..ReportedValues::default()
    };
    // In one minute, four changes of two objects are tolerated.
    assert_eq!(bad_indicators(&cluster(), &requests(4.0, 5.0, Some(60))), []);
    assert_eq!(
        bad_indicators(&cluster(), &requests(50.0, 0.0, None)),
        [],
        "the period is unknown"
    );
    let (question, message) = only_bad_indicator(&cluster(), &requests(5.0, 0.0, Some(60)));
    assert_eq!(question, Question::Load);
    assert!(
        message.starts_with("2.50 changes per object and minute (2 objects)"),
        "{message}"
    );
    let (question, message) = only_bad_indicator(&cluster(), &requests(0.0, 6.0, Some(60)));
    assert_eq!(
        (question, message.as_str()),
        (Question::Load, "6 of 100 requests failed with status 429 or 5xx")
    );
}

#[test]
fn recreated_objects_are_reported() {
    let requests = |creations: f64, deletions: f64| ReportedValues {
        requests: Some(Requests {
            all: creations + deletions,
            creations,
            deletions,
            over: Some(Duration::from_mins(112)),
            ..Requests::default()
        }),
        ..ReportedValues::default()
    };
    assert_eq!(
        bad_indicators(&cluster(), &requests(2.0, 0.0)),
        [],
        "each of the two objects was created once"
    );
    let shown = bad_indicators(&cluster(), &requests(238.0, 236.0));
    let texts: Vec<&str> = shown.iter().map(|(_, message)| message.as_str()).collect();
    assert_eq!(
        texts,
        [
            "2.11 changes per object and minute (2 objects); more than 2 are unusual",
            "1.05 replacements (238 created, 236 deleted) per object and minute (2 objects); more than 0.2 are unusual"
        ]
    );
}

#[test]
fn harmless_changes_leave_a_healthy_cluster_good() {
    let key = format!("{DRIVER}/node");
    let with = |more: Vec<Value>| {
        let mut objects = cluster();
        objects.extend(more);
        objects
    };
    let allowed = |values: Value| json!([{"matchLabelExpressions": [{"key": &key, "values": values}]}]);
    let pod = |name: &str, spec: Value| json!({"kind": "Pod", "metadata": {"name": name, "namespace": "csi", "uid": name}, "spec": spec, "status": {"phase": "Running"}});
    let own = json!({"nodeName": "n2", "containers": [], "volumes": [{"name": "x", "hostPath": {"path": format!("/var/lib/kubelet/plugins/{DRIVER}/")}}]});
    let mut leaving = with(vec![pod("driver-1", own.clone())]);
    leaving
        .iter_mut()
        .filter(|it| it["kind"] == "Node" && it["metadata"]["name"] == "n2")
        .for_each(|it| it["status"] = json!({"conditions": [{"type": "Ready", "status": "Unknown"}]}));
    let template = json!({"kind": "CSIStorageCapacity", "metadata": {"name": "template", "namespace": "csi"}, "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {&key: "template"}}, "capacity": "10Gi"});
    let joining = json!({"kind": "Node", "metadata": {"name": "n3", "labels": {&key: "n3"}}});
    let untracked = vec![
        json!({"kind": "CSIDriver", "metadata": {"name": "net"}, "spec": {}}),
        json!({"kind": "StorageClass", "metadata": {"name": "net"}, "provisioner": "net", "volumeBindingMode": "WaitForFirstConsumer"}),
    ];
    let zero = cluster_with_changed("CSIStorageCapacity", |it| {
        if it["metadata"]["name"] == "n1" {
            it["capacity"] = json!("0");
        }
    });
    let mut left_out = cluster();
    left_out.retain(|it| !(it["kind"] == "CSIStorageCapacity" && it["metadata"]["name"] == "n1"));
    let pinned = cluster_with_changed("StorageClass", |it| {
        it["allowedTopologies"] = allowed(json!(["n1"]));
    });
    for (what, objects) in [
        ("a class that allowedTopologies pins", pinned),
        (
            "an unready pod of another program",
            with(vec![pod("coredns", json!({"nodeName": "n1", "containers": []}))]),
        ),
        (
            "an object for a node that an autoscaler may add",
            with(vec![template]),
        ),
        ("a node that joins", with(vec![joining])),
        ("a driver's pod on a node that leaves", leaving),
        ("a driver without tracking", with(untracked)),
        ("zero published", zero),
        ("zero left out", left_out),
    ] {
        assert_eq!(bad_indicators(&objects, &ReportedValues::default()), [], "{what}");
    }
    // Changes that resemble the harmless ones above but must be reported.
    let mistyped = cluster_with_changed("StorageClass", |it| {
        it["allowedTopologies"] = allowed(json!([format!("{key}=n1")]));
    });
    for (what, objects, expected) in [
        (
            "a value that no node has",
            mistyped,
            "1 finding about the driver's objects",
        ),
        (
            "an unready pod of the driver",
            with(vec![pod("driver-1", own)]),
            "1 of its 2 pods are ready; not driver-1",
        ),
    ] {
        let (question, message) = only_bad_indicator(&objects, &ReportedValues::default());
        assert_eq!(question, Question::Health, "{what}");
        assert!(message.starts_with(expected), "{what}: {message}");
    }
}
