//! Tests failures caused by violations of the specification: rule, rows and first event without evidence, for each kind of rule.

use serde_json::{Value, json};

use super::*;
use crate::expectation::Row;

/// A case with one class, 5Gi on n1, and a pod with a PVC of 1Gi. The step expects `specification`.
fn start_case() -> TestJournal {
    start_case_with_actions(&[])
}

/// The case of `start_case`, with additional actions after the creation of the pod.
fn start_case_with_actions(more: &[Value]) -> TestJournal {
    let mut actions = vec![json!({"pod": {"name": "app", "claims": [{"class": "fast", "size": "1Gi"}]}})];
    actions.extend_from_slice(more);
    let steps = json!([{"id": "a", "do": actions, "expect": "specification"}]);
    start_case_with_settings(&json!({}), &steps)
}

/// The cluster of `start_case`, with these publisher settings and steps.
fn start_case_with_settings(publisher: &Value, steps: &Value) -> TestJournal {
    let mut journal = start_parsed_case(&json!({
        "id": "story/unit/specification", "title": "a case of a test",
        "cluster": {"nodes": ["n1", "n2"], "classes": ["fast"], "backend": {"n1": "5Gi"}, "publisher": publisher},
        "steps": steps,
    }));
    for role in ["publisher", "scheduler"] {
        journal.record_process(role, "started");
        journal.first_request(role);
    }
    journal
}

/// A journal that contains only the initial objects, before any program runs.
fn start_parsed_case(text: &Value) -> TestJournal {
    let scenarios = parse("test.yaml", &text.to_string()).expect("well-formed case");
    let plan: &'static Plan = Box::leak(Box::new(resolve(&scenarios[0]).expect("valid case")));
    let mut journal = TestJournal {
        judge: Judge::new(plan),
        seq: 0,
        at_us: 0,
    };
    journal.record(json!({"fact": "begin", "case": "c", "refreshUs": 100_000, "patience": 1.0, "format": 1}));
    for object in &plan.objects {
        let resource = fake_apiserver::ResourceRef::plural_of(object).expect("known kind");
        let name = object["metadata"]["name"].as_str().expect("named object");
        journal.commit("harness", "added", resource, name, object);
    }
    journal.record(json!({"fact": "stepStarted", "step": 0}));
    journal
}

fn key() -> &'static str {
    "disk.example.com/node"
}

fn published(node: &str, bytes: u64) -> Value {
    let labels = json!({
        "csi.storage.k8s.io/drivername": "disk.example.com",
        "csi.storage.k8s.io/managed-by": "external-provisioner",
    });
    json!({
        "metadata": {"name": format!("csisc-{node}"), "namespace": "csi", "uid": node, "labels": labels},
        "storageClassName": "fast", "nodeTopology": {"matchLabels": {key(): node}}, "capacity": bytes.to_string(),
    })
}

const GI: u64 = 1 << 30;

impl TestJournal {
    fn commit_capacity(&mut self, client: &str, change: &str, object: &Value) {
        let name = &object["metadata"]["name"];
        self.record(
            json!({"fact": "commit", "client": client, "change": change, "resource": "csistoragecapacities",
            "namespace": "csi", "name": name, "revision": self.seq, "object": object}),
        );
    }

    fn record_process(&mut self, role: &str, event: &str) {
        self.record(json!({"fact": "process", "client": role, "role": role, "event": event}));
    }

    fn record_action(&mut self, text: &str) {
        self.record(json!({"fact": "action", "text": text}));
    }

