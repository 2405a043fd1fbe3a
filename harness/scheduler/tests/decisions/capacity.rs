//! Is there room for a claim on a node (KEP-1472)? Expectations are what kube-scheduler 1.36 decides, written out.

use capacity_scheduler::Defect;
use capacity_scheduler::quantity::Arithmetic;
use capacity_scheduler::rules::Rules;
use serde_json::{Value, json};

use crate::reasons::{BIND, SPACE};
use crate::world::{DRIVER, World, on};

/// Name, class of the object, topology, capacity, maximum, request, whether it fits node n1.
type Row = (
    &'static str,
    &'static str,
    Value,
    Value,
    Value,
    &'static str,
    bool,
);

fn rows() -> Vec<Row> {
    let null = || Value::Null;
    vec![
        (
            "network-attached",
            "fast",
            json!({}),
            json!("1Gi"),
            null(),
            "1Gi",
            true,
        ),
        ("local", "fast", on("n1"), json!("1Gi"), null(), "1Gi", true),
        ("wrong-node", "fast", on("n2"), json!("1Gi"), null(), "1Gi", false),
        ("no-topology", "fast", null(), json!("1Gi"), null(), "1Gi", false),
        (
            "wrong-class",
            "slow",
            on("n1"),
            json!("1Gi"),
            null(),
            "1Gi",
            false,
        ),
        ("too-small", "fast", on("n1"), json!("1Mi"), null(), "1Gi", false),
        (
            "one-byte-short",
            "fast",
            on("n1"),
            json!("1073741823"),
            null(),
            "1Gi",
            false,
        ),
        (
            "maximum-refuses",
            "fast",
            on("n1"),
            json!("1Gi"),
            json!("1Mi"),
            "1Gi",
            false,
        ),
        (
            "maximum-admits",
            "fast",
            on("n1"),
            json!("0"),
            json!("2Gi"),
            "1Gi",
            true,
        ),
        (
            "maximum-alone",
            "fast",
            on("n1"),
            null(),
            json!("1Gi"),
            "1Gi",
            true,
        ),
        (
            "maximum-zero",
            "fast",
            on("n1"),
            null(),
            json!("0Mi"),
            "1Gi",
            false,
        ),
        (
            "maximum-negative",
            "fast",
            on("n1"),
            json!("1Gi"),
            json!("-1Gi"),
            "1Gi",
            false,
        ),
        (
            "capacity-zero",
            "fast",
            on("n1"),
            json!("0Mi"),
            null(),
            "1Gi",
            false,
        ),
        ("both-unset", "fast", on("n1"), null(), null(), "1Gi", false),
        (
            "fraction-of-request-counts",
            "fast",
            on("n1"),
            json!("1024"),
            null(),
            "1024100m",
            false,
        ),
        (
            "fraction-of-limit-counts",
            "fast",
            on("n1"),
            json!("1024500m"),
            null(),
            "1025",
            true,
        ),
        (
            "beyond-int64",
            "fast",
            on("n1"),
            json!("100E"),
            null(),
            "1Gi",
            true,
        ),
    ]
}

fn fits(row: &Row, rules: &Rules, driver: Option<Value>) -> bool {
    let (_, class, topology, capacity, maximum, request, _) = row;
    let mut world = World::new(&["n1"]);
    match driver {
        Some(tracks) => world.driver(&tracks),
        None => world.snapshot.drivers = Default::default(),
    }
    world.capacity(class, topology, capacity, maximum);
    world.delayed("a", "fast", request);
    match world.verdicts(rules).as_slice() {
        [verdict] if verdict == "n1: fits" => true,
        [verdict] if *verdict == format!("n1: {SPACE}") => false,
        other => panic!("{}: {other:?}", row.0),
    }
}

#[test]
fn a_tracking_driver_needs_one_sufficient_accessible_object_of_the_class() {
    for row in rows() {
        assert_eq!(
            fits(&row, &Rules::default(), Some(json!(true))),
            row.6,
            "{}",
            row.0
        );
    }
}

#[test]
fn without_tracking_capacity_does_not_matter() {
    for row in rows() {
        for driver in [None, Some(Value::Null), Some(json!(false))] {
            assert!(
                fits(&row, &Rules::default(), driver.clone()),
                "{} with {driver:?}",
                row.0
            );
        }
    }
}

#[test]
fn wrapping_arithmetic_repeats_the_overflow_of_1_36() {
    let wrapping = Rules {
        arithmetic: Arithmetic::Wrapping,
        ..Rules::default()
    };
    for row in rows() {
        let expected = row.6 && row.0 != "beyond-int64";
        assert_eq!(fits(&row, &wrapping, Some(json!(true))), expected, "{}", row.0);
    }
    let huge_request = ("", "fast", on("n1"), json!("1Gi"), Value::Null, "100E", true);
    assert!(fits(&huge_request, &wrapping, Some(json!(true))));
    assert!(!fits(&huge_request, &Rules::default(), Some(json!(true))));
}

