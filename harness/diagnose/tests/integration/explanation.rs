//! Tests of explanations and of the lint.

use capacity_diagnose::explain::{self, ExplainError, ExplainOptions, Explanation, ObjectVerdict};
use capacity_diagnose::inventory::Inventory;
use capacity_diagnose::lint;
use capacity_scheduler::objects::ObjectKey;
use capacity_scheduler::rules::Rules;
use capacity_scheduler::shape::Shape;
use serde_json::{Value, json};

use super::test_cluster::{TestCluster, topology_of_node};

fn pod(cluster: &TestCluster) -> Explanation {
    explain::pod(
        &cluster.snapshot,
        &Rules::default(),
        &cluster.pod(json!({})),
        &ExplainOptions::default(),
    )
    .unwrap()
}

/// The verdict about each CSIStorageCapacity object for the first PVC on a node, as `name: seen`.
fn object_verdicts(explanation: &Explanation, node: &str) -> Vec<String> {
    let found = explanation.nodes.iter().find(|view| view.node == node).unwrap();
    let objects = found.claims[0].objects.iter();
    objects
        .map(|view| {
            format!(
                "{}: {}",
                view.object,
                serde_json::to_value(view.seen).unwrap().as_str().unwrap()
            )
        })
        .collect()
}

fn finding_codes(cluster: &TestCluster) -> Vec<(String, &'static str)> {
    let findings = lint::lint(&cluster.snapshot).into_iter();
    findings.map(|finding| (finding.object, finding.code)).collect()
}

#[test]
fn every_object_is_listed_with_its_problem() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    let null = Value::Null;
    let (one, nine) = (json!("1Gi"), json!("9Gi"));
    for (topology, capacity, maximum) in [
        (&topology_of_node("n1"), &nine, &one),
        (&topology_of_node("n1"), &null, &null),
        (&null, &nine, &null),
        (
            &json!({"matchExpressions": [{"key": "node", "operator": "Gt", "values": ["1"]}]}),
            &nine,
            &null,
        ),
        (&topology_of_node("n2"), &nine, &null),
    ] {
        cluster.capacity("fast", topology, capacity, maximum);
    }
    cluster.capacity("slow", &topology_of_node("n1"), &nine, &null);
    cluster.add_delayed_claim("data", "fast", "2Gi");

    let explained = pod(&cluster);
    assert_eq!(explained.verdict, "fits 1 of 2 nodes: n2");
    let mut on_n1 = object_verdicts(&explained, "n1");
    on_n1.sort();
    assert_eq!(
        on_n1,
        [
            "driver/c1: too-small",
            "driver/c2: no-limit",
            "driver/c3: no-topology",
            "driver/c4: invalid-topology",
            "driver/c5: other-topology",
            "driver/c6: other-class",
        ]
    );
    let node = &explained.nodes[0];
    assert_eq!(node.reasons, [super::reasons::SPACE]);
    let why = |object: &str| {
        let found = node.claims[0].objects.iter().find(|view| view.object == object);
        found.unwrap().why.clone()
    };
    assert_eq!(why("driver/c1"), "maximumVolumeSize 1Gi is less than 2Gi");
    assert_eq!(why("driver/c2"), "capacity and maximumVolumeSize is unset");
    assert_eq!(why("driver/c5"), "label node is n1, not node In [n2]");
    assert_eq!(why("driver/c6"), "large enough, but for StorageClass slow");
    assert_eq!(
        explained.nodes[1].claims[0].outcome,
        "is provisioned: driver/c5 allows volumes up to 9Gi"
    );
}

#[test]
fn pvcs_contain_why_capacity_is_not_checked() {
    for (tracks, expected) in [
        (
            json!(false),
            "CSIDriver disk.example.com has not set storageCapacity: true",
        ),
        (json!(true), "disk.example.com tracks capacity"),
    ] {
        let mut cluster = TestCluster::new(&["n1"]);
        cluster.driver(&tracks);
        cluster.capacity_on("n1", "1Gi");
        cluster.add_delayed_claim("data", "fast", "2Gi");
        let explained = pod(&cluster);
        assert!(
            explained.claims[0].state.contains(expected),
            "{}",
            explained.claims[0].state
        );
        let read = explained.nodes[0].claims[0].objects[0].seen != ObjectVerdict::NotRead;
        assert_eq!(read, tracks == json!(true));
    }
}

