//! Clusters like those in bug reports: the explanation that `why` gives for the pending pod, and whether `capture` reproduces the cluster.

use crate::program::{run_expecting, xtask};

/// Two nodes with local storage, and a pod that waits for 10Gi.
const CLUSTER: &str = r#"
kind: List
apiVersion: v1
items:
- {apiVersion: v1, kind: Node, metadata: {name: w1, labels: {kubernetes.io/hostname: w1, d.example.com/node: w1}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}
- {apiVersion: v1, kind: Node, metadata: {name: w2, labels: {kubernetes.io/hostname: w2, d.example.com/node: w2}}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}}
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: w1}, spec: {drivers: [{name: d.example.com, nodeID: w1, topologyKeys: [d.example.com/node]}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: w2}, spec: {drivers: [{name: d.example.com, nodeID: w2, topologyKeys: [d.example.com/node]}]}}
- {apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d.example.com}, spec: {storageCapacity: true}}
- {apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: local}, provisioner: d.example.com, volumeBindingMode: WaitForFirstConsumer}
- {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c1, namespace: csi}, storageClassName: local, nodeTopology: {matchLabels: {d.example.com/node: w1}}, capacity: 50Gi}
- {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c2, namespace: csi}, storageClassName: local, nodeTopology: {matchLabels: {d.example.com/node: w2}}, capacity: 5Gi}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, uid: data}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}, status: {phase: Pending}}
- {apiVersion: v1, kind: Pod, metadata: {name: app, namespace: shop, uid: app, labels: {app: app}}, spec: {containers: [{name: c, image: app, resources: {requests: {cpu: "1"}}}], volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]}, status: {phase: Pending}}
"#;

/// A claim with its volume on w1, and a pod on w1 that uses the claim.
const NEIGHBOUR: &str = r#"
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: old, namespace: shop, uid: old, annotations: {pv.kubernetes.io/bind-completed: "yes"}}, spec: {storageClassName: local, volumeName: pv-old, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}, status: {phase: Bound}}
- {apiVersion: v1, kind: PersistentVolume, metadata: {name: pv-old}, spec: {storageClassName: local, accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, claimRef: {namespace: shop, name: old, uid: old}, csi: {driver: d.example.com, volumeHandle: h-old}, nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: d.example.com/node, operator: In, values: [w1]}]}]}}}, status: {phase: Bound}}
- {apiVersion: v1, kind: Pod, metadata: {name: near, namespace: shop, uid: near, labels: {app: app}}, spec: {nodeName: w1, containers: [{name: c, image: app, resources: {requests: {cpu: 3500m}}}], volumes: [{name: v, persistentVolumeClaim: {claimName: old}}]}, status: {phase: Running}}
"#;

/// The YAML of `CLUSTER` with texts replaced, and with additional objects.
fn cluster(edits: &[(&str, &str)], more: &str) -> String {
    let mut text = CLUSTER.to_owned();
    for (old, new) in edits {
        assert!(text.contains(old), "{old}");
        text = text.replace(old, new);
    }
    text + more.trim_start()
}

struct Dump(tempfile::TempDir);