/// Each defect gives itself away in exactly these rows.
#[test]
fn each_defect_changes_the_rows_that_it_is_about() {
    let exact = [
        "network-attached",
        "local",
        "maximum-alone",
        "fraction-of-limit-counts",
    ];
    for (defect, expected) in [
        (
            Defect::IgnoresMaximum,
            &[
                "maximum-refuses",
                "maximum-admits",
                "maximum-alone",
                "maximum-negative",
            ][..],
        ),
        (Defect::NilTopologyEverywhere, &["no-topology"]),
        (Defect::OffByOne, &exact),
        (Defect::SumsObjects, &[]),
        (Defect::NeverWakes, &[]),
        (Defect::PrefersFullest, &[]),
    ] {
        let rules = with_defect(defect);
        let all = rows();
        let changed = all
            .iter()
            .filter(|row| fits(row, &rules, Some(json!(true))) != row.6);
        let changed: Vec<_> = changed.map(|row| row.0).collect();
        assert_eq!(changed, expected, "{defect}");
    }
    for row in rows() {
        assert!(
            fits(&row, &with_defect(Defect::SkipsCapacity), Some(json!(true))),
            "{}",
            row.0
        );
        let without_flag = fits(&row, &with_defect(Defect::IgnoresFlag), Some(json!(false)));
        assert_eq!(without_flag, row.6, "{}", row.0);
    }
}

fn with_defect(defect: Defect) -> Rules {
    Rules {
        defect: Some(defect),
        ..Rules::default()
    }
}

#[test]
fn one_sufficient_object_among_several_is_enough_but_they_do_not_add_up() {
    let mut world = World::new(&["n1"]);
    world.capacity_on("n1", "1Gi");
    world.capacity_on("n1", "5Gi");
    world.capacity_on("n1", "7Gi");
    world.delayed("a", "fast", "6Gi");
    assert_eq!(world.verdicts(&Rules::default()), ["n1: fits"]);
    world.delayed("b", "fast", "8Gi");
    assert_eq!(world.verdicts(&Rules::default()), [format!("n1: {SPACE}")]);
    assert_eq!(world.verdicts(&with_defect(Defect::SumsObjects)), ["n1: fits"]);
}

#[test]
fn of_several_sufficient_objects_the_largest_is_recorded() {
    let mut world = World::new(&["n1"]);
    for size in ["20Gi", "90Gi", "50Gi"] {
        world.capacity_on("n1", size);
    }
    world.delayed("a", "fast", "10Gi");
    let assessment = world.assess(&Rules::default());
    let recorded = assessment.feasible[0].plan.provisions[0]
        .capacity
        .as_ref()
        .unwrap();
    assert_eq!(recorded.key.name, "c2");
}

#[test]
fn each_claim_is_judged_alone_and_one_failure_excludes_the_node() {
    for (second, expected) in [("8Gi", "n1: fits".to_owned()), ("12Gi", format!("n1: {SPACE}"))] {
        let mut world = World::new(&["n1"]);
        world.capacity_on("n1", "10Gi");
        world.delayed("a", "fast", "8Gi");
        world.delayed("b", "fast", second);
        assert_eq!(world.verdicts(&Rules::default()), [expected]);
    }
}

/// Claims are checked by ascending size, so the smaller one's failure is the node's reason.
#[test]
fn the_first_failing_claim_gives_the_reason() {
    for (no_space, elsewhere, expected) in [("1Gi", "2Gi", SPACE), ("2Gi", "1Gi", BIND)] {
        let mut world = World::new(&["n1"]);
        let only_n2 = json!([{"matchLabelExpressions": [{"key": "node", "values": ["n2"]}]}]);
        world.class("slow", json!({"allowedTopologies": only_n2}));
        world.capacity("slow", &json!({}), &json!("9Gi"), &Value::Null);
        world.delayed("a", "fast", no_space);
        world.delayed("b", "slow", elsewhere);
        assert_eq!(world.verdicts(&Rules::default()), [format!("n1: {expected}")]);
    }
}

#[test]
fn classes_without_provisioner_conflict_and_foreign_provisioners_pass() {
    for (provisioner, expected) in [
        ("kubernetes.io/no-provisioner", BIND),
        ("", BIND),
        ("kubernetes.io/aws-ebs", "fits"),
        (DRIVER, SPACE),
    ] {
        let mut world = World::new(&["n1"]);
        world.class("fast", json!({"provisioner": provisioner}));
        world.delayed("a", "fast", "1Gi");
        assert_eq!(
            world.verdicts(&Rules::default()),
            [format!("n1: {expected}")],
            "{provisioner}"
        );
    }
}

#[test]
fn allowed_topologies_come_before_capacity() {
    let term = |values: Value| json!({"matchLabelExpressions": [{"key": "node", "values": values}]});
    for (allowed, expected) in [
        (json!([]), [SPACE, SPACE]),
        (json!([{}]), [BIND, BIND]),
        (json!([term(json!(["n2", "n3"]))]), [BIND, SPACE]),
        (json!([term(json!(["n1"])), term(json!(["n2"]))]), [SPACE, SPACE]),
    ] {
        let mut world = World::new(&["n1", "n2"]);
        world.class("fast", json!({ "allowedTopologies": allowed }));
        world.delayed("a", "fast", "1Gi");
        let expected = [format!("n1: {}", expected[0]), format!("n2: {}", expected[1])];
        assert_eq!(world.verdicts(&Rules::default()), expected, "{allowed}");
    }
}

#[test]
fn the_class_of_the_beta_annotation_wins() {
    let mut world = World::new(&["n1"]);
    world.capacity_on("n1", "1Gi");
    let annotation = json!({"volume.beta.kubernetes.io/storage-class": "fast"});
    world.claim(
        "a",
        "slow",
        "1Gi",
        json!({"metadata": {"annotations": annotation}}),
    );
    assert_eq!(world.verdicts(&Rules::default()), ["n1: fits"]);
}

#[test]
fn inline_csi_volumes_are_not_checked() {
    let mut world = World::new(&["n1"]);
    world.pod_volume(json!({"name": "inline", "csi": {"driver": DRIVER}}));
    assert_eq!(world.verdicts(&Rules::default()), ["n1: fits"]);
}
