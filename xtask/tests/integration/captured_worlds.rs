//! Captures random clusters with a pod: the captured scenario must be valid and start, and the pod must get the same scheduling result as
//! in the cluster.

use std::time::Duration;

use capacity_diagnose::capture::{CaptureOptions, capture};
use capacity_diagnose::explain::{self, ExplainOptions};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::Options;
use capacity_scheduler::objects::ObjectKey;
use proptest::prelude::*;
use serde_json::{Value, json};
use suites::harness::LiveCluster;
use suites::harness::plan::{Plan, resolve};
use suites::harness::scenario;

const RACK: &str = "corp.example/rack";
const DRIVER: &str = "csi.corp.example";

fn rack() -> impl Strategy<Value = String> {
    (1..4u8).prop_map(|number| format!("r{number}"))
}

fn size() -> impl Strategy<Value = String> {
    (0..6u8).prop_map(|number| format!("{}Gi", u32::from(number) * 10))
}

fn node(number: usize) -> impl Strategy<Value = Vec<Value>> {
    let labels = (proptest::option::of(rack()), any::<bool>(), 0..20u8);
    let limit = proptest::option::weighted(0.3, 0..3u8);
    (labels, any::<bool>(), 0..8u8, proptest::option::of(1..5u8), limit).prop_map(
        move |((rack, with_host, rank), registered, special, cpu, limit)| {
            let name = format!("host{number}");
            let mut labels = json!({"rank": rank.to_string(), "unrelated": "x"});
            if let Some(rack) = rack {
                labels[RACK] = rack.into();
            }
            if with_host {
                labels["kubernetes.io/hostname"] = name.as_str().into();
            }
            let mut node = json!({"kind": "Node", "metadata": {"name": name, "labels": labels}});
            match special {
                0 => node["spec"]["unschedulable"] = true.into(),
                1 => {
                    node["spec"]["taints"] =
                        json!([{"key": "corp.example/reserved", "value": "db", "effect": "NoSchedule"}]);
                }
                _ => {}
            }
            if let Some(cpu) = cpu {
                node["status"]["allocatable"] =
                    json!({"cpu": cpu.to_string(), "memory": "1Gi", "pods": "10"});
            }
            let mut drivers = match registered {
                true => json!([{"name": DRIVER, "nodeID": name, "topologyKeys": [RACK]}]),
                false => json!([]),
            };
            if let Some(limit) = limit.filter(|_| registered) {
                drivers[0]["allocatable"]["count"] = limit.into();
            }
            let csi_node =
                json!({"kind": "CSINode", "metadata": {"name": name}, "spec": {"drivers": drivers}});
            vec![node, csi_node]
        },
    )
}

fn topology() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => rack().prop_map(|rack| json!({"matchLabels": {RACK: rack}})),
        1 => Just(Value::Null),
        1 => Just(json!({})),
        1 => (rack(), rack()).prop_map(|(a, b)| {
            json!({"matchExpressions": [{"key": RACK, "operator": "NotIn", "values": [a, b]}]})
        }),
        1 => Just(json!({"matchExpressions": [{"key": "rank", "operator": "Exists"}]})),
    ]
}

fn capacity(number: usize) -> impl Strategy<Value = Value> {
    let sizes = (proptest::option::of(size()), proptest::option::of(size()));
    (topology(), sizes, any::<bool>(), any::<bool>()).prop_map(move |(topology, sizes, gold, other)| {
        let mut object = json!({
            "kind": "CSIStorageCapacity",
            "metadata": {"name": format!("c{number}"), "namespace": if other { "a" } else { "b" }},
            "storageClassName": if gold { "gold" } else { "tin" }, "nodeTopology": topology,
        });
        if let Some(size) = sizes.0 {
            object["capacity"] = size.into();
        }
        if let Some(size) = sizes.1 {
            object["maximumVolumeSize"] = size.into();
        }
        object
    })
}