impl Dump {
    fn of(edits: &[(&str, &str)], more: &str) -> Self {
        let dump = Self(tempfile::tempdir().unwrap());
        std::fs::write(dump.path("dump.yaml"), cluster(edits, more)).unwrap();
        dump
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn why(&self) -> String {
        run_expecting(
            0,
            &[
                "why",
                "pod",
                "app",
                "-n",
                "shop",
                "--file",
                &self.path("dump.yaml"),
            ],
        )
        .0
    }

    /// Runs `capture`, and returns the text of the captured file and the messages.
    fn capture(&self, more: &[&str]) -> (String, String) {
        let (dump, file) = (self.path("dump.yaml"), self.path("captured.yaml"));
        let args = [
            "capture", "--file", &dump, "--pod", "shop/app", "--force", "-o", &file,
        ];
        let (_, error) = run_expecting(0, &[&args[..], more].concat());
        (std::fs::read_to_string(file).unwrap(), error)
    }

    /// Checks that the captured scenario has the same outcome as the cluster, and returns the text of the captured file.
    fn assert_reproduces(&self, more: &[&str]) -> String {
        let (text, error) = self.capture(more);
        assert!(
            error.contains("its result matches the cluster's") && !error.contains("warning"),
            "{error}\n{text}"
        );
        text
    }
}

#[test]
fn each_kind_of_report_is_explained_and_reproduced() {
    let keys = "topologyKeys: [d.example.com/node]}";
    let bound_elsewhere = ("{claimName: data}", "{claimName: old}");
    for (edits, more, expected) in [
        (
            vec![
                (
                    "drivers: [{name: d.example.com, nodeID: w1, topologyKeys: [d.example.com/node]}]",
                    "drivers: null",
                ),
                (
                    "drivers: [{name: d.example.com, nodeID: w2, topologyKeys: [d.example.com/node]}]",
                    "drivers: null",
                ),
            ],
            "",
            vec!["no CSINode lists driver d.example.com"],
        ),
        (
            vec![(", d.example.com/node: w1}", "}")],
            "",
            vec![
                "node w1 has no label d.example.com/node, although its CSINode lists",
                "0/2 nodes are available",
            ],
        ),
        (
            vec![(
                "provisioner: d.example.com,",
                "provisioner: d.example.com, allowedTopologies: [{matchLabelExpressions: [{key: d.example.com/node, values: [node=w1]}]}],",
            )],
            "",
            vec!["allowedTopologies of the class does not allow this node"],
        ),
        (
            vec![("spec: {containers", "spec: {nodeName: w1, containers")],
            "",
            vec!["waits for its first consumer forever"],
        ),
        // w2 has free CPU, and w1 has free storage.
        (
            vec![],
            NEIGHBOUR,
            vec!["1 Insufficient cpu, 1 node(s) did not have enough free storage"],
        ),
        (
            vec![
                (
                    keys,
                    "topologyKeys: [d.example.com/node], allocatable: {count: 1}}",
                ),
                ("cpu: \"1\"", "cpu: 1m"),
            ],
            NEIGHBOUR,
            vec![
                "1 node(s) exceed max volume count",
                "1 of 1 are attached (limit of CSINode w1)",
            ],
        ),
        (
            vec![
                (
                    "spec: {containers",
                    "spec: {affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: app}}}]}}, containers",
                ),
                ("cpu: \"1\"", "cpu: 1m"),
            ],
            NEIGHBOUR,
            vec![
                "pod shop/near, which the pod's anti-affinity selects, is on a node with kubernetes.io/hostname=w1",
            ],
        ),
        (
            vec![(
                "kubernetes.io/hostname: w1",
                "kubernetes.io/hostname: w1.internal",
            )],
            "",
            vec!["fits 1 of 2 nodes: w1"],
        ),
        // The pod uses a persistent claim on w1, and an ephemeral volume whose claim does not exist yet or belongs to another pod.
        (
            vec![(
                "{name: v, persistentVolumeClaim: {claimName: data}}",
                "{name: v, persistentVolumeClaim: {claimName: old}}, {name: share, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 60Gi}}}}}}",
            )],
            NEIGHBOUR,
            vec!["claim shop/app-share does not exist yet"],
        ),
        (
            vec![
                (
                    "{name: data, namespace: shop, uid: data}",
                    "{name: app-v, namespace: shop, uid: data}",
                ),
                (
                    "persistentVolumeClaim: {claimName: data}",
                    "ephemeral: {volumeClaimTemplate: {spec: {storageClassName: local, accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}}}",
                ),
            ],
            "",
            vec!["claim shop/app-v has the name of the pod's ephemeral claim and belongs to another owner"],
        ),
        (
            vec![
                bound_elsewhere,
                (
                    "metadata: {name: data, ",
                    "metadata: {name: old, deletionTimestamp: \"2026-01-01T00:00:00Z\", finalizers: [kubernetes.io/pvc-protection], ",
                ),
            ],
            "",
            vec!["claim shop/old is being deleted"],
        ),
        (
            vec![(
                "{name: app, namespace: shop, uid: app,",
                "{name: app, namespace: shop, uid: app, deletionTimestamp: \"2026-01-01T00:00:00Z\",",
            )],
            "",
            vec!["is being deleted: no scheduler attempts it"],
        ),
        (
            vec![("{claimName: data}", "{claimName: nowhere}")],
            "",
            vec!["claim shop/nowhere does not exist; create it"],
        ),
    ] {
        let dump = Dump::of(&edits, more);
        let output = dump.why();
        for expected in &expected {
            assert!(output.contains(expected), "no “{expected}” in {output}");
        }
        dump.assert_reproduces(&[]);
    }
}

#[test]
fn clones_are_captured_with_their_sources() {
    let clone = Dump::of(
        &[
            (
                "spec: {storageClassName: local, accessModes",
                "spec: {dataSource: {kind: PersistentVolumeClaim, name: old}, storageClassName: local, accessModes",
            ),
            ("cpu: \"1\"", "cpu: 1m"),
        ],
        NEIGHBOUR,
    );
    assert!(clone.why().contains(
        "claim shop/data is a clone of claim shop/old, whose volume pv-old is not accessible from node w2"
    ));
    let text = clone.assert_reproduces(&[]);
    assert!(
        text.contains("dataSource: {kind: PersistentVolumeClaim, name: old}"),
        "{text}"
    );
    let (text, error) = clone.capture(&["--publisher"]);
    let left_out = "claim data: the driver does not have the source volume of this clone";
    assert!(
        text.contains("cloneVolume: true") && error.contains(left_out),
        "{error}\n{text}"
    );
    let snapshot = Dump::of(
        &[
            (
                "spec: {storageClassName: local, accessModes",
                "spec: {dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: snap}, storageClassName: local, accessModes",
            ),
            (
                "uid: data}",
                "uid: data, annotations: {volume.kubernetes.io/selected-node: w1, volume.kubernetes.io/storage-provisioner: d.example.com}}",
            ),
        ],
        "",
    );
    assert!(
        snapshot.why().contains(
            "the volume of claim shop/data is created once VolumeSnapshot snap exists and is ready"
        )
    );
    let text = snapshot.assert_reproduces(&[]);
    assert!(
        text.contains("dataSource: {kind: VolumeSnapshot, name: snap, apiGroup: snapshot.storage.k8s.io}"),
        "{text}"
    );
    // The captured file has no `driver.snapshots`, so the driver does not support snapshots.
    let (_, error) = snapshot.capture(&["--publisher"]);
    assert!(error.contains("its result differs from the cluster's"), "{error}");
}

/// The segments have several topology keys, and a capacity object of a removed zone still exists.
#[test]
fn captured_capacity_with_several_topology_keys_is_published() {
    let zone =
        |node: &str, zone: &str| format!("{{kubernetes.io/hostname: {node}, region: east, zone: {zone}}}");
    let segment = |zone: &str| format!("{{matchLabels: {{region: east, zone: {zone}}}}}");
    let labels = |node: &str| format!("{{kubernetes.io/hostname: {node}, d.example.com/node: {node}}}");
    let topology = |node: &str| format!("{{matchLabels: {{d.example.com/node: {node}}}}}");
    let removed_zone = "- {apiVersion: storage.k8s.io/v1, kind: CSIStorageCapacity, metadata: {name: c3, namespace: csi}, storageClassName: local, \
                nodeTopology: {matchLabels: {region: east, zone: z9}}, capacity: 70Gi}\n";
    let dump = |second: &str, more: &str| {
        Dump::of(
            &[
                (&labels("w1"), &zone("w1", "z1")),
                (&labels("w2"), &zone("w2", second)),
                (&topology("w1"), &segment("z1")),
                (&topology("w2"), &segment(second)),
                ("[d.example.com/node]", "[region, zone]"),
            ],
            more,
        )
    };
    let text = dump("z2", "").assert_reproduces(&["--publisher"]);
    for part in [
        "\"region=east,zone=z1\": \"53687091200\"",
        "\"region=east,zone=z2\": \"5368709120\"",
        "2 capacity objects",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let scrubbed = dump("z2", "").assert_reproduces(&["--publisher", "--scrub"]);
    assert!(
        !scrubbed.contains("east") && !scrubbed.contains("d.example.com"),
        "{scrubbed}"
    );
    let (text, error) = dump("z2", removed_zone).capture(&["--publisher"]);
    let left_out = "CSIStorageCapacity c3: its nodeTopology is not the topology segment of a node";
    assert!(
        error.contains(left_out) && text.contains(left_out),
        "{error}\n{text}"
    );
    // The label of each node has the name of the other node as its value.
    dump("w1", "").assert_reproduces(&["--publisher"]);
}

#[test]
fn an_object_for_a_node_name_that_differs_from_the_label_is_reproduced() {
    let dump = Dump::of(
        &[(
            "d.example.com/node: w2}}, status",
            "d.example.com/node: rack-2}}, status",
        )],
        "",
    );
    for more in [&[][..], &["--scrub"]] {
        dump.assert_reproduces(more);
    }
    let (_, error) = dump.capture(&["--publisher"]);
    assert!(
        error.contains("its result matches the cluster's") && error.contains("CSIStorageCapacity c2"),
        "{error}"
    );
}

/// A pod with higher priority, two nodes with possible victims, and a PodDisruptionBudget for the victims on one node.
#[test]
fn preemption_respects_disruption_budgets_and_is_reproduced() {
    let victim = |name: &str, node: &str| {
        format!(
            "- {{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: shop, uid: {name}, labels: {{of: {name}}}}}, \
             spec: {{nodeName: {node}, priority: 0, containers: [{{name: c, image: app, resources: {{requests: {{cpu: \"4\"}}}}}}]}}, status: {{phase: Running}}}}\n"
        )
    };
    let budget = "- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b, namespace: shop}, spec: {selector: {matchLabels: {of: a}}}, \
                  status: {disruptionsAllowed: 0}}\n";
    let edits = [
        ("spec: {containers", "spec: {priority: 9, containers"),
        ("capacity: 5Gi", "capacity: 50Gi"),
    ];
    let both = victim("a", "w1") + &victim("b", "w2");
    let dump = Dump::of(&edits, &both);
    assert!(dump.why().contains(
        "preemption is possible on node w1: it evicts shop/a (priority 0); no PodDisruptionBudget is known"
    ));
    dump.assert_reproduces(&[]);
    let dump = Dump::of(&edits, &(both + budget));
    assert!(
        dump.why()
            .contains("preemption is possible on node w2: it evicts shop/b (priority 0)\n"),
        "{}",
        dump.why()
    );
    dump.assert_reproduces(&[]);
}

/// The selected node is deleted while its volume is being provisioned.
#[test]
fn a_failure_reports_a_volume_provisioned_on_a_deleted_node() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone.yaml");
    let case = "\
id: mine/node-gone
title: a node that goes away before its volume was made
cluster: {publisher: {strictTopology: true}, nodes: [n1, n2], classes: [fast], backend: {n1: 50Gi, n2: 20Gi}}
steps:
  - id: chosen
    do:
      - driverFault: {id: broken, method: CreateVolume, code: UNAVAILABLE}
      - pod: {name: app, claims: [{class: fast, size: 10Gi}], nodeSelector: {disk: big}}
      - node: {relabel: {name: n1, labels: {disk: big}}}
    expect:
      - count: {of: {call: CreateVolume, segment: n1, code: UNAVAILABLE}, min: 1}
        why: the driver fails in a way that may be over soon
  - id: gone
    do:
      - node: {relabel: {name: n2, labels: {disk: big}}}
      - node: {leave: n1}
      - removeDriverFault: broken
    expect:
      - placement: {app: n2}
        within: 20s
        why: only n2 is left
";
    std::fs::write(&file, case).unwrap();
    let output = xtask(&[
        "repro",
        "--simulate=1",
        file.to_str().unwrap(),
        "--output",
        folder.path().join("out").to_str().unwrap(),
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("n1 was chosen, and the pod is refused: 0/1 nodes are available: 1 node(s) didn't match PersistentVolume's node affinity"),
        "{text}"
    );
}
