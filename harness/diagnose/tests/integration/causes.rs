//! Tests of the reasons outside the scheduler why a pod does not start: each reason is listed once, and only if it applies.

use capacity_diagnose::explain::{self, ExplainOptions, Explanation};
use capacity_diagnose::inventory::Inventory;
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::Rules;

/// A healthy cluster with one node. Pod `ns/app` waits for its first scheduling attempt.
const HEALTHY: &str = r#"
- {kind: Node, metadata: {name: n1, labels: {disk/node: n1}}}
- {kind: CSINode, metadata: {name: n1}, spec: {drivers: [{name: disk, nodeID: n1, topologyKeys: [disk/node]}]}}
- {kind: CSIDriver, metadata: {name: disk}, spec: {storageCapacity: true}}
- {kind: StorageClass, metadata: {name: fast}, provisioner: disk, volumeBindingMode: WaitForFirstConsumer}
- {kind: CSIStorageCapacity, metadata: {name: c, namespace: disk}, storageClassName: fast, capacity: 10Gi, nodeTopology: {matchLabels: {disk/node: n1}}}
- {kind: PersistentVolumeClaim, metadata: {name: data, namespace: ns}, spec: {storageClassName: fast, resources: {requests: {storage: 1Gi}}}}
- {kind: Pod, metadata: {name: app, namespace: ns}, spec: {containers: [], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}}
"#;

fn explained(items: &str) -> Explanation {
    let mut inventory = Inventory::default();
    let text = format!("kind: List\nitems:{items}");
    inventory
        .add_text(text.as_bytes())
        .unwrap_or_else(|error| panic!("{error}\n{text}"));
    let pod = &inventory.pods[&ObjectKey::namespaced("ns", "app")];
    explain::pod(
        &inventory.snapshot,
        &Rules::default(),
        pod,
        &ExplainOptions::default(),
    )
    .unwrap()
}

#[test]
fn a_healthy_cluster_has_no_causes() {
    let explained = explained(HEALTHY);
    assert_eq!(explained.verdict, "fits 1 of 1 nodes: n1");
    assert!(explained.causes.is_empty(), "{:?}", explained.causes);
}

#[test]
fn each_cause_is_reported() {
    for (old, new, expected) in [
        (
            "drivers: [{name: disk, nodeID: n1, topologyKeys: [disk/node]}]",
            "drivers: null",
            "no CSINode lists driver disk",
        ),
        (
            "labels: {disk/node: n1}",
            "labels: {}",
            "node n1 has no label disk/node, although its CSINode lists",
        ),
        (
            "spec: {containers: [], ",
            "spec: {nodeName: n1, containers: [], ",
            "waits for its first consumer forever; use nodeSelector",
        ),
        (
            "name: data, namespace: ns}",
            "name: other, namespace: ns}",
            "claim ns/data does not exist; create it",
        ),
        (
            "name: data, namespace: ns}",
            "name: data, namespace: ns, deletionTimestamp: '2026-01-01T00:00:00Z'}",
            "claim ns/data is being deleted",
        ),
        (
            "persistentVolumeClaim: {claimName: data}",
            "ephemeral: {volumeClaimTemplate: {spec: {}}}",
            "claim ns/app-data does not exist yet: the ephemeral volume controller",
        ),
        (
            "metadata: {name: fast}",
            "metadata: {name: slow}",
            "StorageClass fast of claim ns/data does not exist",
        ),
        (
            "spec: {storageClassName: fast, ",
            "spec: {",
            "claim ns/data has no StorageClass",
        ),
        (
            "WaitForFirstConsumer",
            "Immediate",
            "claim ns/data has no annotation volume.kubernetes.io/storage-provisioner, with which",
        ),
        (
            "name: data, namespace: ns}",
            "name: data, namespace: ns, annotations: {volume.kubernetes.io/selected-node: n1, volume.kubernetes.io/storage-provisioner: disk}}",
            "node n1 is selected for claim ns/data, and disk has not created its volume yet",
        ),
        (
            "spec: {storageClassName: fast, ",
            "spec: {volumeName: gone, storageClassName: fast, ",
            "claim ns/data is bound to PersistentVolume gone, which does not exist",
        ),
        (
            "spec: {storageClassName: fast, ",
            "spec: {dataSource: {kind: PersistentVolumeClaim, name: old}, storageClassName: fast, ",
            "claim ns/data is a clone of claim ns/old, which does not exist",
        ),
        (
            "provisioner: disk,",
            "provisioner: disc,",
            "there is no CSIDriver disc, and no CSINode lists it",
        ),
    ] {
        assert!(HEALTHY.contains(old), "{old}");
        let causes = explained(&HEALTHY.replacen(old, new, 1)).causes;
        assert!(
            matches!(causes.as_slice(), [only] if only.contains(expected)),
            "{new}: {causes:?}"
        );
    }
}