fn class(name: &'static str) -> impl Strategy<Value = Value> {
    let allowed = proptest::collection::btree_set(proptest::collection::btree_set(rack(), 1..3), 0..3);
    (any::<bool>(), allowed).prop_map(move |(delayed, allowed)| {
        let mode = if delayed || name == "gold" { "WaitForFirstConsumer" } else { "Immediate" };
        let mut class = json!({
            "kind": "StorageClass", "metadata": {"name": name}, "provisioner": DRIVER, "volumeBindingMode": mode,
        });
        if !allowed.is_empty() {
            let terms = allowed
                .iter()
                .map(|values| json!({"matchLabelExpressions": [{"key": RACK, "values": values}]}));
            class["allowedTopologies"] = terms.collect();
        }
        class
    })
}

/// Volumes of the pod, and the claims with their bound volumes.
fn claims() -> impl Strategy<Value = (Vec<Value>, Vec<Value>)> {
    let claim = (size(), any::<bool>(), 0..6u8, rack(), 0..16u8);
    proptest::collection::vec(claim, 1..3).prop_map(|claims| {
        let (mut volumes, mut objects) = (Vec::new(), Vec::new());
        for (number, (size, gold, state, rack, special)) in claims.into_iter().enumerate() {
            let is_ephemeral = matches!(special, 3..6);
            let name = if is_ephemeral { format!("app-v{number}") } else { format!("data{number}") };
            let mut claim = json!({
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{number}")},
                "spec": {
                    "storageClassName": if gold { "gold" } else { "tin" }, "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": if size == "0Gi" { "1".to_owned() } else { size.clone() }}},
                },
            });
            match state {
                0 => {
                    claim["metadata"]["annotations"] = json!({"volume.kubernetes.io/selected-node": "host1"});
                }
                1 | 2 => {
                    let volume = format!("pvc-{number}");
                    claim["spec"]["volumeName"] = volume.as_str().into();
                    claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
                    claim["status"]["phase"] = "Bound".into();
                    let uid = if state == 1 { format!("uid-{number}") } else { "old".to_owned() };
                    let term = json!({"matchExpressions": [{"key": RACK, "operator": "In", "values": [rack]}]});
                    objects.push(json!({
                        "kind": "PersistentVolume", "metadata": {"name": volume},
                        "spec": {
                            "storageClassName": claim["spec"]["storageClassName"], "accessModes": ["ReadWriteOnce"],
                            "capacity": {"storage": "50Gi"}, "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                            "claimRef": {"namespace": "team", "name": name, "uid": uid},
                            "csi": {"driver": DRIVER, "volumeHandle": format!("secret-handle-{number}")},
                        },
                        "status": {"phase": "Bound"},
                    }));
                    if number == 0 {
                        objects.push(attachment(&volume, "host1"));
                    }
                }
                _ => {}
            }
            match special {
                0 => claim["metadata"]["deletionTimestamp"] = LONG_AGO.into(),
                1 => claim["spec"]["dataSource"] = json!({"kind": "PersistentVolumeClaim", "name": "data0"}),
                2 => {
                    claim["spec"]["dataSource"] =
                        json!({"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "corp.example.snap"});
                }
                3 | 4 => {
                    let uid = if special == 3 { "uid-app" } else { "uid-other" };
                    claim["metadata"]["ownerReferences"] =
                        json!([{"apiVersion": "v1", "kind": "Pod", "name": "app", "uid": uid, "controller": true}]);
                }
                _ => {}
            }
            let volume = format!("v{number}");
            volumes.push(match is_ephemeral {
                true => json!({"name": volume, "ephemeral": {"volumeClaimTemplate": {"spec": claim["spec"]}}}),
                false => json!({"name": volume, "persistentVolumeClaim": {"claimName": name}}),
            });
            // The claims of some pods do not exist yet.
            if !matches!(special, 5 | 6) {
                objects.push(claim);
            }
        }
        (volumes, objects)
    })
}

const LONG_AGO: &str = "2020-01-01T00:00:00Z";

fn attachment(volume: &str, node: &str) -> Value {
    json!({"kind": "VolumeAttachment", "metadata": {"name": format!("{volume}-{node}")},
        "spec": {"attacher": DRIVER, "nodeName": node, "source": {"persistentVolumeName": volume}}})
}

