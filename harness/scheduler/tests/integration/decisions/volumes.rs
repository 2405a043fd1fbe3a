//! Tests of existing volumes and selected nodes. The expected values were recorded from kube-scheduler 1.36.

use capacity_scheduler::cycle::assess;
use capacity_scheduler::message::Wording;
use capacity_scheduler::rules::Rules;
use serde_json::json;

use super::reasons::{AFFINITY, BIND, MISSING, SPACE};
use super::test_cluster::TestCluster;

#[test]
fn a_selected_node_excludes_other_nodes_and_is_still_checked() {
    for (selected, expected) in [
        ("n1", [format!("n1: {SPACE}"), format!("n2: {BIND}")]),
        ("n2", [format!("n1: {BIND}"), "n2: fits".to_owned()]),
        ("", [format!("n1: {BIND}"), format!("n2: {BIND}")]),
    ] {
        let mut cluster = TestCluster::new(&["n1", "n2"]);
        cluster.capacity_on("n2", "5Gi");
        // A matching PersistentVolume is not used, because a PVC with a selected node is provisioned.
        cluster.volume("v", "fast", "1Gi", "n1", json!({}));
        let annotation = json!({"volume.kubernetes.io/selected-node": selected});
        cluster.claim(
            "a",
            "fast",
            "1Gi",
            json!({"metadata": {"annotations": annotation}}),
        );
        assert_eq!(cluster.verdicts(&Rules::default()), expected, "{selected:?}");
    }
}

#[test]
fn with_a_matching_volume_capacity_is_not_checked() {
    let ours = json!({"spec": {"claimRef": {"namespace": "ns", "name": "a", "uid": "a"}}});
    let reserved =
        json!({"spec": {"claimRef": {"namespace": "ns", "name": "a"}}, "status": {"phase": "Pending"}});
    for (what, size, fields, expected) in [
        ("as large", "10Gi", json!({}), "fits"),
        ("smaller", "9Gi", json!({}), SPACE),
        (
            "smaller by a fraction of a byte",
            "10737418239900m",
            json!({}),
            SPACE,
        ),
        ("block", "10Gi", json!({"spec": {"volumeMode": "Block"}}), SPACE),
        ("bound", "10Gi", json!({"status": {"phase": "Bound"}}), SPACE),
        (
            "another mode",
            "10Gi",
            json!({"spec": {"accessModes": ["ReadOnlyMany"]}}),
            SPACE,
        ),
        (
            "another attributes class",
            "10Gi",
            json!({"spec": {"volumeAttributesClassName": "gold"}}),
            SPACE,
        ),
        (
            "being deleted",
            "10Gi",
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
            SPACE,
        ),
        (
            "another's",
            "10Gi",
            json!({"spec": {"claimRef": {"namespace": "ns", "name": "b"}}}),
            SPACE,
        ),
        (
            "a namesake's",
            "10Gi",
            json!({"spec": {"claimRef": {"namespace": "ns", "name": "a", "uid": "x"}}}),
            SPACE,
        ),
        ("ours", "10Gi", ours, "fits"),
        ("reserved by name", "10Gi", reserved, "fits"),
    ] {
        let mut cluster = TestCluster::new(&["n1"]);
        cluster.volume("v", "fast", size, "n1", fields);
        cluster.add_delayed_claim("a", "fast", "10Gi");
        assert_eq!(
            cluster.verdicts(&Rules::default()),
            [format!("n1: {expected}")],
            "{what}"
        );
    }
}

#[test]
fn a_pvc_with_an_inaccessible_reserved_volume_is_provisioned() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.volume(
        "v1",
        "fast",
        "10Gi",
        "n1",
        json!({"spec": {"claimRef": {"namespace": "ns", "name": "a"}}}),
    );
    cluster.volume("v2", "fast", "10Gi", "n2", json!({}));
    cluster.add_delayed_claim("a", "fast", "10Gi");
    let expected = ["n1: fits".to_owned(), format!("n2: {SPACE}")];
    assert_eq!(cluster.verdicts(&Rules::default()), expected);
}

#[test]
fn the_smallest_pvcs_get_the_smallest_volumes() {
    let mut cluster = TestCluster::new(&["n1"]);
    for (name, size) in [("v1", "50Gi"), ("v2", "5Gi"), ("v3", "20Gi")] {
        cluster.volume(name, "fast", size, "n1", json!({}));
    }
    cluster.add_delayed_claim("a", "fast", "10Gi");
    cluster.add_delayed_claim("b", "fast", "1Gi");
    let assessment = cluster.assess(&Rules::default());
    let bindings = &assessment.feasible[0].plan.bindings;
    let pairs: Vec<_> = bindings
        .iter()
        .map(|b| (b.claim.key.name.as_str(), b.volume.key.name.as_str()))
        .collect();
    assert_eq!(pairs, [("b", "v2"), ("a", "v3")]);
}

#[test]
fn a_pvc_selects_volumes_by_label() {
    for (label, expected) in [("gold", "fits"), ("tin", SPACE)] {
        let mut cluster = TestCluster::new(&["n1"]);
        cluster.volume(
            "v",
            "fast",
            "1Gi",
            "n1",
            json!({"metadata": {"labels": {"tier": label}}}),
        );
        let selector = json!({"matchLabels": {"tier": "gold"}});
        cluster.claim("a", "fast", "1Gi", json!({"spec": {"selector": selector}}));
        assert_eq!(cluster.verdicts(&Rules::default()), [format!("n1: {expected}")]);
    }
}

#[test]
fn bound_and_delayed_pvcs_are_checked_independently() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.volume("v", "fast", "1Gi", "n1", json!({"status": {"phase": "Bound"}}));
    cluster.add_bound_claim("a", "v");
    assert_eq!(
        cluster.verdicts(&Rules::default()),
        ["n1: fits".to_owned(), format!("n2: {AFFINITY}")]
    );
    cluster.add_delayed_claim("b", "fast", "1Gi");
    let expected = [format!("n1: {SPACE}"), format!("n2: {AFFINITY}, {SPACE}")];
    assert_eq!(cluster.verdicts(&Rules::default()), expected);

    let mut cluster = TestCluster::new(&["n1"]);
    cluster.add_bound_claim("a", "gone");
    cluster.add_delayed_claim("b", "fast", "1Gi");
    let before_volume_zone = Rules {
        wording: Wording::WithPreemption,
        ..Rules::default()
    };
    assert_eq!(
        cluster.verdicts(&before_volume_zone),
        [format!("n1: {SPACE}, {MISSING}")]
    );
    let pod = cluster.pod(json!({}));
    let refused = assess(&cluster.snapshot, &Rules::default(), &pod).unwrap_err();
    assert_eq!(refused.to_string(), "persistentvolume \"gone\" not found");
}
