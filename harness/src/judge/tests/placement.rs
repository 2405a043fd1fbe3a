//! Which link is missing where a pod waits that should not: it was not told, it was not tried again, or it was refused.

use serde_json::json;

use super::*;

/// A pod that was refused, of which a case demands that it is placed.
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

    /// The case changes what a scheduler may wait for.
    fn change(&mut self, change: &str) {
        self.commit("harness", change, "csidrivers", "disk.example.com", &json!({}));
    }

    /// The scheduler begins to watch with what is there now.
    fn begin_watch(&mut self, code: u16) {
        self.tell(
            json!({"fact": "request", "client": "scheduler", "verb": "watch", "resource": "csidrivers",
            "namespace": null, "name": null, "code": code, "message": null, "revision": self.seq}),
        );
    }

    /// The objects by which capacity decides about the pod: it wants 10Gi of `fast`.
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

    /// The first missing link, when nothing more happens.
    fn missing(&mut self) -> String {
        while self.judge.failure.is_none() {
            self.next_bound();
        }
        let verdict = self.judge.verdict();
        let failure = verdict.failure().expect("it has failed");
        let link = failure.chain.first_missing().expect("a link is missing");
        format!("{}: {}", link.text, link.note)
    }
}

#[test]
fn what_came_after_the_refusal_should_have_let_the_pod_be_tried_again() {
    let mut story = refused();
    story.change("modified");
    story.deliver("csidrivers", "disk.example.com", "modified");
    assert_eq!(
        story.missing(),
        "pod app is tried again: not since the update of csidrivers disk.example.com; last refusal: no room"
    );
}

#[test]
fn a_node_that_another_pod_has_for_a_claim_of_both_is_none_for_the_pod() {
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
fn all_that_came_since_is_named() {
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
fn what_came_before_the_last_that_was_heard_of_an_object_needs_not_be_heard() {
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
fn what_the_scheduler_knew_when_it_refused_the_pod_did_not_help() {
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
fn what_is_gone_is_known_from_a_watch_that_begins_without_it() {
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
    // What is there is told by an event, or it is not there.
    let mut story = refused();
    story.change("modified");
    story.begin_watch(200);
    assert_eq!(
        story.missing(),
        "the update of csidrivers disk.example.com delivered to the scheduler: never"
    );
}

#[test]
fn a_driver_that_reports_too_little_is_the_cause_and_not_the_scheduler() {
    let room = "room for 10Gi of fast published where n1 is";
    for (reported, published, missing) in [
        (
            Some(5 << 30),
            "5Gi",
            format!("{room}: the driver reported 5Gi for n1"),
        ),
        // Where nothing calls GetCapacity, no publisher is at work.
        (
            None,
            "5Gi",
            "pod app is tried again: not since the create of csidrivers disk.example.com".to_owned(),
        ),
        // With room for it, the pod has to be tried again.
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
fn a_label_that_the_node_lacks_is_the_cause() {
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
fn a_volume_that_was_made_elsewhere_and_the_refusal_that_follows_are_links() {
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
    let links = &verdict.failure().expect("it has failed").chain.links;
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
