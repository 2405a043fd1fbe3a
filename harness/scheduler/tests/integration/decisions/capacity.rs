//! Tests of the capacity check for a PVC on a node (KEP-1472). The expected values were recorded from kube-scheduler 1.36.

use std::sync::Arc;

use capacity_scheduler::capacity_check::{self, Shortcoming};
use capacity_scheduler::objects::Capacity;
use capacity_scheduler::rules::Rules;
use capacity_types::ByteConversion;
use serde_json::{Value, json};

use super::reasons::{BIND, SPACE};
use super::test_cluster::{DRIVER, TestCluster, topology_of_node};

/// One capacity object and one request for class `fast` on node n1.
struct Row {
    name: String,
    class: String,
    topology: Value,
    capacity: Value,
    maximum: Value,
    request: String,
    fits: bool,
}

fn rows() -> Vec<Row> {
    let (here, there) = (topology_of_node("n1"), topology_of_node("n2"));
    let table = json!([
        // name, class, topology, capacity, maximum, request, fits
        ["network-attached", "fast", {}, "1Gi", null, "1Gi", true],
        ["local", "fast", here, "1Gi", null, "1Gi", true],
        ["wrong-node", "fast", there, "1Gi", null, "1Gi", false],
        ["no-topology", "fast", null, "1Gi", null, "1Gi", false],
        ["wrong-class", "slow", here, "1Gi", null, "1Gi", false],
        ["too-small", "fast", here, "1Mi", null, "1Gi", false],
        ["one-byte-short", "fast", here, "1073741823", null, "1Gi", false],
        ["maximum-refuses", "fast", here, "1Gi", "1Mi", "1Gi", false],
        ["maximum-admits", "fast", here, "0", "2Gi", "1Gi", true],
        ["maximum-alone", "fast", here, null, "1Gi", "1Gi", true],
        ["maximum-zero", "fast", here, null, "0Mi", "1Gi", false],
        ["maximum-negative", "fast", here, "1Gi", "-1Gi", "1Gi", false],
        ["capacity-zero", "fast", here, "0Mi", null, "1Gi", false],
        ["both-unset", "fast", here, null, null, "1Gi", false],
        [
            "fraction-of-request-counts",
            "fast",
            here,
            "1024",
            null,
            "1024100m",
            false
        ],
        [
            "fraction-of-limit-counts",
            "fast",
            here,
            "1024500m",
            null,
            "1025",
            true
        ],
        ["limit-beyond-int64", "fast", here, "100E", null, "1Gi", true],
        ["request-beyond-int64", "fast", here, "1Gi", null, "100E", false],
    ]);
    table.as_array().unwrap().iter().map(row).collect()
}

fn row(cells: &Value) -> Row {
    let text = |column: usize| cells[column].as_str().unwrap().to_owned();
    Row {
        name: text(0),
        class: text(1),
        topology: cells[2].clone(),
        capacity: cells[3].clone(),
        maximum: cells[4].clone(),
        request: text(5),
        fits: cells[6].as_bool().unwrap(),
    }
}

fn fits(row: &Row, rules: &Rules, driver: Option<Value>) -> bool {
    let mut cluster = TestCluster::new(&["n1"]);
    match driver {
        Some(tracks) => cluster.driver(&tracks),
        None => cluster.snapshot.drivers = Default::default(),
    }
    cluster.capacity(&row.class, &row.topology, &row.capacity, &row.maximum);
    cluster.add_delayed_claim("a", "fast", &row.request);
    match cluster.verdicts(rules).as_slice() {
        [verdict] if verdict == "n1: fits" => true,
        [verdict] if *verdict == format!("n1: {SPACE}") => false,
        other => panic!("{}: {other:?}", row.name),
    }
}

#[test]
fn a_driver_with_tracking_requires_a_sufficient_accessible_object_of_the_class() {
    for row in rows() {
        assert_eq!(
            fits(&row, &Rules::default(), Some(json!(true))),
            row.fits,
            "{}",
            row.name
        );
    }
}

#[test]
fn without_tracking_capacity_is_not_checked() {
    for row in rows() {
        for driver in [None, Some(Value::Null), Some(json!(false))] {
            assert!(
                fits(&row, &Rules::default(), driver.clone()),
                "{} with {driver:?}",
                row.name
            );
        }
    }
}