fn pod(volumes: Vec<Value>) -> impl Strategy<Value = Value> {
    let kind = (0..4u8, proptest::option::of(1..3000u32), any::<bool>());
    (kind, proptest::bool::weighted(0.05)).prop_map(move |((say, cpu, tolerates), deleted)| {
        let mut spec = json!({"containers": [{"name": "c", "image": "corp/app"}], "volumes": volumes});
        if let Some(cpu) = cpu {
            spec["containers"][0]["resources"] = json!({"requests": {"cpu": format!("{cpu}m")}});
        }
        if tolerates {
            spec["tolerations"] =
                json!([{"key": "corp.example/reserved", "operator": "Equal", "value": "db"}]);
        }
        match say {
            0 => spec["nodeSelector"] = json!({RACK: "r1"}),
            1 => {
                let term = json!({"matchExpressions": [{"key": "rank", "operator": "Gt", "values": ["5"]}]});
                spec["affinity"]["nodeAffinity"] =
                    json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}});
            }
            _ => {}
        }
        let mut pod = json!({"kind": "Pod", "metadata": {"name": "app", "namespace": "team", "uid": "uid-app"}, "spec": spec});
        if deleted {
            pod["metadata"]["deletionTimestamp"] = LONG_AGO.into();
        }
        pod
    })
}

/// A pod that runs on a node, with random resource requests, host port, anti-affinity to the pod under test, and storage.
fn other_pod(number: usize) -> impl Strategy<Value = Vec<Value>> {
    let kind = (0..6u8, 1..4usize, proptest::option::of(1..2000u32), any::<bool>());
    let storage = (0..8u8, proptest::bool::weighted(0.1));
    (kind, proptest::option::of(-5..5i64), storage).prop_map(move |((kind, node, cpu, own), priority, (storage, deleted))| {
        let mut spec = json!({"nodeName": format!("host{node}"), "containers": [{"name": "c", "image": "corp/other"}]});
        if let Some(cpu) = cpu {
            spec["containers"][0]["resources"] = json!({"requests": {"cpu": format!("{cpu}m"), "corp.example/gpu": "1"}});
        }
        if let Some(priority) = priority {
            spec["priority"] = priority.into();
        }
        match kind {
            0 => spec["containers"][0]["ports"] = json!([{"containerPort": 80, "hostPort": 8080}]),
            1 => {
                let term = json!({"topologyKey": RACK, "labelSelector": {"matchLabels": {"corp.example/app": "app"}}, "namespaces": ["team"]});
                spec["affinity"]["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
            }
            _ => {}
        }
        let namespace = if own { "team" } else { "elsewhere" };
        let labels = json!({"corp.example/app": if kind % 2 == 0 { "app" } else { "else" }});
        let name = format!("other-{number}");
        let mut objects = Vec::new();
        let claim = format!("own-{number}");
        match storage {
            0..3 => {
                let volume = format!("pvc-own-{number}");
                objects.push(json!({"kind": "PersistentVolumeClaim", "metadata": {"name": claim, "namespace": namespace},
                    "spec": {"storageClassName": "gold", "volumeName": volume, "accessModes": ["ReadWriteOnce"]}}));
                objects.push(json!({"kind": "PersistentVolume", "metadata": {"name": volume},
                    "spec": {"storageClassName": "gold", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"},
                        "claimRef": {"namespace": namespace, "name": claim, "uid": "u"},
                        "csi": {"driver": DRIVER, "volumeHandle": volume}}}));
                objects.push(attachment(&volume, &format!("host{node}")));
                spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]);
            }
            3 => spec["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "data0"}}]),
            _ => {}
        }
        let mut pod =
            json!({"kind": "Pod", "metadata": {"name": name, "namespace": namespace, "uid": name, "labels": labels}, "spec": spec});
        if deleted {
            pod["metadata"]["deletionTimestamp"] = LONG_AGO.into();
        }
        objects.push(pod);
        objects
    })
}