#[test]
fn the_number_of_listed_objects_is_limited_and_the_rest_is_counted() {
    let mut cluster = TestCluster::new(&["n1"]);
    for number in 0..20 {
        cluster.capacity(
            "fast",
            &topology_of_node(&format!("gone-{number}")),
            &json!("9Gi"),
            &Value::Null,
        );
    }
    cluster.capacity_on("n1", "1Gi");
    cluster.add_delayed_claim("data", "fast", "2Gi");
    let detail = ExplainOptions {
        objects: 3,
        ..ExplainOptions::default()
    };
    let explained = explain::pod(
        &cluster.snapshot,
        &Rules::default(),
        &cluster.pod(json!({})),
        &detail,
    )
    .unwrap();
    let claim = &explained.nodes[0].claims[0];
    assert_eq!((claim.objects.len(), claim.more), (3, 18));
    assert_eq!(
        claim.objects[0].object, "driver/c21",
        "the accessible one comes first"
    );
    let text = explained.to_string();
    assert!(text.contains("and 18 more objects of the class"), "{text}");
    assert!(text.contains("capacity 1Gi is less than 2Gi"), "{text}");
}

#[test]
fn a_hypothetical_pvc_is_explained() {
    let mut cluster = TestCluster::new(&["n1", "n2"]);
    cluster.capacity_on("n1", "100Gi");
    cluster.capacity_on("n2", "20Gi");
    cluster.class("now", json!({"volumeBindingMode": "Immediate"}));
    let explain_claim = |class: &str, size: &str, node: Option<&str>| {
        let rules = Rules {
            shape: Some(Shape::most_free()),
            ..Rules::default()
        };
        let detail = ExplainOptions {
            node: node.map(str::to_owned),
            ..ExplainOptions::default()
        };
        explain::claim(&cluster.snapshot, &rules, class, size, &detail)
    };
    let explained = explain_claim("fast", "10Gi", None).unwrap();
    let scores: Vec<_> = explained.nodes.iter().map(|node| node.score).collect();
    assert_eq!(scores, [Some(90), Some(50)]);
    assert_eq!(
        explained.verdict,
        "fits 2 of 2 nodes: n1, n2; the best score for storage: n1"
    );
    assert_eq!(explain_claim("fast", "30Gi", Some("n2")).unwrap().nodes.len(), 1);
    assert!(
        explain_claim("now", "30Gi", None)
            .unwrap()
            .verdict
            .contains("volumeBindingMode is Immediate")
    );
    assert!(matches!(
        explain_claim("gone", "1Gi", None),
        Err(ExplainError::NoClass { .. })
    ));
    assert!(matches!(
        explain_claim("fast", "1Gi", Some("n9")),
        Err(ExplainError::NoNode(_))
    ));
    assert!(matches!(
        explain_claim("fast", "a lot", None),
        Err(ExplainError::Size(_))
    ));
}

#[test]
fn useless_objects_are_found() {
    let null = Value::Null;
    let (one, negative, huge) = (json!("1Gi"), json!("-1Gi"), json!("100E"));
    let gone = topology_of_node("gone");
    for (class, topology, capacity, expected) in [
        ("gone", &topology_of_node("n1"), &one, "class-missing"),
        ("now", &topology_of_node("n1"), &one, "class-immediate"),
        ("untracked", &topology_of_node("n1"), &one, "not-tracked"),
        ("driverless", &topology_of_node("n1"), &one, "not-tracked"),
        ("fast", &null, &one, "topology-unset"),
        (
            "fast",
            &json!({"matchLabels": {"node": "not valid"}}),
            &one,
            "topology-invalid",
        ),
        ("fast", &gone, &one, "topology-matches-no-node"),
        ("fast", &topology_of_node("n1"), &null, "no-limit"),
        ("fast", &topology_of_node("n1"), &negative, "negative"),
        ("fast", &topology_of_node("n1"), &huge, "overflow"),
    ] {
        let mut cluster = TestCluster::new(&["n1", "n2"]);
        cluster.class("now", json!({"volumeBindingMode": "Immediate"}));
        cluster.class("driverless", json!({"provisioner": "gone.example.com"}));
        cluster.class("untracked", json!({"provisioner": "off.example.com"}));
        cluster.other_driver("off.example.com", &json!(false));
        cluster.capacity(class, topology, capacity, &null);
        let found = finding_codes(&cluster);
        let of_object: Vec<_> = found
            .iter()
            .filter(|(object, _)| object.ends_with("driver/c1"))
            .collect();
        assert_eq!(of_object.len(), 1, "{expected}: {found:?}");
        assert_eq!(of_object[0].1, expected);
    }
}