#[test]
fn with_the_feature_gate_off_capacity_is_not_checked() {
    let off = Rules {
        skips_capacity_check: true,
        ..Rules::default()
    };
    for row in rows() {
        assert!(fits(&row, &off, Some(json!(true))), "{}", row.name);
    }
}

#[test]
fn wrapping_arithmetic_reproduces_the_overflow_of_1_36() {
    let wrapping = Rules {
        arithmetic: ByteConversion::Wrapping,
        ..Rules::default()
    };
    for row in rows() {
        let expected = row.fits != row.name.ends_with("beyond-int64");
        let found = fits(&row, &wrapping, Some(json!(true)));
        assert_eq!(found, expected, "{}", row.name);
    }
}

#[test]
fn one_sufficient_object_suffices_and_objects_are_not_added_up() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.capacity_on("n1", "1Gi");
    cluster.capacity_on("n1", "5Gi");
    cluster.capacity_on("n1", "7Gi");
    cluster.add_delayed_claim("a", "fast", "6Gi");
    assert_eq!(cluster.verdicts(&Rules::default()), ["n1: fits"]);
    cluster.add_delayed_claim("b", "fast", "8Gi");
    assert_eq!(cluster.verdicts(&Rules::default()), [format!("n1: {SPACE}")]);
}

#[test]
fn shortcoming_is_returned_for_every_insufficient_object() {
    let mut cluster = TestCluster::new(&["n1"]);
    let (null, one, nine) = (Value::Null, json!("1Gi"), json!("9Gi"));
    let unknown = json!({"matchExpressions": [{"key": "node", "operator": "Near"}]});
    for (topology, capacity) in [
        (&topology_of_node("n1"), &null),
        (&topology_of_node("n1"), &one),
        (&null, &nine),
        (&unknown, &nine),
        (&topology_of_node("n2"), &nine),
        (&topology_of_node("n1"), &nine),
    ] {
        cluster.capacity("fast", topology, capacity, &null);
    }
    cluster.capacity("slow", &topology_of_node("n1"), &nine, &null);
    cluster.add_delayed_claim("a", "fast", "2Gi");

    let claim = cluster.snapshot.claims.iter().next().unwrap();
    let labels = &cluster.snapshot.nodes.iter().next().unwrap().labels;
    let of_class = cluster
        .snapshot
        .capacities
        .iter()
        .filter(|object| object.class == "fast");
    let request = claim.request.unwrap();
    let judge =
        |object: &Arc<Capacity>| capacity_check::shortcoming(&Rules::default(), object, request, labels);
    let shortcomings: Vec<_> = of_class.map(judge).collect();
    let (limit, request) = (1 << 30, 2 << 30);
    let [no_limit, too_small, no_topology, invalid, elsewhere, none] = shortcomings.as_slice() else {
        panic!("{shortcomings:?}");
    };
    assert_eq!(*no_limit, Some(Shortcoming::NothingSet));
    assert_eq!(
        *too_small,
        Some(Shortcoming::TooSmall {
            largest: limit,
            request
        })
    );
    assert_eq!(*no_topology, Some(Shortcoming::NoTopology));
    assert!(
        matches!(invalid, Some(Shortcoming::InvalidTopology(_))),
        "{invalid:?}"
    );
    assert_eq!(*elsewhere, Some(Shortcoming::TopologyMismatch));
    assert_eq!(*none, None);
}

#[test]
fn the_largest_sufficient_object_is_recorded() {
    let mut cluster = TestCluster::new(&["n1"]);
    for size in ["20Gi", "90Gi", "50Gi"] {
        cluster.capacity_on("n1", size);
    }
    cluster.add_delayed_claim("a", "fast", "10Gi");
    let assessment = cluster.assess(&Rules::default());
    let recorded = assessment.feasible[0].plan.provisions[0]
        .capacity
        .as_ref()
        .unwrap();
    assert_eq!(recorded.key.name, "c2");
}