/// The affinity of the pod under test to other pods.
fn affinity_to_pods() -> impl Strategy<Value = Value> {
    (0..6u8, 1..3u32).prop_map(|(kind, skew)| {
        let selector = json!({"matchLabels": {"corp.example/app": "app"}});
        let term = json!({"topologyKey": RACK, "labelSelector": selector});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        match kind {
            0 => json!({"affinity": {"podAntiAffinity": required}}),
            1 => json!({"affinity": {"podAffinity": required}}),
            2 => json!({"topologySpreadConstraints": [{
                "topologyKey": RACK, "labelSelector": selector, "maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule"}]}),
            3 => json!({"containers": [{"name": "c", "image": "corp/app", "ports": [{"containerPort": 80, "hostPort": 8080}],
                "resources": {"requests": {"cpu": "500m", "corp.example/gpu": "1"}, "limits": {"corp.example/gpu": "1"}}}]}),
            4 => json!({"priority": 3}),
            _ => json!({}),
        }
    })
}

fn cluster() -> impl Strategy<Value = Vec<Value>> {
    let other_pods = (0..6usize).prop_flat_map(|count| (0..count).map(other_pod).collect::<Vec<_>>());
    (with_storage(), other_pods, affinity_to_pods(), any::<bool>()).prop_map(
        |(mut objects, other_pods, affinity_to_pods, two_keys)| {
            if two_keys {
                add_key(&mut objects);
            }
            let nodes: Vec<Value> = objects
                .iter()
                .filter(|it| it["kind"] == "Node")
                .map(|it| it["metadata"]["name"].clone())
                .collect();
            for pod in objects.iter_mut().filter(|it| it["kind"] == "Pod") {
                pod["metadata"]["labels"] = json!({"corp.example/app": "app"});
                for (field, value) in affinity_to_pods.as_object().into_iter().flatten() {
                    let known = &mut pod["spec"][field.as_str()];
                    match (known.as_object_mut(), value.as_object()) {
                        (Some(known), Some(value)) => known.extend(value.clone()),
                        _ => *known = value.clone(),
                    }
                }
            }
            let on_nodes = other_pods.into_iter().filter(|it| {
                it.last()
                    .is_some_and(|pod| nodes.contains(&pod["spec"]["nodeName"]))
            });
            objects.extend(on_nodes.flatten());
            objects
        },
    )
}

/// Adds a second topology key to the driver. Capacity objects get the first node's value of the key.
fn add_key(objects: &mut [Value]) {
    let rank = objects[0]["metadata"]["labels"]["rank"].clone();
    for object in objects {
        let drivers = object["spec"]["drivers"].as_array_mut().into_iter().flatten();
        drivers.for_each(|driver| driver["topologyKeys"] = json!([RACK, "rank"]));
        if let Some(labels) = object["nodeTopology"]["matchLabels"].as_object_mut() {
            labels.insert("rank".to_owned(), rank.clone());
        }
    }
}

fn with_storage() -> impl Strategy<Value = Vec<Value>> {
    let nodes = (1..4usize).prop_flat_map(|count| (0..count).map(node).collect::<Vec<_>>());
    let capacities = (0..6usize).prop_flat_map(|count| (0..count).map(capacity).collect::<Vec<_>>());
    let with_pod = claims().prop_flat_map(|(volumes, claims)| (Just(claims), pod(volumes)));
    let classes = (class("gold"), class("tin"));
    let tracks = proptest::option::weighted(0.9, proptest::bool::weighted(0.9));
    (nodes, capacities, classes, with_pod, tracks).prop_map(
        |(nodes, capacities, classes, (claims, pod), tracks)| {
            let mut objects: Vec<Value> = nodes.into_iter().flatten().chain(capacities).collect();
            objects.extend([classes.0, classes.1, pod]);
            objects.extend(claims);
            let driver = json!({"kind": "CSIDriver", "metadata": {"name": DRIVER}, "spec": {}});
            objects.push(match tracks {
                Some(tracks) => {
                    let mut driver = driver;
                    driver["spec"]["storageCapacity"] = tracks.into();
                    driver
                }
                None => driver,
            });
            objects
        },
    )
}