#[test]
fn duplicates_dropped_selectors_classes_without_objects_and_stuck_pvcs_are_found() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.capacity_on("n1", "1Gi");
    cluster.capacity_on("n1", "2Gi");
    cluster.capacity("fast", &json!({}), &json!("1Gi"), &Value::Null);
    let selected = json!({"metadata": {"annotations": {"volume.kubernetes.io/selected-node": "gone"}}});
    cluster.claim("stuck", "fast", "1Gi", selected);
    let found = finding_codes(&cluster);
    let has = |object: &str, code: &str| found.iter().any(|(it, found)| it == object && *found == code);
    assert!(has("csistoragecapacity driver/c2", "duplicate"), "{found:?}");
    assert!(
        has("csistoragecapacity driver/c3", "topology-covers-all"),
        "{found:?}"
    );
    assert!(has("storageclass slow", "class-without-objects"), "{found:?}");
    assert!(
        has("persistentvolumeclaim ns/stuck", "selected-node-gone"),
        "{found:?}"
    );
    assert_eq!(found.len(), 4, "{found:?}");
}

#[test]
fn a_cluster_is_parsed_from_kubectl_output() {
    let text = "
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Node, metadata: {name: n1, labels: {node: n1}}}
- apiVersion: v1
  kind: Pod
  metadata: {name: app, namespace: prod, uid: u}
  spec: {containers: [], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata: {name: data, namespace: prod}
  spec: {storageClassName: fast, resources: {requests: {storage: 10737418240}}}
- {apiVersion: v1, kind: Secret, metadata: {name: s}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: disk.example.com
volumeBindingMode: WaitForFirstConsumer
---
{\"apiVersion\": \"storage.k8s.io/v1\", \"kind\": \"CSIDriverList\", \"items\": [{\"metadata\": {\"name\": \"disk.example.com\"}, \"spec\": {\"storageCapacity\": true}}]}
---
apiVersion: storage.k8s.io/v1beta1
kind: CSIStorageCapacity
metadata: {name: c, namespace: driver}
storageClassName: fast
capacity: 5Gi
nodeTopology: {nodeSelectorTerms: [{matchExpressions: [{key: node, operator: In, values: [n1]}]}]}
";
    let mut inventory = Inventory::default();
    inventory.add_text(text.as_bytes()).unwrap();
    assert_eq!(inventory.skipped_kinds["Secret"], 1);
    let pod = &inventory.pods[&ObjectKey::namespaced("prod", "app")];
    let explained = explain::pod(
        &inventory.snapshot,
        &Rules::default(),
        pod,
        &ExplainOptions::default(),
    )
    .unwrap();
    assert!(
        explained
            .verdict
            .starts_with("0/1 nodes are available: 1 node(s) did not have enough free storage")
    );
    assert_eq!(
        explained.nodes[0].claims[0].objects[0].why,
        "capacity 5Gi is less than 10Gi"
    );
    let codes: Vec<_> = explained.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(
        codes,
        ["topology-node-selector-terms"],
        "nodeSelectorTerms is not a label selector"
    );

    for wrong in ["a: [", "{metadata: {name: x}}", "{kind: Node, metadata: 7}"] {
        assert!(
            Inventory::default().add_text(wrong.as_bytes()).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn dropped_node_selector_terms_are_found_in_the_last_applied_annotation() {
    let mut inventory = Inventory::default();
    let applied = json!({"nodeTopology": {"nodeSelectorTerms": []}}).to_string();
    let object = json!({
        "kind": "CSIStorageCapacity", "storageClassName": "fast", "nodeTopology": {}, "capacity": "1Gi",
        "metadata": {"name": "c", "namespace": "d", "annotations": {"kubectl.kubernetes.io/last-applied-configuration": applied}},
    });
    inventory.add(object).unwrap();
    let codes: Vec<_> = lint::lint(&inventory.snapshot)
        .into_iter()
        .map(|finding| finding.code)
        .collect();
    assert!(codes.contains(&"topology-node-selector-terms"), "{codes:?}");
}

/// A cluster of equal nodes with these names, and a pod whose PVC requests 1Gi.
fn cluster_of_equal_nodes(nodes: &[&str]) -> TestCluster {
    let mut cluster = TestCluster::new(nodes);
    nodes.iter().for_each(|node| cluster.capacity_on(node, "9Gi"));
    cluster.add_delayed_claim("data", "fast", "1Gi");
    cluster
}

#[test]
fn the_verdict_lists_a_few_feasible_nodes_by_name() {
    let names = ["n1", "n2", "n3", "n4", "n5"];
    let verdict = |count: usize| pod(&cluster_of_equal_nodes(&names[..count])).verdict;
    assert_eq!(verdict(1), "fits 1 of 1 nodes: n1");
    assert_eq!(verdict(2), "fits 2 of 2 nodes: n1, n2");
    assert_eq!(verdict(4), "fits 4 of 4 nodes: n1, n2, n3, n4");
    assert_eq!(verdict(5), "fits 5 of 5 nodes: n1, n2, n3 and 2 more");
    let no_shape = pod(&cluster_of_equal_nodes(&names[..2]));
    assert_eq!(no_shape.nodes[0].score, None, "nothing was scored");
}

#[test]
fn a_single_feasible_node_has_no_score() {
    let rules = Rules {
        shape: Some(Shape::most_free()),
        ..Rules::default()
    };
    let scores = |cluster: &TestCluster| {
        let explained = explain::pod(
            &cluster.snapshot,
            &rules,
            &cluster.pod(json!({})),
            &ExplainOptions::default(),
        )
        .unwrap();
        explained.nodes.iter().map(|node| node.score).collect::<Vec<_>>()
    };
    assert_eq!(
        scores(&cluster_of_equal_nodes(&["n1"])),
        [None],
        "only one node is feasible"
    );
    assert!(
        scores(&cluster_of_equal_nodes(&["n1", "n2"]))
            .iter()
            .all(Option::is_some)
    );
}

#[test]
fn each_pvc_has_its_own_outcome() {
    let mut cluster = TestCluster::new(&["n1"]);
    cluster.capacity_on("n1", "9Gi");
    cluster.volume("pv", "slow", "5Gi", "n1", json!({}));
    cluster.add_delayed_claim("made", "fast", "1Gi");
    cluster.add_delayed_claim("found", "slow", "5Gi");
    let outcomes = |cluster: &TestCluster| {
        let explained = pod(cluster);
        let claims = explained.nodes[0].claims.iter();
        claims
            .map(|claim| format!("{}: {}", claim.claim, claim.outcome))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        outcomes(&cluster),
        [
            "ns/made: is provisioned: driver/c1 allows volumes up to 9Gi",
            "ns/found: is bound to volume pv, which exists",
        ]
    );
    cluster.add_delayed_claim("large", "fast", "99Gi");
    let only_n2 = json!([{"matchLabelExpressions": [{"key": "node", "values": ["n2"]}]}]);
    cluster.class("elsewhere", json!({"allowedTopologies": only_n2}));
    cluster.add_delayed_claim("away", "elsewhere", "1Gi");
    let space = "no capacity object that this node can access is large enough";
    let explained = outcomes(&cluster);
    let of = |claim: &str| {
        let found = explained
            .iter()
            .find_map(|outcome| outcome.strip_prefix(&format!("ns/{claim}: ")));
        found.unwrap_or_default().to_owned()
    };
    assert_eq!(of("made"), "would be provisioned with driver/c1");
    assert_eq!(of("large"), space);
    let away = of("away");
    assert!(
        !away.is_empty() && away != space && !away.contains("would be"),
        "{explained:?}"
    );
}

#[test]
fn an_object_for_every_node_is_a_finding_only_beside_others_of_its_class() {
    let mut cluster = TestCluster::new(&["n1"]);
    let null = Value::Null;
    cluster.capacity("fast", &json!({}), &json!("0"), &null);
    cluster.capacity("slow", &topology_of_node("n1"), &json!("1Gi"), &null);
    assert_eq!(
        finding_codes(&cluster),
        [],
        "zero is not negative, and each class has one object"
    );
    cluster.capacity("fast", &topology_of_node("n1"), &json!("1Gi"), &null);
    assert_eq!(
        finding_codes(&cluster),
        [("csistoragecapacity driver/c1".to_owned(), "topology-covers-all")]
    );
}

/// The obstacles of pod `p` on a node. `text`: the objects of the cluster, as YAML.
fn obstacles(text: &str, node: &str) -> Vec<String> {
    let mut inventory = Inventory::default();
    inventory.add_text(text.as_bytes()).unwrap();
    let pod = &inventory.pods[&ObjectKey::namespaced("ns", "p")];
    let explained = explain::pod(
        &inventory.snapshot,
        &Rules::default(),
        pod,
        &ExplainOptions::default(),
    )
    .unwrap();
    let view = explained.nodes.iter().find(|view| view.node == node).unwrap();
    for obstacle in &view.obstacles {
        assert!(explained.to_string().contains(obstacle), "{explained}");
    }
    view.obstacles.clone()
}

#[test]
fn the_obstacle_on_a_node_is_named() {
    let node = "{kind: Node, metadata: {name: n1, labels: {zone: a, disk: hdd}}";
    let terms = "[{matchExpressions: [{key: disk, operator: In, values: [ssd]}, {key: gpu, operator: Exists}]}, \
                 {matchExpressions: [{key: zone, operator: NotIn, values: [a]}]}]";
    let affinity = format!(
        "affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}"
    );
    for (node_spec, pod_spec, expected) in [
        (
            "taints: [{key: a/b, value: x, effect: NoSchedule}, {key: c, effect: NoExecute}, {key: d, effect: PreferNoSchedule}]",
            "containers: []",
            vec![
                "the pod does not tolerate taint a/b=x:NoSchedule",
                "the pod does not tolerate taint c:NoExecute",
            ],
        ),
        (
            "unschedulable: true",
            "containers: []",
            vec!["the node is cordoned: spec.unschedulable is true"],
        ),
        (
            "taints: []",
            "nodeSelector: {zone: b, rack: r1, disk: hdd}",
            vec![
                "the pod's nodeSelector requires rack=r1; the node has no label rack",
                "the pod's nodeSelector requires zone=b; the node has zone=a",
            ],
        ),
        (
            "taints: []",
            &affinity,
            vec![
                "the pod's node affinity requires disk In [ssd] (the node has disk=hdd) and gpu Exists (the node has no label gpu), \
                 or zone NotIn [a] (the node has zone=a)",
            ],
        ),
    ] {
        let text = format!(
            "{node}, spec: {{{node_spec}}}}}\n---\n{{kind: Pod, metadata: {{name: p, namespace: ns}}, spec: {{{pod_spec}}}}}\n"
        );
        let text = match pod_spec.contains("containers") {
            true => text,
            false => text
                .replace("spec: {nodeSelector", "spec: {containers: [], nodeSelector")
                .replace("spec: {affinity", "spec: {containers: [], affinity"),
        };
        assert_eq!(obstacles(&text, "n1"), expected);
    }
}

#[test]
fn resources_used_by_other_pods_count() {
    let text = "{kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: '2', memory: 4Gi, pods: 110}}}
---
{kind: Pod, metadata: {name: other, namespace: ns, uid: u1}, spec: {nodeName: n1, containers: [{name: c, resources: {requests: {cpu: 1500m}}}]}}
---
{kind: Pod, metadata: {name: p, namespace: ns, uid: u2}, spec: {containers: [{name: c, resources: {requests: {cpu: '1'}}}]}}
";
    assert_eq!(
        obstacles(text, "n1"),
        ["the pod requests 1000m of cpu; 500m of 2000m are free"]
    );
}

#[test]
fn findings_about_pvcs_of_other_pods_are_omitted() {
    let claim = |name: &str| {
        format!(
            "{{kind: PersistentVolumeClaim, metadata: {{name: {name}, namespace: ns, annotations: {{volume.kubernetes.io/selected-node: gone}}}}, \
             spec: {{storageClassName: fast, accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}}}}}\n---\n"
        )
    };
    let text = format!(
        "{}{}{{kind: Node, metadata: {{name: n1}}}}
---
{{kind: StorageClass, metadata: {{name: fast}}, provisioner: d, volumeBindingMode: WaitForFirstConsumer}}
---
{{kind: Pod, metadata: {{name: p, namespace: ns}}, spec: {{containers: [], volumes: [{{name: v, persistentVolumeClaim: {{claimName: own}}}}]}}}}
",
        claim("own"),
        claim("other")
    );
    let mut inventory = Inventory::default();
    inventory.add_text(text.as_bytes()).unwrap();
    assert_eq!(lint::lint(&inventory.snapshot).len(), 2);
    let pod = &inventory.pods[&ObjectKey::namespaced("ns", "p")];
    let explained = explain::pod(
        &inventory.snapshot,
        &Rules::default(),
        pod,
        &ExplainOptions::default(),
    )
    .unwrap();
    let about: Vec<_> = explained
        .findings
        .iter()
        .map(|finding| finding.object.as_str())
        .collect();
    assert_eq!(about, ["persistentvolumeclaim ns/own"]);
    assert!(
        explained
            .to_string()
            .contains("the claim's selected-node annotation is gone until the provisioner removes it"),
        "{explained}"
    );
}