#[test]
fn a_clone_of_an_inaccessible_volume_is_reported() {
    let copy = "spec: {dataSource: {kind: PersistentVolumeClaim, name: old}, storageClassName: fast, ";
    let text = HEALTHY.replacen("spec: {storageClassName: fast, ", copy, 1);
    let more = "\
- {kind: Node, metadata: {name: n2, labels: {disk/node: n2}}}
- {kind: PersistentVolumeClaim, metadata: {name: old, namespace: ns}, spec: {volumeName: pv, storageClassName: fast}}
- {kind: PersistentVolume, metadata: {name: pv}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: disk/node, operator: In, values: [n2]}]}]}}}}
";
    let causes = explained(&format!("{text}{more}")).causes;
    let expected =
        "claim ns/data is a clone of claim ns/old, whose volume pv is not accessible from node n1;";
    assert!(
        matches!(causes.as_slice(), [only] if only.starts_with(expected)),
        "{causes:?}"
    );
}

/// The causes for the pod of [`HEALTHY`] after three changes: its PVC waits for its driver, a text is replaced, and objects are added.
fn causes_with(replaced: (&str, &str), more: &str) -> String {
    let handed_over =
        "name: data, namespace: ns, annotations: {volume.kubernetes.io/storage-provisioner: disk}}";
    let text = HEALTHY.replacen("WaitForFirstConsumer", "Immediate", 1);
    let text = text.replacen("name: data, namespace: ns}", handed_over, 1);
    assert!(text.contains(replaced.0), "{}", replaced.0);
    let found = explained(&format!("{}{more}", text.replacen(replaced.0, replaced.1, 1)));
    found.causes.join("\n")
}

#[test]
fn a_stopped_controller_is_detected_by_its_lease_or_its_pods() {
    let lease = |namespace: &str, name: &str, time: &str| {
        format!(
            "- {{kind: Lease, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{leaseDurationSeconds: 15, renewTime: '2026-01-01T{time}.000000Z'}}}}\n"
        )
    };
    let of_node = lease("kube-node-lease", "n1", "00:10:00");
    let provisioner = |ready: &str| {
        format!(
            "- {{kind: Pod, metadata: {{name: csi-0, namespace: sys}}, spec: {{nodeName: n1, containers: [{{name: csi-provisioner}}]}}, \
             status: {{conditions: [{{type: Ready, status: '{ready}'}}]}}}}\n"
        )
    };
    let plain = "class fast is Immediate: disk must create its volume before a pod is scheduled; see the claim's events and the log of the \
                 driver's controller";
    let none = ("Immediate", "Immediate");
    for (more, expected) in [
        (of_node.clone(), plain.to_owned()),
        (
            format!("{of_node}{}", lease("sys", "disk", "00:09:55")),
            plain.to_owned(),
        ),
        (provisioner("True"), plain.to_owned()),
        (
            format!("{of_node}{}", lease("sys", "disk", "00:00:00")),
            format!(
                "{plain}; its Lease sys/disk was last renewed 600 seconds before other Leases, so it has no leader"
            ),
        ),
        (
            provisioner("False"),
            format!("{plain}; no pod with an external-provisioner is ready, see sys/csi-0"),
        ),
    ] {
        let causes = causes_with(none, &more);
        assert!(causes.ends_with(&expected), "{more}: {causes}");
    }
    let manager = format!(
        "{of_node}{}",
        lease("kube-system", "kube-controller-manager", "00:01:00")
    );
    let causes = causes_with(
        (
            "annotations: {volume.kubernetes.io/storage-provisioner: disk}",
            "annotations: {}",
        ),
        &manager,
    );
    let expected = "check that kube-controller-manager runs; its Lease kube-system/kube-controller-manager was last renewed 540 seconds";
    assert!(causes.contains(expected), "{causes}");
}

