//! Tests of the scores of feasible nodes (KEP-4049). The expected values were recorded from kube-scheduler 1.36.

use std::collections::BTreeSet;

use capacity_scheduler::cycle::{self, Decision};
use capacity_scheduler::filter::VolumePlan;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::score;
use capacity_scheduler::shape::{Shape, parse_points};
use capacity_types::ByteConversion;
use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, topology_of_node};

const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn default_shape() -> Rules {
    Rules {
        shape: Some(Shape::most_free()),
        ..Rules::default()
    }
}

fn rules_with_shape(text: &str) -> Rules {
    Rules {
        shape: Some(Shape::new(&parse_points(text).unwrap()).unwrap()),
        ..Rules::default()
    }
}

/// A cluster with PVCs of class `fast`, and a capacity object of that class for each node.
fn cluster(claims: &[&str], capacities: [&str; 3]) -> TestCluster {
    let mut cluster = TestCluster::new(&NODES);
    for (index, size) in claims.iter().enumerate() {
        cluster.add_delayed_claim(&format!("c{index}"), "fast", size);
    }
    for (node, capacity) in NODES.iter().zip(capacities) {
        cluster.capacity_on(node, capacity);
    }
    cluster
}

#[test]
fn the_default_score_is_the_free_capacity_after_provisioning() {
    for (claims, capacities, expected) in [
        (&["10Gi"][..], ["100Gi", "50Gi", "10Gi"], [90, 80, 0]),
        (&["1Gi"], ["3Gi", "7Gi", "101Gi"], [67, 86, 100]),
        // PVCs of one class share its capacity. If the sum of the requests exceeds the capacity, the node only gets a lower score.
        (&["50Gi", "50Gi"], ["100Gi", "60Gi", "120Gi"], [0, 0, 17]),
        (&["80Pi"], ["1Ei", "2Ei", "7Ei"], [93, 97, 99]),
    ] {
        assert_eq!(
            cluster(claims, capacities).scores(&default_shape()),
            expected,
            "{claims:?}"
        );
    }
}

#[test]
fn large_requests_overflow_only_with_wrapping_arithmetic() {
    let wrapping = Rules {
        arithmetic: ByteConversion::Wrapping,
        ..default_shape()
    };
    let capacities = ["1Ei", "2Ei", "7Ei"];
    for (request, wrapped, exact) in [
        ("80Pi", [93, 97, 99], [93, 97, 99]),
        ("90Pi", [100, 100, 100], [92, 96, 99]),
        ("200Pi", [97, 99, 100], [81, 91, 98]),
    ] {
        let cluster = cluster(&[request], capacities);
        assert_eq!(cluster.scores(&wrapping), wrapped, "{request} wrapping");
        assert_eq!(cluster.scores(&default_shape()), exact, "{request} exact");
    }
}

#[test]
fn a_shape_can_reverse_the_preference() {
    let cluster = cluster(&["10Gi"], ["100Gi", "20Gi", "10Gi"]);
    assert_eq!(cluster.scores(&rules_with_shape("0=0,100=10")), [10, 50, 100]);
    assert_eq!(cluster.scores(&rules_with_shape("0=10,100=0")), [90, 50, 0]);
    assert_eq!(cluster.scores(&rules_with_shape("50=7")), [70, 70, 70]);
}

#[test]
fn scores_use_capacity_and_not_maximum_volume_size() {
    let mut cluster = TestCluster::new(&NODES);
    for (node, capacity) in NODES.iter().zip(["5Gi", "50Gi", "20Gi"]) {
        cluster.capacity("fast", &topology_of_node(node), &json!(capacity), &json!("100Gi"));
    }
    cluster.add_delayed_claim("a", "fast", "10Gi");
    assert_eq!(cluster.scores(&default_shape()), [0, 80, 50]);
}

/// kube-scheduler 1.36 crashes if `capacity` is unset, and if the PVC names its class in the beta annotation.
#[test]
fn unset_capacity_and_a_class_annotation_are_scored() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.capacity("fast", &topology_of_node("n1"), &Value::Null, &json!("20Gi"));
    cluster.capacity("fast", &topology_of_node("n2"), &Value::Null, &json!("40Gi"));
    let annotation = json!({"volume.beta.kubernetes.io/storage-class": "fast"});
    let fields = json!({"metadata": {"annotations": annotation}, "spec": {"storageClassName": null}});
    cluster.claim("a", "", "10Gi", fields);
    assert_eq!(cluster.scores(&default_shape()), [50, 75]);
}

/// If a class's capacity were added once per PVC, the scores would be 78 and 70, and the other node would be chosen.
#[test]
fn classes_have_equal_weight_and_a_class_capacity_counts_once() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    for (class, node, capacity) in [
        ("fast", "n1", "100Gi"),
        ("fast", "n2", "400Gi"),
        ("slow", "n1", "1000Gi"),
        ("slow", "n2", "80Gi"),
    ] {
        cluster.capacity(class, &topology_of_node(node), &json!(capacity), &Value::Null);
    }
    cluster.add_delayed_claim("a", "fast", "40Gi");
    cluster.add_delayed_claim("b", "fast", "40Gi");
    cluster.add_delayed_claim("c", "slow", "40Gi");
    assert_eq!(cluster.scores(&default_shape()), [58, 65]);
}

