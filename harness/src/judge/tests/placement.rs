//! The first event without evidence in the causal chain of a pod without a node: a watch event was not delivered, the pod was not retried,
//! or it was rejected.

use serde_json::json;

use super::*;

/// A journal in which the scheduler has rejected a pod that the case expects on a node.
fn journal_with_rejected_pod() -> TestJournal {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "w"}));
    journal.reject_pod("no room");
    journal.deliver("pods", "app", "modified");
    journal
}

impl TestJournal {
    fn deliver(&mut self, resource: &str, name: &str, change: &str) {
        self.record(
            json!({"fact": "delivery", "client": "scheduler", "change": change, "resource": resource,
            "namespace": null, "name": name, "revision": self.seq}),
        );
    }

    /// Appends that the harness changes an object that may requeue the pod.
    fn change(&mut self, change: &str) {
        self.commit("harness", change, "csidrivers", "disk.example.com", &json!({}));
    }

    /// Appends that the scheduler starts a watch at the current revision.
    fn begin_watch(&mut self, code: u16) {
        self.record(
            json!({"fact": "request", "client": "scheduler", "verb": "watch", "resource": "csidrivers",
            "namespace": null, "name": null, "code": code, "message": null, "revision": self.seq}),
        );
    }

    /// Appends the objects on which the capacity check depends. The pod needs 10Gi of class `fast`.
    fn create_capacity_check_objects(&mut self) {
        let labels = json!({"disk.example.com/node": "n1"});
        let registered = json!([{"name": "disk.example.com", "topologyKeys": ["disk.example.com/node"]}]);
        let claim = json!({"storageClassName": "fast", "resources": {"requests": {"storage": "10Gi"}}});
        for (resource, name, object) in [
            (
                "csidrivers",
                "disk.example.com",
                json!({"spec": {"storageCapacity": true}}),
            ),
            (
                "storageclasses",
                "fast",
                json!({"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}),
            ),
            ("nodes", "n1", json!({"metadata": {"labels": labels}})),
            (
                "csinodes",
                "n1",
                json!({"metadata": {"name": "n1"}, "spec": {"drivers": registered}}),
            ),
            (
                "persistentvolumeclaims",
                "app-0",
                json!({"metadata": {"uid": "u"}, "spec": claim}),
            ),
        ] {
            self.commit("harness", "added", resource, name, &object);
            self.deliver(resource, name, "added");
        }
    }

    fn publish_capacity(&mut self, capacity: &str) {
        let object = json!({"metadata": {"name": "csisc-1", "namespace": "csi"}, "storageClassName": "fast",
            "nodeTopology": {"matchLabels": {"disk.example.com/node": "n1"}}, "capacity": capacity});
        self.commit("publisher", "added", "csistoragecapacities", "csisc-1", &object);
        self.deliver_capacity();
    }

    /// The first event without evidence in the causal chain, after the deadline.
    fn first_missing_event(&mut self) -> String {
        while self.judge.failure.is_none() {
            self.next_bound();
        }
        let verdict = self.judge.verdict();
        let failure = verdict.failure().expect("failure");
        let link = failure.chain.first_missing().expect("missing link");
        format!("{}: {}", link.text, link.note)
    }
}

#[test]
fn a_delivered_change_after_the_rejection_requires_a_retry() {
    let mut journal = journal_with_rejected_pod();
    journal.change("modified");
    journal.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn the_selected_node_of_a_shared_pvc_does_not_count_for_a_rejected_pod() {
    let mut journal = journal_with_rejected_pod();
    let volume = |claim: &str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"});
    let pod = json!({"metadata": {"name": "app"}, "spec": {"volumes": [volume("shared"), volume("own")]},
        "status": {"conditions": [condition]}});
    journal.commit("scheduler", "modified", "pods", "app", &pod);
    journal.deliver("pods", "app", "modified");
    let annotations = json!({"volume.kubernetes.io/selected-node": "n1"});
    let shared = json!({"metadata": {"annotations": annotations}});
    journal.commit(
        "scheduler",
        "modified",
        "persistentvolumeclaims",
        "shared",
        &shared,
    );
    journal.change("modified");
    journal.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn all_changes_since_the_rejection_are_listed() {
    let mut journal = journal_with_rejected_pod();
    journal.change("modified");
    journal.deliver("csidrivers", "disk.example.com", "modified");
    journal.commit("harness", "modified", "nodes", "n1", &json!({}));
    journal.deliver("nodes", "n1", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "pod app is tried again: not since the update of csidrivers disk.example.com and the update of nodes n1; last refusal: no room"
    );
}

#[test]
fn undelivered_changes_followed_by_a_later_one_are_ignored() {
    let mut journal = journal_with_rejected_pod();
    journal.commit("harness", "added", "csidrivers", "other.example.com", &json!({}));
    journal.commit(
        "operator",
        "deleted",
        "csidrivers",
        "other.example.com",
        &json!({}),
    );
    journal.change("modified");
    journal.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn changes_delivered_before_the_rejection_require_no_retry() {
    let mut journal = journal_with_rejected_pod();
    journal.change("modified");
    journal.deliver("csidrivers", "disk.example.com", "modified");
    journal.reject_pod("still no room");
    journal.deliver("pods", "app", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "a node is chosen for pod app: refused: still no room"
    );
}

#[test]
fn a_new_watch_informs_about_deletions() {
    for (code, missing) in [
        (
            503,
            "the delete of csidrivers disk.example.com delivered to the scheduler: never",
        ),
        (
            200,
            "pod app is tried again: not since the delete of csidrivers disk.example.com; last refusal: no room",
        ),
    ] {
        let mut journal = journal_with_rejected_pod();
        journal.change("deleted");
        journal.begin_watch(code);
        assert_eq!(journal.first_missing_event(), missing);
    }
    // A new watch sends an event for each existing object.
    let mut journal = journal_with_rejected_pod();
    journal.change("modified");
    journal.begin_watch(200);
    assert_eq!(
        journal.first_missing_event(),
        "the update of csidrivers disk.example.com delivered to the scheduler: never"
    );
}

#[test]
fn insufficient_reported_capacity_is_the_missing_link() {
    let room = "capacity for 10Gi of fast is published for node n1";
    for (reported, published, missing) in [
        (
            Some(5 << 30),
            "5Gi",
            format!("{room}: the driver reported 5Gi for n1"),
        ),
        // Without GetCapacity calls, no publisher is running.
        (
            None,
            "5Gi",
            "pod app is tried again: not since the create of csidrivers disk.example.com".to_owned(),
        ),
        // With sufficient capacity, the scheduler must retry the pod.
        (
            Some(20 << 30),
            "20Gi",
            "pod app is tried again: not since the create of csidrivers disk.example.com".to_owned(),
        ),
    ] {
        let mut journal = journal_with_rejected_pod();
        journal.create_capacity_check_objects();
        if let Some(reported) = reported {
            journal.get_capacity_returning(reported);
        }
        journal.publish_capacity(published);
        let link = journal.first_missing_event();
        assert!(link.starts_with(&missing), "{link}");
    }
}

#[test]
fn a_missing_topology_label_of_the_node_is_the_missing_link() {
    let mut journal = journal_with_rejected_pod();
    journal.create_capacity_check_objects();
    journal.get_capacity_returning(5 << 30);
    journal.commit(
        "harness",
        "modified",
        "nodes",
        "n1",
        &json!({"metadata": {"labels": {}}}),
    );
    journal.deliver("nodes", "n1", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "capacity for 10Gi of fast is published for node n1: node n1 lacks the label disk.example.com/node, a topology key \
         of disk.example.com in CSINode n1"
    );
}

#[test]
fn a_volume_created_elsewhere_and_the_following_rejection_are_links() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "w"}));
    journal.deliver("pods", "app", "modified");
    journal.create_capacity_check_objects();
    let bound = json!({"metadata": {"uid": "u", "annotations": {"volume.kubernetes.io/selected-node": "n2"}},
        "status": {"phase": "Bound"}});
    journal.commit("scheduler", "modified", "persistentvolumeclaims", "app-0", &bound);
    journal.record(
        json!({"fact": "call", "method": "CreateVolume", "node": null, "segment": "n2", "parameters": {}, "volume": "pvc-u",
            "requiredBytes": 1, "code": "OK", "message": null, "available": null, "maximum": null,
            "volumeId": "v1", "placed": {"segment": "n2", "bytes": 1}}),
    );
    journal.reject_pod("node(s) didn't match PersistentVolume's node affinity");
    journal.deliver("pods", "app", "modified");
    assert_eq!(
        journal.first_missing_event(),
        "n1 is chosen for pod app: n2 was chosen, and the pod is refused: node(s) didn't match PersistentVolume's node affinity"
    );
    let verdict = journal.judge.verdict();
    let links = &verdict.failure().expect("failure").chain.links;
    let links: Vec<&str> = links.iter().map(|link| link.text.as_str()).collect();
    let [.., chosen, made, refused, _] = links.as_slice() else {
        panic!("{links:?}");
    };
    assert_eq!(
        (*chosen, *made, *refused),
        (
            "n2 chosen for the claims of pod app",
            "the volume of claim app-0 is created in segment n2",
            "pod app rejected by the scheduler"
        )
    );
}