    /// Appends a GetCapacity call of the publisher for a node, with the correct capacity.
    fn get_capacity_for(&mut self, node: &str) {
        let bytes = if node == "n1" { 5 * GI } else { 0 };
        self.record(json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": node, "parameters": {},
            "volume": null, "requiredBytes": null, "code": "OK", "message": null, "available": bytes, "maximum": null}));
    }

    pub(super) fn commit_workload(&mut self, client: &str, change: &str, resource: &str, object: &Value) {
        let name = &object["metadata"]["name"];
        self.record(
            json!({"fact": "commit", "client": client, "change": change, "resource": resource,
            "namespace": "default", "name": name, "revision": self.seq, "object": object}),
        );
    }

    /// Appends a published capacity for n1 and a pod that has no node yet.
    fn begin_with_a_pod(&mut self) {
        self.create_pod();
        self.get_capacity_for("n1");
        self.commit_capacity("publisher", "added", &published("n1", 5 * GI));
    }

    /// Appends the creation of the pod and its PVC.
    fn create_pod(&mut self) {
        self.create_pod_and(&[]);
    }

    /// Appends the creation of the pod and its PVC, and these additional actions.
    fn create_pod_and(&mut self, more: &[&str]) {
        for action in ["create claim app-0", "create pod app"] {
            self.record_action(action);
        }
        self.commit_workload("harness", "added", "persistentvolumeclaims", &claim(None));
        self.commit_workload("harness", "added", "pods", &waiting());
        for action in more {
            self.record_action(action);
        }
        self.record(json!({"fact": "stepActed", "step": 0}));
    }

    fn reject_created_pod(&mut self) {
        let condition = json!({"type": "PodScheduled", "status": "False", "message": "full"});
        let mut refused = waiting();
        refused["status"] = json!({"conditions": [condition]});
        self.commit_workload("scheduler", "modified", "pods", &refused);
    }

    /// Whether the failure is a pod that the scheduler rejected although it could be assigned.
    fn reports_wrong_refusal(&self) -> bool {
        let oracle = self.judge.oracle.as_ref().expect("oracle");
        let mut unsettled = oracle.violations_if_quiet().into_iter();
        unsettled.any(|it| it.rule.id == "placement/wrongly-refused")
    }

    fn advance_until_failure(&mut self) {
        while self.judge.failure.is_none() {
            self.next_bound();
        }
    }

    fn failure(&self) -> Failure {
        let verdict = self.judge.verdict();
        // A second judge must compute the same verdict from the stored facts.
        let again = verdict_of(self.judge.plan, self.judge.facts());
        assert_eq!(
            again.failure().map(|it| &it.summary),
            verdict.failure().map(|it| &it.summary)
        );
        verdict.failure().expect("failure").clone()
    }
}

fn verdict_of(plan: &Plan, facts: &[Fact]) -> Verdict {
    verdict(plan, facts.iter().cloned())
}

fn claim(node: Option<&str>) -> Value {
    let annotations = node.map_or(
        json!({}),
        |node| json!({"volume.kubernetes.io/selected-node": node}),
    );
    json!({"metadata": {"name": "app-0", "namespace": "default", "annotations": annotations},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}})
}

fn waiting() -> Value {
    let volume = json!({"name": "v", "persistentVolumeClaim": {"claimName": "app-0"}});
    json!({"metadata": {"name": "app", "namespace": "default"}, "spec": {"volumes": [volume]}})
}

#[track_caller]
fn assert_failure(failure: &Failure, rule: &str, words: &[&str]) {
    let rows = failure
        .rows
        .iter()
        .map(|row| format!("{:?} {} → {}", row.subject, row.want, row.got));
    let missing = failure.chain.first_missing().expect("missing link");
    let text = format!(
        "{}\n{}\n{} {}",
        failure.summary,
        rows.collect::<Vec<_>>().join("\n"),
        missing.text,
        missing.note
    );
    assert!(text.contains(rule), "{text}");
    for word in words {
        assert!(text.contains(word), "{word} in {text}");
    }
    assert_eq!(failure.expect, Some(0));
}

#[test]
fn a_correct_run_passes_once_everything_is_quiet() {
    let mut journal = start_case();
    journal.get_capacity_for("n1");
    journal.commit_capacity("publisher", "added", &published("n1", 5 * GI));
    journal.create_pod();
    assert!(!journal.is_done_when_quiet(), "pending pod");
    journal.commit_workload(
        "scheduler",
        "modified",
        "persistentvolumeclaims",
        &claim(Some("n1")),
    );
    let mut bound = claim(Some("n1"));
    bound["spec"]["volumeName"] = "v".into();
    journal.commit_workload("harness", "modified", "persistentvolumeclaims", &bound);
    let mut placed = waiting();
    placed["spec"]["nodeName"] = "n1".into();
    journal.commit_workload("scheduler", "modified", "pods", &placed);
    assert!(
        !journal.is_done_when_quiet(),
        "the publisher may not have reacted yet"
    );
    for _ in 0..3 {
        journal.get_capacity_for("n1");
    }
    assert!(journal.is_done_when_quiet());
    assert!(matches!(journal.judge.verdict(), Verdict::Pass));
}

#[test]
fn a_missing_object_has_a_row() {
    let mut journal = start_case();
    journal.create_pod();
    journal.advance_until_failure();
    let words = ["PUB-14", "5Gi → -", "StorageClass fast"];
    assert_failure(&journal.failure(), "objects/missing", &words);
}