#[test]
fn a_stopped_scheduler_is_detected_by_its_lease_or_by_younger_pods() {
    let leases = "- {kind: Lease, metadata: {name: n1, namespace: kube-node-lease}, spec: {leaseDurationSeconds: 40, renewTime: '2026-01-01T00:10:00.000000Z'}}\n\
                  - {kind: Lease, metadata: {name: kube-scheduler, namespace: kube-system}, spec: {leaseDurationSeconds: 15, renewTime: '2026-01-01T00:00:00.000000Z'}}\n";
    let found = explained(&format!("{HEALTHY}{leases}")).causes;
    assert!(
        matches!(found.as_slice(), [only] if only.starts_with("no scheduler has attempted the pod: check that kube-scheduler runs; its Lease")),
        "{found:?}"
    );
    let pod = |scheduler: &str| {
        format!(
            "- {{kind: Pod, metadata: {{name: late, namespace: ns, creationTimestamp: '2026-01-02T00:00:00Z'}}, \
             spec: {{schedulerName: {scheduler}, nodeName: n1, containers: []}}}}\n"
        )
    };
    let own = HEALTHY
        .replacen(
            "{name: app, namespace: ns}",
            "{name: app, namespace: ns, creationTimestamp: '2026-01-01T00:00:00Z'}",
            1,
        )
        .replacen("containers: [], ", "schedulerName: mine, containers: [], ", 1);
    let found = explained(&format!("{own}{}", pod("default-scheduler"))).causes;
    assert!(
        matches!(found.as_slice(), [only] if only.starts_with("scheduler mine has neither attempted the pod") && only.contains("ns/late")),
        "{found:?}"
    );
    assert!(explained(&format!("{own}{}", pod("mine"))).causes.is_empty());
    assert!(explained(&own).causes.is_empty());
}

#[test]
fn ignored_pod_fields_are_listed_in_the_first_line() {
    let text = HEALTHY.replacen(
        "containers: [], ",
        "containers: [], resourceClaims: [{name: gpu}], ",
        1,
    );
    let explained = explained(&text);
    let first = explained.to_string();
    let first = first.lines().next().unwrap();
    assert_eq!(first, "pod ns/app; not evaluated: devices (spec.resourceClaims)");
}

#[test]
fn a_differing_condition_of_the_last_attempt_is_shown() {
    let condition = |message: &str| {
        let conditions = format!(
            "status: {{conditions: [{{type: PodScheduled, status: 'False', message: '{message}'}}]}}"
        );
        let text = HEALTHY.replacen("capacity: 10Gi", "capacity: 1Mi", 1);
        let text = text.trim_end().strip_suffix('}').unwrap().to_owned();
        explained(&format!("{text}, {conditions}}}\n")).condition
    };
    let old = "0/1 nodes are available: 1 node(s) did not have enough free storage. preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.";
    assert_eq!(
        condition(old),
        None,
        "equal except for the wording of an older release"
    );
    assert_eq!(
        condition("0/1 nodes are available: 1 Too many pods."),
        Some("0/1 nodes are available: 1 Too many pods.".to_owned())
    );
}

#[test]
fn many_nodes_with_equal_verdicts_are_grouped_unless_all_are_requested() {
    use std::fmt::Write as _;
    let mut text = HEALTHY.replacen("capacity: 10Gi", "capacity: 1Mi", 1);
    for number in 2..=300 {
        writeln!(text, "- {{kind: Node, metadata: {{name: n{number}}}}}").unwrap();
    }
    let explained = explained(&text);
    let short = explained.to_string();
    assert!(
        short.contains("\n300 nodes  node(s) did not have enough free storage\n"),
        "{short}"
    );
    assert!(short.lines().count() < 20, "{short}");
    let wide = format!("{explained:#}");
    assert_eq!(
        wide.matches("  node(s) did not have enough free storage\n")
            .count(),
        300
    );
}
