//! Tests of rejection reasons other than storage: cordons, taints, labels, and resources that other pods use.

use std::sync::Arc;

use capacity_scheduler::Options;
use capacity_scheduler::cycle::{self, Decision};
use capacity_scheduler::node_pods::NodePods;
use capacity_scheduler::objects::{Object, Pod};
use capacity_scheduler::release::Release;
use capacity_scheduler::rules::Rules;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::reasons::SPACE;
use super::test_cluster::TestCluster;

const TAINTED: &str = "node(s) had untolerated taint(s)";

fn verdicts(cluster: &TestCluster, pod: &Value) -> Vec<String> {
    let rules = Rules::default();
    let assessment = cycle::assess(&cluster.snapshot, &rules, &cluster.pod(pod.clone())).unwrap();
    let fits = assessment
        .feasible
        .iter()
        .map(|feasible| format!("{}: fits", feasible.node.name()));
    let refused = assessment.rejected.iter().map(|refused| {
        format!(
            "{}: {}",
            refused.node.name(),
            refused.cause.reasons(&rules).join(", ")
        )
    });
    let mut all: Vec<_> = fits.chain(refused).collect();
    all.sort();
    all
}

#[test]
fn nodes_with_untolerated_taints_are_rejected() {
    let taint = |key: &str, value: &str, effect: &str| json!({"taints": [{"key": key, "value": value, "effect": effect}]});
    let mut cluster = TestCluster::default();
    for (node, spec) in [
        ("a-free", json!({})),
        ("b-cordoned", json!({"unschedulable": true})),
        ("c-disk", taint("disk", "slow", "NoSchedule")),
        ("d-gone", taint("gone", "", "NoExecute")),
        ("e-better-not", taint("full", "", "PreferNoSchedule")),
    ] {
        cluster.node(node, &json!({}), &spec);
    }
    let with = |tolerations: Value| verdicts(&cluster, &json!({"tolerations": tolerations}));
    let cordoned = "b-cordoned: node(s) were unschedulable".to_owned();
    let c = format!("c-disk: {TAINTED}");
    let d = format!("d-gone: {TAINTED}");
    let (a, e) = ("a-free: fits".to_owned(), "e-better-not: fits".to_owned());
    assert_eq!(with(json!([])), [&a, &cordoned, &c, &d, &e].map(Clone::clone));
    for (toleration, node) in [
        (json!({"key": "disk", "value": "slow"}), "c-disk"),
        (
            json!({"key": "disk", "operator": "Exists", "effect": "NoSchedule"}),
            "c-disk",
        ),
        (json!({"key": "gone", "operator": "Exists"}), "d-gone"),
        (
            json!({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}),
            "b-cordoned",
        ),
    ] {
        let fits: Vec<_> = with(json!([toleration]))
            .into_iter()
            .filter(|verdict| verdict.ends_with("fits"))
            .collect();
        let mut expected = [a.clone(), e.clone(), format!("{node}: fits")];
        expected.sort();
        assert_eq!(fits, expected, "{toleration}");
    }
    for nothing in [
        json!({"key": "disk", "value": "fast"}),
        json!({"key": "gone", "operator": "Exists", "effect": "NoSchedule"}),
        json!({"key": "disk", "operator": "Near", "value": "slow"}),
    ] {
        assert_eq!(
            with(json!([nothing.clone()]))
                .iter()
                .filter(|verdict| verdict.ends_with("fits"))
                .count(),
            2,
            "{nothing}"
        );
    }
    assert!(
        with(json!([{"operator": "Exists"}]))
            .iter()
            .all(|verdict| verdict.ends_with("fits"))
    );
}

/// Adds a node with 1 CPU, 1Gi of memory and at most 2 pods, on which pods with these requests run.
fn node_with(cluster: &mut TestCluster, pods: &[Value]) {
    let allocatable = json!({"cpu": "1", "memory": "1Gi", "pods": "2"});
    cluster.node_with_status("n1", &json!({"allocatable": allocatable}));
    for (number, requests) in pods.iter().enumerate() {
        let source = json!({
            "metadata": {"name": format!("other-{number}"), "namespace": "ns", "uid": format!("other-{number}")},
            "spec": {"nodeName": "n1", "containers": [{"name": "c", "resources": {"requests": requests}}]},
        });
        let pod = Pod::read(&serde_json::from_value(source).unwrap()).unwrap();
        cluster.snapshot.pods.observe(&Arc::new(pod));
    }
}

fn pod_requesting(containers: &[Value], init: &[Value]) -> Value {
    let named = |all: &[Value]| -> Vec<Value> {
        all.iter()
            .map(|requests| json!({"name": "c", "resources": {"requests": requests}}))
            .collect()
    };
    json!({"containers": named(containers), "initContainers": named(init)})
}

