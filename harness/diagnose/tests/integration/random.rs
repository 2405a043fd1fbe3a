//! Properties for random objects of all kinds that the scheduler parses: no panics, and decision, score and explanation agree.

use capacity_diagnose::explain::{self, ExplainOptions};
use capacity_diagnose::inventory::Inventory;
use capacity_diagnose::lint;
use capacity_scheduler::cycle::{self, Decision};
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::{Choice, Pooling, Rules};
use capacity_scheduler::shape::Shape;
use capacity_types::ByteConversion;
use proptest::collection::{btree_map, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

fn name() -> impl Strategy<Value = &'static str> {
    select(&["a", "b", "c", "d"][..])
}

/// Small, fractional, negative and huge sizes, and sizes beyond 64 bits.
fn size() -> impl Strategy<Value = Value> {
    const SIZES: [&str; 12] = [
        "0",
        "1",
        "1500m",
        "1Ki",
        "10Gi",
        "80Pi",
        "7Ei",
        "100E",
        "-1Gi",
        "9223372036854775807",
        "9223372036854775808",
        "1n",
    ];
    of(select(&SIZES[..])).prop_map(|size| json!(size))
}

fn labels() -> impl Strategy<Value = Value> {
    btree_map("[xyz]", "[123]", 0..3).prop_map(|labels| json!(labels))
}

fn requirements(operators: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let one = ("[xyz]", select(operators), vec("[123]", 0..3));
    let one =
        one.prop_map(|(key, operator, values)| json!({"key": key, "operator": operator, "values": values}));
    vec(one, 0..3).prop_map(|all| json!(all))
}

fn node_selector() -> impl Strategy<Value = Value> {
    let term = requirements(&["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near"])
        .prop_map(|all| json!({"matchExpressions": all}));
    of(vec(term, 0..3))
        .prop_map(|terms| terms.map_or(Value::Null, |terms| json!({"nodeSelectorTerms": terms})))
}

fn label_selector() -> impl Strategy<Value = Value> {
    let selector = (
        labels(),
        requirements(&["In", "NotIn", "Exists", "DoesNotExist", "Gt"]),
    );
    of(selector).prop_map(|selector| {
        selector.map_or(
            Value::Null,
            |(labels, all)| json!({"matchLabels": labels, "matchExpressions": all}),
        )
    })
}

fn node() -> impl Strategy<Value = Value> {
    let taint = (
        "[xyz]",
        select(&["NoSchedule", "NoExecute", "PreferNoSchedule"][..]),
    );
    let taint = taint.prop_map(|(key, effect)| json!({"key": key, "effect": effect}));
    (name(), labels(), any::<bool>(), vec(taint, 0..2), of(size())).prop_map(
        |(name, labels, cordoned, taints, memory)| {
            let status =
                memory.map(|memory| json!({"allocatable": {"cpu": "1", "memory": memory, "pods": "3"}}));
            let status = status.filter(|status| !status["allocatable"]["memory"].is_null());
            json!({
                "kind": "Node", "metadata": {"name": name, "labels": labels},
                "spec": {"unschedulable": cordoned && taints.is_empty(), "taints": taints}, "status": status,
            })
        },
    )
}

fn class() -> impl Strategy<Value = Value> {
    let term = btree_map("[xyz]", vec("[123]", 0..3), 0..2).prop_map(|all| {
        let all: Vec<_> = all
            .into_iter()
            .map(|(key, values)| json!({"key": key, "values": values}))
            .collect();
        json!({"matchLabelExpressions": all})
    });
    let provisioner = select(&["a", "b", "kubernetes.io/no-provisioner", ""][..]);
    (name(), provisioner, any::<bool>(), vec(term, 0..2)).prop_map(|(name, provisioner, delayed, terms)| {
        let mode = if delayed {
            "WaitForFirstConsumer"
        } else {
            "Immediate"
        };
        json!({
            "kind": "StorageClass", "metadata": {"name": name}, "provisioner": provisioner,
            "volumeBindingMode": mode, "allowedTopologies": terms,
        })
    })
}

fn claim() -> impl Strategy<Value = Value> {
    let parts = (
        name(),
        name(),
        size(),
        of(name()),
        of(name()),
        any::<bool>(),
        label_selector(),
    );
    parts.prop_map(|(name, class, size, selected, volume, beta, selector)| {
        let mut annotations = json!({});
        if let Some(node) = selected {
            annotations["volume.kubernetes.io/selected-node"] = json!(node);
        }
        if volume.is_some() {
            annotations["pv.kubernetes.io/bind-completed"] = json!("yes");
        }
        let field = if beta { Value::Null } else { json!(class) };
        if beta {
            annotations["volume.beta.kubernetes.io/storage-class"] = json!(class);
        }
        let requests = if size.is_null() {
            json!({})
        } else {
            json!({"storage": size})
        };
        json!({
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "ns", "uid": name, "annotations": annotations},
            "spec": {
                "storageClassName": field, "volumeName": volume, "selector": selector,
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": requests},
            },
        })
    })
}