/// One pod: its PVC is bound statically on two nodes, and provisioned on the third.
#[test]
fn each_node_is_scored_by_its_own_volume_plan() {
    let mut cluster = TestCluster::new(&NODES);
    cluster.volume("v1", "fast", "100Gi", "n1", json!({}));
    cluster.volume("v2", "fast", "200Gi", "n2", json!({}));
    cluster.capacity_on("n3", "10Gi");
    cluster.add_delayed_claim("a", "fast", "10Gi");
    assert_eq!(cluster.scores(&default_shape()), [90, 95, 0]);
}

#[test]
fn a_static_binding_excludes_dynamic_pvcs_from_the_score() {
    let mut scores = BTreeSet::new();
    for capacity in ["10Gi", "1000Gi"] {
        let mut cluster = TestCluster::new(&["n1", "n2"]);
        for node in ["n1", "n2"] {
            cluster.volume(&format!("v-{node}"), "slow", "100Gi", node, json!({}));
            cluster.capacity_on(node, capacity);
        }
        cluster.add_delayed_claim("a", "slow", "50Gi");
        cluster.add_delayed_claim("b", "fast", "10Gi");
        scores.insert(cluster.scores(&default_shape()));
    }
    assert_eq!(scores, [vec![50, 50]].into());
}

#[test]
fn pvcs_without_tracking_and_pods_without_pvcs_score_zero() {
    let mut cluster = cluster(&["10Gi"], ["100Gi", "50Gi", "10Gi"]);
    cluster.driver(&json!(false));
    assert_eq!(cluster.scores(&default_shape()), [0, 0, 0]);
    assert_eq!(TestCluster::new(&NODES).scores(&default_shape()), [0, 0, 0]);
}

#[test]
fn without_the_gate_or_with_one_feasible_node_the_score_is_zero() {
    assert_eq!(
        cluster(&["10Gi"], ["100Gi", "50Gi", "10Gi"]).scores(&Rules::default()),
        [0, 0, 0]
    );
    assert_eq!(
        cluster(&["10Gi"], ["100Gi", "5Gi", "1Gi"]).scores(&default_shape()),
        [0]
    );
}

#[test]
fn the_highest_score_wins_and_the_seed_breaks_ties() {
    let chosen = |cluster: &TestCluster, seed: u64| {
        let mut random = StdRng::seed_from_u64(seed);
        match cycle::decide(
            &cluster.snapshot,
            &default_shape(),
            &cluster.pod(json!({})),
            &mut random,
        ) {
            Decision::Place(feasible) => feasible.node.name().to_owned(),
            other => panic!("unexpected {other:?}"),
        }
    };
    let clear = cluster(&["10Gi"], ["50Gi", "100Gi", "20Gi"]);
    let tied = cluster(&["10Gi"], ["100Gi", "10Gi", "100Gi"]);
    let mut winners = BTreeSet::new();
    for seed in 0..20 {
        assert_eq!(chosen(&clear, seed), "n2");
        assert_eq!(chosen(&tied, seed), chosen(&tied, seed));
        winners.insert(chosen(&tied, seed));
    }
    assert_eq!(winners, ["n1".to_owned(), "n3".to_owned()].into());
}

proptest! {
    /// With the default shape, more free space never lowers the score. Scoring never changes which nodes are feasible.
    #[test]
    fn more_capacity_never_lowers_the_score(request in 1_u64..1 << 62, rooms in [1_u64..1 << 62, 1_u64..1 << 62, 1_u64..1 << 62]) {
        let mut rooms = rooms;
        rooms.sort_unstable();
        let texts = rooms.map(|room| room.to_string());
        let cluster = cluster(&[&request.to_string()], [&texts[0], &texts[1], &texts[2]]);
        let assessment = cluster.assess(&default_shape());
        let scores: Vec<_> = assessment.feasible.iter().map(|feasible| feasible.score).collect();
        prop_assert!(scores.is_sorted(), "{:?}", scores);
        prop_assert!(scores.iter().all(|score| (0..=100).contains(score)), "{:?}", scores);
        prop_assert_eq!(scores.len(), cluster.assess(&Rules::default()).feasible.len());
        prop_assert_eq!(scores.len(), rooms.iter().filter(|room| **room >= request).count());
    }
}

/// The score is 0 if scoring is disabled, and for a node without a volume plan (KEP-4049).
#[test]
fn without_a_shape_or_a_plan_the_score_is_zero() {
    let cluster = cluster(&["10Gi"], ["100Gi", "50Gi", "10Gi"]);
    let plan = cluster.assess(&default_shape()).feasible[0].plan.clone();
    assert_eq!(score::score(&default_shape(), &plan), 90);
    assert_eq!(score::score(&Rules::default(), &plan), 0);
    assert_eq!(score::score(&default_shape(), &VolumePlan::default()), 0);
}

/// Since 1.37 a capacity above 2^63-1 is capped to that value. Products still overflow.
#[test]
fn capped_quantities_are_scored() {
    let capped = Rules {
        arithmetic: ByteConversion::Saturating,
        ..default_shape()
    };
    // With overflow the first two capacities would be 0 bytes, and the PVC would not fit.
    assert_eq!(
        cluster(&["10Gi"], ["100E", "10E", "100Gi"]).scores(&capped),
        [100, 100, 90]
    );
    assert_eq!(
        cluster(&["90Pi"], ["1Ei", "2Ei", "7Ei"]).scores(&capped),
        [100; 3]
    );
}