#[test]
fn an_object_for_a_segment_without_nodes_is_extra() {
    let mut journal = start_case();
    journal.commit_capacity("kubectl", "added", &published("n3", GI));
    journal.begin_with_a_pod();
    journal.advance_until_failure();
    assert_failure(
        &journal.failure(),
        "objects/obsolete",
        &["\"n3\" } - → 1Gi", "no object for class fast at n3"],
    );
}

#[test]
fn an_object_that_no_client_requested_fails_at_once() {
    let mut journal = start_case();
    journal.commit_capacity("harness", "added", &published("n3", GI));
    let words = ["API-07", "no request preceded the change"];
    assert_failure(&journal.failure(), "server/unrequested-change", &words);
}

#[test]
fn a_request_beyond_the_documented_rbac_rules_fails_at_once() {
    let mut journal = start_case();
    journal.record(
        json!({"fact": "request", "client": "publisher", "verb": "list", "resource": "csistoragecapacities",
        "namespace": null, "name": null, "code": 200, "message": null, "revision": 9}),
    );
    let words = [
        "RBAC-08",
        "publisher sent list csistoragecapacities in all namespaces",
    ];
    assert_failure(&journal.failure(), "always/not-granted", &words);
}

#[test]
fn a_capacity_that_does_not_match_the_storage_fails_at_once() {
    let mut journal = start_case();
    journal.record(
        json!({"fact": "call", "method": "GetCapacity", "node": null, "segment": "n1", "parameters": {}, "volume": null,
        "requiredBytes": null, "code": "OK", "message": null, "available": GI, "maximum": null}),
    );
    assert_failure(&journal.failure(), "driver/wrong-response", &["CSI-26"]);
}

#[test]
fn wrong_metrics_fail_after_the_timeout() {
    let text = json!({
        "id": "story/unit/metrics", "title": "a case of a test", "cluster": {"roles": ["publisher"], "metrics": true},
        "steps": [{"id": "a", "expect": "specification"}],
    });
    let mut journal = start_parsed_case(&text);
    journal.record_process("publisher", "started");
    journal.record(json!({"fact": "stepActed", "step": 0}));
    let read = |journal: &mut TestJournal, goal: u32| {
        let series = |name: &str, value: u32| json!({"series": format!("{name}{{driver_name=\"disk.example.com\"}}"), "value": value});
        let samples = json!([
            series("csistoragecapacities_desired_goal", goal), series("csistoragecapacities_desired_current", 0),
            series("csistoragecapacities_obsolete", 0), {"series": "workqueue_depth{name=\"csistoragecapacity\"}", "value": 0},
        ]);
        journal.record(
            json!({"fact": "metrics", "readings": [{"client": "publisher", "told": 4, "samples": samples}]}),
        );
    };
    read(&mut journal, 1);
    journal.advance_until_failure();
    let words = ["MET-01", "csistoragecapacities_desired_goal is 1"];
    assert_failure(&journal.failure(), "metrics/goal", &words);
}

#[test]
fn writing_an_object_of_another_client_fails_at_once() {
    let mut journal = start_case();
    let mut foreign = published("n1", GI);
    foreign["metadata"]["labels"] = json!({});
    journal.commit_capacity("kubectl", "added", &foreign);
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: false });
    journal.commit_capacity("publisher", "deleted", &foreign);
    assert_failure(
        &journal.failure(),
        "always/foreign-write",
        &["PUB-34", "delete by publisher"],
    );
}

#[test]
fn publishing_more_than_the_driver_reported_fails_at_once() {
    let mut journal = start_case();
    journal.get_capacity_for("n1");
    journal.commit_capacity("publisher", "added", &published("n1", 6 * GI));
    assert_failure(
        &journal.failure(),
        "always/capacity-too-high",
        &["SCHED-47", "more than the driver ever returned"],
    );
}

#[test]
fn a_get_capacity_call_for_an_unknown_segment_fails_at_once() {
    let mut journal = start_case();
    journal.get_capacity_for("n3");
    assert_failure(
        &journal.failure(),
        "always/unexpected-get-capacity",
        &["does not belong to the publisher's nodes", "GetCapacity"],
    );
}