#[test]
fn each_pvc_is_checked_alone_and_one_failure_rejects_the_node() {
    for (second, expected) in [("8Gi", "n1: fits".to_owned()), ("12Gi", format!("n1: {SPACE}"))] {
        let mut cluster = TestCluster::new(&["n1"]);
        cluster.capacity_on("n1", "10Gi");
        cluster.add_delayed_claim("a", "fast", "8Gi");
        cluster.add_delayed_claim("b", "fast", second);
        assert_eq!(cluster.verdicts(&Rules::default()), [expected]);
    }
}

/// PVCs are checked by ascending size, so the reason is that of the smaller PVC.
#[test]
fn the_first_failing_pvc_determines_the_reason() {
    for (no_space, elsewhere, expected) in [("1Gi", "2Gi", SPACE), ("2Gi", "1Gi", BIND)] {
        let mut cluster = TestCluster::new(&["n1"]);
        let only_n2 = json!([{"matchLabelExpressions": [{"key": "node", "values": ["n2"]}]}]);
        cluster.class("slow", json!({"allowedTopologies": only_n2}));
        cluster.capacity("slow", &json!({}), &json!("9Gi"), &Value::Null);
        cluster.add_delayed_claim("a", "fast", no_space);
        cluster.add_delayed_claim("b", "slow", elsewhere);
        assert_eq!(cluster.verdicts(&Rules::default()), [format!("n1: {expected}")]);
    }
}

#[test]
fn classes_without_provisioner_are_rejected_and_non_csi_provisioners_pass() {
    for (provisioner, expected) in [
        ("kubernetes.io/no-provisioner", BIND),
        ("", BIND),
        ("kubernetes.io/aws-ebs", "fits"),
        (DRIVER, SPACE),
    ] {
        let mut cluster = TestCluster::new(&["n1"]);
        cluster.class("fast", json!({"provisioner": provisioner}));
        cluster.add_delayed_claim("a", "fast", "1Gi");
        assert_eq!(
            cluster.verdicts(&Rules::default()),
            [format!("n1: {expected}")],
            "{provisioner}"
        );
    }
}

#[test]
fn allowed_topologies_are_checked_before_capacity() {
    let term = |values: Value| json!({"matchLabelExpressions": [{"key": "node", "values": values}]});
    for (allowed, expected) in [
        (json!([]), [SPACE, SPACE]),
        (json!([{}]), [BIND, BIND]),
        (json!([term(json!(["n2", "n3"]))]), [BIND, SPACE]),
        (json!([term(json!(["n1"])), term(json!(["n2"]))]), [SPACE, SPACE]),
    ] {
        let mut cluster = TestCluster::new(&["n1", "n2"]);
        cluster.class("fast", json!({ "allowedTopologies": allowed }));
        cluster.add_delayed_claim("a", "fast", "1Gi");
        let expected = [format!("n1: {}", expected[0]), format!("n2: {}", expected[1])];
        assert_eq!(cluster.verdicts(&Rules::default()), expected, "{allowed}");
    }
}

#[test]
fn the_beta_class_annotation_wins_over_the_field() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.capacity_on("n1", "1Gi");
    let annotation = json!({"volume.beta.kubernetes.io/storage-class": "fast"});
    cluster.claim(
        "a",
        "slow",
        "1Gi",
        json!({"metadata": {"annotations": annotation}}),
    );
    assert_eq!(cluster.verdicts(&Rules::default()), ["n1: fits"]);
}

#[test]
fn inline_csi_volumes_are_not_checked() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.pod_volume(json!({"name": "inline", "csi": {"driver": DRIVER}}));
    assert_eq!(cluster.verdicts(&Rules::default()), ["n1: fits"]);
}

/// API servers reject a PVC without a request. If one exists, there is nothing to check (KEP-1472).
#[test]
fn a_pvc_without_a_request_is_not_checked() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.claim("c", "fast", "1Gi", json!({"spec": {"resources": Value::Null}}));
    assert_eq!(cluster.verdicts(&Rules::default()), ["n1: fits", "n2: fits"]);
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.claim("c", "fast", "1Gi", json!({}));
    let refused = [format!("n1: {SPACE}"), format!("n2: {SPACE}")];
    assert_eq!(
        cluster.verdicts(&Rules::default()),
        refused,
        "a PVC with a request is checked"
    );
}