fn volume() -> impl Strategy<Value = Value> {
    (name(), name(), size(), of(name()), node_selector(), any::<bool>()).prop_map(
        |(name, class, size, claim, affinity, available)| {
            let capacity = if size.is_null() {
                json!({})
            } else {
                json!({"storage": size})
            };
            let claim = claim.map(|claim| json!({"namespace": "ns", "name": claim}));
            let affinity = if affinity.is_null() {
                Value::Null
            } else {
                json!({"required": affinity})
            };
            json!({
                "kind": "PersistentVolume", "metadata": {"name": name},
                "spec": {
                    "storageClassName": class, "capacity": capacity, "accessModes": ["ReadWriteOnce"],
                    "claimRef": claim, "nodeAffinity": affinity,
                },
                "status": {"phase": if available { "Available" } else { "Bound" }},
            })
        },
    )
}

fn object() -> impl Strategy<Value = Value> {
    let driver = (name(), any::<Option<bool>>())
        .prop_map(|(name, tracks)| json!({"kind": "CSIDriver", "metadata": {"name": name}, "spec": {"storageCapacity": tracks}}));
    let capacity = (name(), name(), label_selector(), size(), size()).prop_map(|(name, class, topology, capacity, maximum)| {
        json!({
            "kind": "CSIStorageCapacity", "metadata": {"name": name, "namespace": "ns"},
            "storageClassName": class, "nodeTopology": topology, "capacity": capacity, "maximumVolumeSize": maximum,
        })
    });
    prop_oneof![node(), class(), driver, capacity, claim(), volume()]
}

fn pod() -> impl Strategy<Value = Value> {
    let volume = prop_oneof![
        name().prop_map(|claim| json!({"persistentVolumeClaim": {"claimName": claim}})),
        Just(json!({"ephemeral": {"volumeClaimTemplate": {"spec": {}}}})),
        Just(json!({"csi": {"driver": "a"}})),
    ];
    (vec(volume, 0..4), node_selector(), labels(), size()).prop_map(|(volumes, affinity, selector, memory)| {
        let named = volumes.into_iter().enumerate().map(|(index, mut volume)| {
            volume["name"] = json!(format!("v{index}"));
            volume
        });
        let affinity = if affinity.is_null() {
            Value::Null
        } else {
            json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": affinity}})
        };
        let requests = if memory.is_null() { json!({}) } else { json!({"memory": memory}) };
        json!({
            "kind": "Pod", "metadata": {"name": "p", "namespace": "ns", "uid": "p"},
            "spec": {
                "containers": [{"name": "c", "resources": {"requests": requests}}], "volumes": named.collect::<Vec<_>>(),
                "affinity": affinity, "nodeSelector": if selector["x"] == "1" { selector } else { json!({}) },
            },
        })
    })
}

fn rules() -> impl Strategy<Value = Rules> {
    (any::<[bool; 5]>(), any::<u64>()).prop_map(|([wrapping, scored, summed, old, any], salt)| Rules {
        arithmetic: if wrapping {
            ByteConversion::Wrapping
        } else {
            ByteConversion::Exact
        },
        shape: scored.then(Shape::most_free),
        pooling: if summed { Pooling::Each } else { Pooling::Once },
        ignores_maximum_volume_size: old,
        choice: if any { Choice::Any(salt) } else { Choice::Largest },
        ..Rules::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    #[test]
    fn decision_score_and_explanation_agree_without_panics(objects in vec(object(), 0..40), pod in pod(), rules in rules()) {
        let mut inventory = Inventory::default();
        for object in objects.into_iter().chain([pod]) {
            inventory.add(object).unwrap();
        }
        let snapshot = &inventory.snapshot;
        let pod = &inventory.pods[&ObjectKey::namespaced("ns", "p")];
        let decision = cycle::decide(snapshot, &rules, pod, &mut StdRng::seed_from_u64(7));
        let explained = explain::pod(snapshot, &rules, pod, &ExplainOptions::default()).unwrap();
        match decision {
            Decision::Place(chosen) => {
                let node = explained.nodes.iter().find(|node| node.node == chosen.node.name()).unwrap();
                prop_assert!(node.fits);
                prop_assert!((0..=100).contains(&chosen.score), "{}", chosen.score);
            }
            Decision::Unschedulable { message, .. } => {
                prop_assert!(explained.nodes.iter().all(|node| !node.fits));
                prop_assert_eq!(explained.verdict, message);
            }
            Decision::Failed { message } => prop_assert!(false, "{}", message),
        }
        lint::lint(snapshot);
    }
}