/// The scheduling result: the verdict and, for every node, whether the pod fits and the reasons.
fn scheduling_result(objects: &[Value], namespace: &str, pod: &str) -> (String, Vec<(bool, Vec<String>)>) {
    let mut inventory = Inventory::default();
    for object in objects {
        inventory.add(object.clone()).unwrap();
    }
    let pod = &inventory.pods[&ObjectKey::namespaced(namespace, pod)];
    let rules = Options::default().rules().unwrap();
    let detail = ExplainOptions::default();
    match explain::pod(&inventory.snapshot, &rules, pod, &detail) {
        Ok(explanation) => {
            let nodes = explanation.nodes.into_iter().map(|node| {
                (
                    node.fits,
                    node.reasons.iter().map(|it| without_names(it)).collect(),
                )
            });
            // Leaves out the names of nodes, which follow ` nodes: ` in the verdict.
            let verdict = explanation.verdict.split(" nodes: ").next().unwrap_or_default();
            (without_names(verdict), nodes.collect())
        }
        Err(error) => (error.to_string(), Vec::new()),
    }
}

/// The words of a reason, sorted, without names of claims and extended resources, which `--scrub` replaces.
fn without_names(reason: &str) -> String {
    let words = reason
        .split([' ', ',', '.'])
        .filter(|word| !word.contains(['/', '"']));
    let mut words: Vec<&str> = words
        .filter(|word| !matches!(*word, "example" | "corp"))
        .collect();
    words.sort_unstable();
    words.join(" ")
}

/// The objects, with the priority of each pod set from its priority class, as the API server does.
fn with_priorities(mut objects: Vec<Value>) -> Vec<Value> {
    let classes: Vec<Value> = objects
        .iter()
        .filter(|it| it["kind"] == "PriorityClass")
        .cloned()
        .collect();
    for pod in objects.iter_mut().filter(|it| it["kind"] == "Pod") {
        let class = classes
            .iter()
            .find(|it| it["metadata"]["name"] == pod["spec"]["priorityClassName"]);
        if let Some(class) = class {
            pod["spec"]["priority"] = class["value"].clone();
            pod["spec"]["preemptionPolicy"] = class["preemptionPolicy"].clone();
        }
    }
    objects
}

fn plan(text: &str) -> Plan {
    let cases = scenario::parse("captured.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    resolve(&cases[0]).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn captured(objects: &[Value], scrub: bool, publisher: bool) -> String {
    let options = CaptureOptions {
        pod: Some(("team".to_owned(), "app".to_owned())),
        scrub,
        publisher,
        ..CaptureOptions::default()
    };
    capture(objects, &|_, _| true, &options).unwrap().text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn scheduling_a_captured_cluster_has_the_same_result(objects in cluster()) {
        let before = scheduling_result(&objects, "team", "app");
        for (scrub, pod) in [(false, "app"), (true, "pod-1")] {
            let text = captured(&objects, scrub, false);
            let after = scheduling_result(&with_priorities(plan(&text).case.objects), "default", pod);
            prop_assert_eq!(&after, &before, "{}", text);
            for part in ["unrelated", "secret-handle", "corp/app"] {
                prop_assert!(!text.contains(part), "{part} in:\n{}", text);
            }
            prop_assert!(!scrub || !text.contains("corp.example"), "{}", text);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 8, ..ProptestConfig::default() })]

    #[test]
    fn every_captured_cluster_starts(objects in cluster(), scrub: bool, publisher: bool) {
        let text = captured(&objects, scrub, publisher);
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let started = runtime.block_on(async {
            let systems = references::built_in(None);
            let cluster = LiveCluster::start(&plan(&text), &systems, Duration::from_millis(100)).await?;
            cluster.stop().await;
            Ok::<_, suites::harness::StartError>(())
        });
        prop_assert!(started.is_ok(), "{}\n{text}", started.unwrap_err());
    }
}
