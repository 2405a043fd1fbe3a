//! The first missing link if a pod is not placed: a watch event was not delivered, the pod was not retried, or it was rejected.

use serde_json::json;

use super::*;

/// A rejected pod that the case expects to be placed.
fn refused() -> Story {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "w"}));
    story.refuse("no room");
    story.deliver("pods", "app", "modified");
    story
}

impl Story {
    fn deliver(&mut self, resource: &str, name: &str, change: &str) {
        self.tell(
            json!({"fact": "delivery", "client": "scheduler", "change": change, "resource": resource,
            "namespace": null, "name": name, "revision": self.seq}),
        );
    }

    /// The harness changes an object that may requeue the pod.
    fn change(&mut self, change: &str) {
        self.commit("harness", change, "csidrivers", "disk.example.com", &json!({}));
    }

    /// The scheduler starts a watch at the current revision.
    fn begin_watch(&mut self, code: u16) {
        self.tell(
            json!({"fact": "request", "client": "scheduler", "verb": "watch", "resource": "csidrivers",
            "namespace": null, "name": null, "code": code, "message": null, "revision": self.seq}),
        );
    }

    /// The objects on which capacity checks depend; the pod needs 10Gi of `fast`.
    fn cluster(&mut self) {
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
        self.news();
    }

    /// The first missing link if nothing else happens.
    fn missing(&mut self) -> String {
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
    let mut story = refused();
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        story.missing(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn the_selected_node_of_a_shared_pvc_does_not_count_for_a_rejected_pod() {
    let mut story = refused();
    let volume = |claim: &str| json!({"name": claim, "persistentVolumeClaim": {"claimName": claim}});
    let condition =
        json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"});
    let pod = json!({"metadata": {"name": "app"}, "spec": {"volumes": [volume("shared"), volume("own")]},
        "status": {"conditions": [condition]}});
    story.commit("scheduler", "modified", "pods", "app", &pod);
    story.deliver("pods", "app", "modified");
    let annotations = json!({"volume.kubernetes.io/selected-node": "n1"});
    let shared = json!({"metadata": {"annotations": annotations}});
    story.commit(
        "scheduler",
        "modified",
        "persistentvolumeclaims",
        "shared",
        &shared,
    );
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        story.missing(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn all_changes_since_the_rejection_are_listed() {
    let mut story = refused();
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    story.commit("harness", "modified", "nodes", "n1", &json!({}));
    story.deliver("nodes", "n1", "modified");
    assert_eq!(
        story.missing(),
        "pod app is tried again: not since the update of csidrivers disk.example.com and the update of nodes n1; last refusal: no room"
    );
}

#[test]
fn undelivered_changes_followed_by_a_later_one_are_ignored() {
    let mut story = refused();
    story.commit("harness", "added", "csidrivers", "other.example.com", &json!({}));
    story.commit(
        "operator",
        "deleted",
        "csidrivers",
        "other.example.com",
        &json!({}),
    );
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        story.missing(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn changes_delivered_before_the_rejection_require_no_retry() {
    let mut story = refused();
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    story.refuse("still no room");
    story.deliver("pods", "app", "modified");
    assert_eq!(
        story.missing(),
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
        let mut story = refused();
        story.change("deleted");
        story.begin_watch(code);
        assert_eq!(story.missing(), missing);
    }
    // A new watch informs about an existing object by an event.
    let mut story = refused();
    story.change("modified");
    story.begin_watch(200);
    assert_eq!(
        story.missing(),
        "the update of csidrivers disk.example.com delivered to the scheduler: never"
    );
}

#[test]
fn insufficient_reported_capacity_is_the_missing_link() {
    let room = "room for 10Gi of fast published where n1 is";
    for (reported, published, missing) in [
        (
            Some(5 << 30),
            "5Gi",
            format!("{room}: the driver reported 5Gi for n1"),
        ),
        // Without GetCapacity calls no publisher is at work.
        (
            None,
            "5Gi",
            "pod app is tried again: not since the create of csidrivers disk.example.com".to_owned(),
        ),
        // With sufficient capacity the pod must be retried.
        (
            Some(20 << 30),
            "20Gi",
            "pod app is tried again: not since the create of csidrivers disk.example.com".to_owned(),
        ),
    ] {
        let mut story = refused();
        story.cluster();
        if let Some(reported) = reported {
            story.hear(reported);
        }
        story.publish_capacity(published);
        let link = story.missing();
        assert!(link.starts_with(&missing), "{link}");
    }
}

#[test]
fn a_missing_topology_label_of_the_node_is_the_missing_link() {
    let mut story = refused();
    story.cluster();
    story.hear(5 << 30);
    story.commit(
        "harness",
        "modified",
        "nodes",
        "n1",
        &json!({"metadata": {"labels": {}}}),
    );
    story.deliver("nodes", "n1", "modified");
    assert_eq!(
        story.missing(),
        "room for 10Gi of fast published where n1 is: node n1 lacks the label disk.example.com/node, a topology key \
         of disk.example.com in CSINode n1"
    );
}

#[test]
fn a_volume_created_elsewhere_and_the_following_rejection_are_links() {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "w"}));
    story.deliver("pods", "app", "modified");
    story.cluster();
    let bound = json!({"metadata": {"uid": "u", "annotations": {"volume.kubernetes.io/selected-node": "n2"}},
        "status": {"phase": "Bound"}});
    story.commit("scheduler", "modified", "persistentvolumeclaims", "app-0", &bound);
    story.tell(
        json!({"fact": "call", "method": "CreateVolume", "node": null, "segment": "n2", "parameters": {}, "volume": "pvc-u",
            "requiredBytes": 1, "code": "OK", "message": null, "available": null, "maximum": null,
            "volumeId": "v1", "placed": {"segment": "n2", "bytes": 1}}),
    );
    story.refuse("node(s) didn't match PersistentVolume's node affinity");
    story.deliver("pods", "app", "modified");
    assert_eq!(
        story.missing(),
        "n1 is chosen for pod app: n2 was chosen, and the pod is refused: node(s) didn't match PersistentVolume's node affinity"
    );
    let verdict = story.judge.verdict();
    let links = &verdict.failure().expect("failure").chain.links;
    let links: Vec<&str> = links.iter().map(|link| link.text.as_str()).collect();
    let [.., chosen, made, refused, _] = links.as_slice() else {
        panic!("{links:?}");
    };
    assert_eq!(
        (*chosen, *made, *refused),
        (
            "n2 chosen for the claims of pod app",
            "the volume of claim app-0 is made at n2",
            "pod app refused by the scheduler"
        )
    );
}