/// The journal contains a delayed call only after the call has ended.
#[test]
fn delayed_calls_may_have_started_before_the_last_change() {
    let late = json!({"driverFault": {"delay": "500ms", "method": "GetCapacity", "times": 1}});
    for (is_late, first) in [(true, json!([late])), (false, json!([]))] {
        let steps = json!([
            {"id": "a", "do": first, "expect": "specification"},
            {"id": "b", "do": [{"class": {"delete": "fast"}}], "expect": "specification"},
            {"id": "c", "expect": "specification"},
        ]);
        let mut journal = start_case_with_settings(&json!({}), &steps);
        if is_late {
            journal.record_action("driver fault added: GetCapacity is delayed by 500ms, 1×");
        }
        let objects = ["n1", "n2"].map(|node| (node, published(node, if node == "n1" { 5 * GI } else { 0 })));
        for (node, object) in &objects {
            journal.get_capacity_for(node);
            journal.commit_capacity("publisher", "added", object);
        }
        journal.record(json!({"fact": "stepActed", "step": 0}));
        for _ in 0..3 {
            journal.get_capacity_for("n1");
            journal.get_capacity_for("n2");
        }
        assert!(journal.is_done_when_quiet());
        journal.record(json!({"fact": "stepStarted", "step": 1}));
        let class = json!({"metadata": {"name": "fast"}, "provisioner": "disk.example.com"});
        journal.commit("harness", "deleted", "storageclasses", "fast", &class);
        for (_, object) in &objects {
            journal.commit_capacity("publisher", "deleted", object);
        }
        journal.record(json!({"fact": "stepActed", "step": 1}));
        journal.next_bound();
        assert!(journal.is_done_when_quiet());
        journal.record(json!({"fact": "stepStarted", "step": 2}));
        journal.get_capacity_for("n1");
        assert_eq!(
            journal.judge.failure.is_none(),
            is_late,
            "delayed responses: {is_late}"
        );
    }
}

#[test]
fn selecting_a_node_without_capacity_fails_at_once() {
    let mut journal = start_case();
    journal.begin_with_a_pod();
    journal.commit_workload(
        "scheduler",
        "modified",
        "persistentvolumeclaims",
        &claim(Some("n2")),
    );
    let words = ["the pod was placed on n2", "no capacity object has enough"];
    assert_failure(&journal.failure(), "placement/no-capacity", &words);
}

#[test]
fn a_pod_that_waits_although_a_node_fits_has_a_row_with_the_node() {
    let mut journal = start_case();
    journal.begin_with_a_pod();
    journal.reject_created_pod();
    journal.advance_until_failure();
    assert_failure(
        &journal.failure(),
        "placement/wrongly-refused",
        &["n1 → unschedulable", "delivered to the scheduler"],
    );
}

#[test]
fn a_scheduler_that_never_listed_capacity_before_it_became_unserved_may_reject() {
    for has_read in [true, false] {
        let mut journal = start_case_with_actions(&[json!({"release": {"to": "1.20"}})]);
        journal.get_capacity_for("n1");
        journal.commit_capacity("publisher", "added", &published("n1", 5 * GI));
        if has_read {
            let revision = journal.seq;
            journal.record(json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": "csistoragecapacities",
                "version": "storage.k8s.io/v1", "namespace": null, "name": null, "code": 200, "message": null,
                "revision": revision}));
        }
        journal.create_pod_and(&["the API server is now 1.20"]);
        journal.reject_created_pod();
        let oracle = journal.judge.oracle.as_ref().expect("oracle");
        let wrong = oracle.violations_if_quiet().into_iter();
        let refused = wrong.filter(|it| it.rule.id == "placement/wrongly-refused");
        assert_eq!(refused.count(), usize::from(has_read));
    }
}

#[test]
fn a_scheduler_may_use_a_storage_capacity_flag_that_is_no_longer_served() {
    for restarts_again in [false, true] {
        let releases = ["1.19", "1.18"].map(|release| json!({"release": {"to": release}}));
        let mut journal = start_case_with_actions(&releases);
        let restart = |journal: &mut TestJournal| {
            journal.record_process("scheduler", "stopped");
            journal.record_process("scheduler", "started");
        };
        journal.create_pod_and(&["the API server is now 1.19"]);
        restart(&mut journal);
        journal.record_action("the API server is now 1.18");
        if restarts_again {
            restart(&mut journal);
        }
        journal.reject_created_pod();
        assert_eq!(journal.reports_wrong_refusal(), restarts_again);
    }
}

