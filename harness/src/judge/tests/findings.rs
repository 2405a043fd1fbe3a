//! Tests facts that must not cause a finding, and repeated watches of one resource.

use super::*;

#[test]
fn a_request_cut_off_by_the_end_of_its_program_is_no_finding() {
    let request = json!({"fact": "request", "client": "publisher", "verb": "update", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "a", "code": 400, "message": "the request body could not be read", "revision": null});
    let stopped = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "stopped"});
    let started = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "started"});
    for (next, count) in [(stopped, 0), (started, 1), (request.clone(), 2)] {
        let mut journal = journal(&json!({"claims": {"app-0": "pending"}, "why": "because"}));
        journal.record(request.clone());
        journal.record(next);
        let found = findings(journal.judge.plan, journal.judge.facts());
        let invalid = found.iter().find(|it| it.rule == "api-invalid");
        assert_eq!(invalid.map_or(0, |it| it.count), count);
    }
}

#[test]
fn receiving_the_same_watch_events_twice_is_a_finding() {
    let watch = json!({"fact": "request", "client": "publisher", "verb": "watch", "resource": "storageclasses",
        "namespace": null, "name": null, "code": 200, "message": null, "revision": 1});
    let event = |revision: u64| {
        json!({"fact": "delivery", "client": "publisher", "change": "modified", "resource": "storageclasses",
            "namespace": null, "name": "fast", "revision": revision})
    };
    let count = |again: bool| {
        let mut journal = journal(&json!({"claims": {"app-0": "pending"}, "why": "because"}));
        journal.record(watch.clone());
        (2..8).for_each(|revision| journal.record(event(revision)));
        if again {
            // A restarted watch may send events of the previous watch again.
            journal.record(watch.clone());
        }
        (2..8).for_each(|revision| journal.record(event(revision)));
        let found = findings(journal.judge.plan, journal.judge.facts());
        found.iter().filter(|it| it.rule == "watch-twice").count()
    };
    assert_eq!((count(false), count(true)), (1, 0));
}

#[test]
fn a_patch_rejected_by_its_uid_precondition_is_no_finding() {
    let patch = |field: &str| {
        json!({"fact": "request", "client": "scheduler", "verb": "patch", "resource": "pods/status", "namespace": "default",
            "name": "app", "code": 422, "revision": null,
            "message": format!("Pod \"app\" is invalid: {field}: Invalid value: \"a\": field is immutable")})
    };
    let count = |field: &str| {
        let mut journal = journal(&json!({"claims": {"app-0": "pending"}, "why": "because"}));
        journal.record(patch(field));
        let found = findings(journal.judge.plan, journal.judge.facts());
        found.iter().filter(|it| it.rule == "api-invalid").count()
    };
    assert_eq!((count("metadata.uid"), count("metadata.name")), (0, 1));
}