#[test]
fn cpu_memory_and_pod_count_are_limited() {
    let small = json!({"cpu": "100m", "memory": "100Mi"});
    for (others, pod, expected) in [
        (
            vec![],
            pod_requesting(&[json!({"cpu": "1", "memory": "1Gi"})], &[]),
            "fits",
        ),
        (
            vec![],
            pod_requesting(&[json!({"cpu": "1001m"})], &[]),
            "Insufficient cpu",
        ),
        (
            vec![],
            pod_requesting(&[json!({"memory": "1025Mi"})], &[]),
            "Insufficient memory",
        ),
        (
            vec![],
            pod_requesting(&[json!({"cpu": "600m"}), json!({"cpu": "600m"})], &[]),
            "Insufficient cpu",
        ),
        (
            vec![],
            pod_requesting(&[json!({"cpu": "600m"})], &[json!({"cpu": "600m"})]),
            "fits",
        ),
        (
            vec![],
            pod_requesting(&[json!({"cpu": "1m"})], &[json!({"cpu": "2"})]),
            "Insufficient cpu",
        ),
        (
            vec![small.clone()],
            pod_requesting(&[json!({"cpu": "900m"})], &[]),
            "fits",
        ),
        (
            vec![small.clone()],
            pod_requesting(&[json!({"cpu": "901m", "memory": "1Gi"})], &[]),
            "Insufficient cpu, Insufficient memory",
        ),
        (
            vec![small.clone(), small],
            pod_requesting(&[], &[]),
            "Too many pods",
        ),
        // A pod without requests fits even if other pods request more than the node has.
        (vec![json!({"cpu": "7"})], pod_requesting(&[], &[]), "fits"),
    ] {
        let mut cluster = TestCluster::default();
        node_with(&mut cluster, &others);
        assert_eq!(
            verdicts(&cluster, &pod),
            [format!("n1: {expected}")],
            "{others:?} {pod}"
        );
    }
}

#[test]
fn a_node_without_allocatable_has_no_limit() {
    let mut cluster = TestCluster::default();
    cluster.node("n1", &json!({}), &Value::Null);
    assert_eq!(
        verdicts(&cluster, &pod_requesting(&[json!({"cpu": "1000"})], &[])),
        ["n1: fits"]
    );
}

#[test]
fn resources_are_released_by_deleted_pods_and_used_by_assumed_pods() {
    let mut cluster = TestCluster::default();
    node_with(&mut cluster, &[json!({"cpu": "1"})]);
    let pod = Arc::new(cluster.pod(pod_requesting(&[json!({"cpu": "1"})], &[])));
    let pods = &mut cluster.snapshot.pods;
    let cpu = |pods: &NodePods| pods.node_info("n1").map_or(0, |on| on.requested.cpu_milli);
    let count = |pods: &NodePods| pods.node_info("n1").map_or(0, |on| on.pods.len());
    pods.remove("other-0");
    assert_eq!(cpu(pods), 0);
    pods.assume(&pod, "n1");
    assert_eq!(cpu(pods), 1000);
    pods.observe(&pod);
    assert_eq!(
        cpu(pods),
        1000,
        "the assumed pod still counts before its binding is observed"
    );
    pods.forget(&pod.uid);
    assert_eq!(count(pods), 0);
    let there = Arc::new(Pod {
        node: Some("n1".to_owned()),
        ..(*pod).clone()
    });
    pods.assume(&there, "n1");
    pods.observe(&there);
    assert_eq!(count(pods), 1, "the bound pod counts once");
    pods.forget(&there.uid);
    assert_eq!(
        count(pods),
        1,
        "the bound pod counts after the assumption is forgotten"
    );
}

#[test]
fn the_message_combines_storage_and_other_reasons() {
    let mut cluster = TestCluster::new(&["n2"]);
    node_with(&mut cluster, &[json!({"cpu": "1"})]);
    cluster.node(
        "n3",
        &json!({}),
        &json!({"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}),
    );
    cluster.add_delayed_claim("data", "fast", "1Gi");
    let pod = pod_requesting(&[json!({"cpu": "1"})], &[]);
    let message = |release: &str| {
        let release: Release = release.parse().unwrap();
        let rules = Options {
            release,
            ..Options::default()
        }
        .rules()
        .unwrap();
        match cycle::decide(
            &cluster.snapshot,
            &rules,
            &cluster.pod(pod.clone()),
            &mut StdRng::seed_from_u64(1),
        ) {
            Decision::Unschedulable { message, .. } => message,
            other => panic!("{other:?}"),
        }
    };
    let preemption = "preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.";
    assert_eq!(
        message("1.36"),
        format!(
            "0/3 nodes are available: 1 Insufficient cpu, 1 {SPACE}, 1 {TAINTED}. no new claims to deallocate, {preemption}"
        )
    );
    assert_eq!(
        message("1.30"),
        format!(
            "0/3 nodes are available: 1 Insufficient cpu, 1 {SPACE}, 1 node(s) had untolerated taint {{k: v}}. {preemption}"
        )
    );
    assert_eq!(
        message("1.21"),
        format!(
            "0/3 nodes are available: 1 Insufficient cpu, 1 {SPACE}, 1 node(s) had taint {{k: v}}, that the pod didn't tolerate."
        )
    );
    assert_eq!(
        message("1.26"),
        format!(
            "0/3 nodes are available: 1 Insufficient cpu, 1 {SPACE}, 1 node(s) had untolerated taint {{k: v}}. {preemption}."
        )
    );
}

#[test]
fn before_1_21_maximum_volume_size_is_ignored() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.capacity(
        "fast",
        &super::test_cluster::topology_of_node("n1"),
        &json!("100Gi"),
        &json!("5Gi"),
    );
    cluster.add_delayed_claim("data", "fast", "10Gi");
    for (release, fits) in [("1.20", true), ("1.21", false)] {
        let options = Options {
            release: release.parse().unwrap(),
            ..Options::default()
        };
        let assessment = cluster.assess(&options.rules().unwrap());
        assert_eq!(assessment.feasible.len() == 1, fits, "{release}");
    }
}