#[test]
fn a_scheduler_uses_the_maximum_volume_sizes_that_it_was_served() {
    let gate = json!({"CSIStorageCapacity": true});
    for (release, is_shown) in [("1.19", false), ("1.21", true)] {
        let releases = [
            json!({"release": {"to": release, "gates": gate}}),
            json!({"release": {"to": "1.19"}}),
        ];
        let mut journal = start_case_with_actions(&releases);
        let mut object = published("n1", 0);
        object["maximumVolumeSize"] = "5Gi".into();
        object.as_object_mut().expect("object").remove("capacity");
        journal.commit_capacity("publisher", "added", &object);
        journal.create_pod_and(&[&format!(
            "the API server is now {release}, CSIStorageCapacity=true"
        )]);
        let version = if is_shown { "v1beta1" } else { "v1alpha1" };
        let revision = journal.seq;
        journal.record(json!({"fact": "request", "client": "scheduler", "verb": "list", "resource": "csistoragecapacities",
            "version": format!("storage.k8s.io/{version}"), "namespace": null, "name": null, "code": 200, "message": null,
            "revision": revision}));
        journal.record_action("the API server is now 1.19");
        journal.reject_created_pod();
        assert_eq!(journal.reports_wrong_refusal(), is_shown, "{release}");
    }
}

#[test]
fn calls_of_a_starting_publisher_may_be_lost_with_the_connection() {
    let cut = json!({"driverFault": {"cut": "after", "method": "GetCapacity", "times": 3}});
    let steps = json!([
        {"id": "a", "do": [{"stop": "publisher"}], "expect": "specification"},
        {"id": "b", "do": [cut, {"start": "publisher"}], "expect": "specification"},
    ]);
    for is_cut in [true, false] {
        let mut journal = start_case_with_settings(&json!({"deleteUnknownCapacity": true}), &steps);
        for node in ["n1", "n2"] {
            journal.get_capacity_for(node);
            journal.commit_capacity(
                "publisher",
                "added",
                &published(node, if node == "n1" { 5 * GI } else { 0 }),
            );
        }
        journal.record_action("stop the publisher");
        journal.record_process("publisher", "stopped");
        journal.record(json!({"fact": "stepActed", "step": 0}));
        assert!(journal.is_done_when_quiet());
        journal.record(json!({"fact": "stepStarted", "step": 1}));
        if is_cut {
            journal
                .record_action("driver fault added: GetCapacity is executed, but its connection is cut before the response, 3×");
        }
        journal.record_action("start the publisher");
        journal.record_process("publisher", "started");
        journal.commit_capacity("publisher", "deleted", &published("n1", 5 * GI));
        assert_eq!(
            journal.judge.failure.is_none(),
            is_cut,
            "the driver received no call"
        );
    }
}

#[test]
fn an_unprovisioned_pvc_with_sufficient_capacity_has_a_row() {
    let mut journal = start_case();
    journal.begin_with_a_pod();
    journal.commit_workload(
        "scheduler",
        "modified",
        "persistentvolumeclaims",
        &claim(Some("n1")),
    );
    journal.advance_until_failure();
    assert_failure(
        &journal.failure(),
        "volumes/not-provisioned",
        &["Claim(\"app-0\")", "bytes are available in"],
    );
}

#[test]
fn a_volume_uses_capacity_until_it_is_deleted() {
    let mut journal = start_case();
    let volume = |method: &str| {
        json!({"fact": "call", "method": method, "node": null, "segment": "n1", "parameters": {}, "volume": "v",
            "volumeId": "1", "placed": (method == "CreateVolume").then(|| json!({"segment": "n1", "bytes": 2 * GI})),
            "requiredBytes": null, "code": "OK", "message": null, "available": null, "maximum": null})
    };
    let capacity = |journal: &TestJournal| {
        let oracle = journal.judge.oracle.as_ref().expect("oracle");
        let rows = oracle.required_state().capacities.expect("expressible rows");
        rows[&("fast".to_owned(), "n1".to_owned())]
    };
    let gigabytes = |count: u64| {
        Row::Values(capacity_types::CapacityValues {
            capacity: Some(i128::from(count * GI)),
            maximum: None,
        })
    };
    assert_eq!(capacity(&journal), gigabytes(5));
    journal.record(volume("CreateVolume"));
    assert_eq!(capacity(&journal), gigabytes(3));
    journal.record(volume("DeleteVolume"));
    assert_eq!(capacity(&journal), gigabytes(5));
}
