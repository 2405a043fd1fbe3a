//! Tests of the messages of unschedulable pods. The expected texts are those of kube-scheduler 1.36.

use capacity_scheduler::cycle;
use capacity_scheduler::rules::Rules;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::reasons::{AFFINITY, SPACE};
use super::test_cluster::TestCluster;

/// The expected message, and a function that adds PVCs for which the pod gets this message.
type Row = (&'static str, fn(&mut TestCluster));

#[test]
fn pvcs_that_rule_out_every_node_determine_the_message() {
    let unbound_immediate = "pod has unbound immediate PersistentVolumeClaims";
    let rows: [Row; 9] = [
        ("persistentvolumeclaim \"none\" not found", |cluster| {
            cluster.pod_volume(json!({"name": "x", "persistentVolumeClaim": {"claimName": "none"}}));
        }),
        (
            "waiting for ephemeral volume controller to create the persistentvolumeclaim \"p-e\"",
            |cluster| cluster.pod_volume(ephemeral()),
        ),
        (
            "PVC ns/p-e was not created for pod ns/p (pod is not owner)",
            |cluster| {
                cluster.claim("p-e", "fast", "1Gi", owned_by("another"));
                cluster.pod_volume(ephemeral());
            },
        ),
        (
            "persistentvolumeclaim \"a\" bound to non-existent persistentvolume \"v\"",
            |cluster| {
                cluster.claim(
                    "a",
                    "fast",
                    "1Gi",
                    json!({"spec": {"volumeName": "v"}, "status": {"phase": "Lost"}}),
                );
            },
        ),
        ("persistentvolumeclaim \"a\" is being deleted", |cluster| {
            cluster.claim(
                "a",
                "fast",
                "1Gi",
                json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            );
        }),
        (unbound_immediate, |cluster| {
            cluster.class("fast", json!({"volumeBindingMode": "Immediate"}));
            cluster.add_delayed_claim("a", "fast", "1Gi");
        }),
        (unbound_immediate, |cluster| {
            cluster.add_delayed_claim("a", "no-such-class", "1Gi");
        }),
        (unbound_immediate, |cluster| {
            cluster.add_delayed_claim("a", "", "1Gi");
        }),
        (unbound_immediate, |cluster| {
            cluster.claim("a", "fast", "1Gi", json!({"spec": {"volumeName": "v"}}));
        }),
    ];
    for (expected, prepare) in rows {
        let mut cluster = TestCluster::new(&["n1"]);
        prepare(&mut cluster);
        let text = format!("0/1 nodes are available: {expected}. not found");
        assert_eq!(message(&cluster, json!({})), text);
    }
}

#[test]
fn the_pods_own_ephemeral_pvc_is_checked_like_others() {
    let mut cluster = TestCluster::new(&["n1"]);
    let owner =
        json!([{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "uid-of-p", "controller": true}]);
    cluster.claim(
        "p-e",
        "fast",
        "1Gi",
        json!({"metadata": {"ownerReferences": owner}}),
    );
    cluster.pod_volume(json!({"name": "e", "ephemeral": {}}));
    assert_eq!(cluster.verdicts(&Rules::default()), [format!("n1: {SPACE}")]);
}

#[test]
fn reasons_are_counted_per_node() {
    let mut cluster = TestCluster::new(&["n1", "n2", "n3"]);
    cluster.volume("v", "fast", "1Gi", "n1", json!({"status": {"phase": "Bound"}}));
    cluster.add_bound_claim("a", "v");
    cluster.add_delayed_claim("b", "fast", "1Gi");
    let expected = format!("0/3 nodes are available: 2 {AFFINITY}, 3 {SPACE}. ");
    assert!(
        message(&cluster, json!({})).starts_with(&expected),
        "{}",
        message(&cluster, json!({}))
    );
}

#[test]
fn nodes_rejected_by_other_filters_have_no_storage_reason() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.add_delayed_claim("a", "fast", "1Gi");
    let selector = message(&cluster, json!({"nodeSelector": {"node": "n1"}}));
    let expected = format!("available: 1 {SPACE}, 1 node(s) didn't match Pod's node affinity/selector. ");
    assert!(selector.contains(&expected), "{selector}");
    let by_name = json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]});
    let required =
        json!({"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [by_name]}});
    let named = message(&cluster, json!({"affinity": {"nodeAffinity": required}}));
    let expected = format!("available: 1 {SPACE}, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. ");
    assert!(named.contains(&expected), "{named}");
}

#[test]
fn without_nodes_the_message_says_so() {
    assert_eq!(
        message(&TestCluster::new(&[]), json!({})),
        "no nodes available to schedule pods"
    );
}

fn message(cluster: &TestCluster, spec: Value) -> String {
    let mut random = StdRng::seed_from_u64(1);
    match cycle::decide(
        &cluster.snapshot,
        &Rules::default(),
        &cluster.pod(spec),
        &mut random,
    ) {
        cycle::Decision::Unschedulable { message, .. } => message,
        other => panic!("unexpected {other:?}"),
    }
}

fn owned_by(uid: &str) -> Value {
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": uid, "controller": true});
    json!({"metadata": {"ownerReferences": [owner]}})
}

fn ephemeral() -> Value {
    json!({"name": "e", "ephemeral": {}})
}
