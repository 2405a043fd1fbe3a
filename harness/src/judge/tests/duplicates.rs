//! Duplicate objects: a finding if two workers may have raced, otherwise a failure of the case.

use super::*;

fn object(uid: &str, class: &str) -> Value {
    json!({"metadata": {"uid": uid}, "storageClassName": class, "nodeTopology": {"matchLabels": {"node": "n1"}}})
}

fn capacity(story: &mut Story, client: &str, change: &str, uid: &str, class: &str) {
    story.commit(client, change, "csistoragecapacities", uid, &object(uid, class));
}

fn at_most_one() -> Story {
    let write = json!({"write": "create csistoragecapacities"});
    story(&json!({"count": {"of": write, "min": 1, "max": 1}, "why": "because"}))
}

fn found(story: &Story) -> Vec<&'static str> {
    let found = findings(story.judge.plan, story.judge.facts());
    let named = found.iter().filter(|it| it.rule == "object-twice");
    named.map(|it| it.rule).collect()
}

#[test]
fn a_duplicate_in_the_same_refresh_is_a_finding_and_no_failure() {
    let mut story = at_most_one();
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    story.refuse("full");
    story.ask(3);
    assert!(story.is_done_when_quiet());
    assert_eq!(found(&story), ["object-twice"]);
}

#[test]
fn deleting_a_duplicate_does_not_count_but_deleting_the_last_object_does() {
    let delete = json!({"never": {"write": "delete csistoragecapacities"}, "why": "because"});
    let mut story = story(&delete);
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    capacity(&mut story, "publisher", "deleted", "a", "fast");
    assert_eq!(story.judge.progress(), Progress::Running { quiet: false });
    capacity(&mut story, "publisher", "deleted", "b", "fast");
    assert_eq!(story.judge.progress(), Progress::Failed);
}

#[test]
fn objects_differing_in_class_or_publisher_are_not_duplicates() {
    for (client, class) in [("publisher", "slow"), ("publisher@n2", "fast")] {
        let mut story = at_most_one();
        capacity(&mut story, "publisher", "added", "a", "fast");
        capacity(&mut story, client, "added", "b", class);
        assert_eq!(story.judge.progress(), Progress::Failed, "{client} {class}");
        assert!(found(&story).is_empty());
    }
}

#[test]
fn a_second_object_in_a_later_refresh_after_a_restart_or_fault_fails_the_case() {
    let started = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "started"});
    let fault = json!({"fact": "fault", "rule": 1, "client": "publisher", "effect": {"holdWatch": {}}, "verb": "watch", "legal": true});
    let later = json!({"fact": "lag", "late_us": 1_000});
    for (happens, microseconds) in [(later, 110_000), (started, 0), (fault, 0)] {
        let mut story = at_most_one();
        capacity(&mut story, "publisher", "added", "a", "fast");
        story.at_us += microseconds;
        story.tell(happens);
        capacity(&mut story, "publisher", "added", "b", "fast");
        assert_eq!(story.judge.progress(), Progress::Failed);
        assert!(found(&story).is_empty());
    }
}

#[test]
fn watch_events_of_duplicates_are_not_counted() {
    let deletion = json!({"delivery": "delete csistoragecapacities", "by": "publisher"});
    let mut story = story(&json!({"never": deletion, "why": "because"}));
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    capacity(&mut story, "publisher", "deleted", "a", "fast");
    let revision = story.seq - 1;
    story.tell(json!({"fact": "delivery", "client": "publisher", "change": "deleted", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "a", "revision": revision}));
    assert_eq!(story.judge.progress(), Progress::Running { quiet: false });
    story.tell(json!({"fact": "delivery", "client": "publisher", "change": "deleted", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "b", "revision": 99}));
    assert_eq!(story.judge.progress(), Progress::Failed);
}

#[test]
fn recreating_an_object_in_every_refresh_fails_the_case() {
    let mut story = at_most_one();
    for (before, uid) in [("", "a"), ("a", "b"), ("b", "c"), ("c", "d")] {
        capacity(&mut story, "publisher", "added", uid, "fast");
        if !before.is_empty() {
            capacity(&mut story, "publisher", "deleted", before, "fast");
        }
        story.at_us += 90_000;
    }
    assert_eq!(story.judge.progress(), Progress::Failed);
}

#[test]
fn harness_lag_extends_the_time_for_duplicates() {
    let mut story = at_most_one();
    capacity(&mut story, "publisher", "added", "a", "fast");
    story.at_us += 110_000;
    story.tell(json!({"fact": "lag", "late_us": 20_000}));
    capacity(&mut story, "publisher", "added", "b", "fast");
    story.refuse("full");
    story.ask(3);
    assert!(story.is_done_when_quiet());
    assert_eq!(found(&story), ["object-twice"]);
}

#[test]
fn objects_modified_by_another_client_have_no_duplicates() {
    let mut story = at_most_one();
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "harness", "modified", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    assert_eq!(story.judge.progress(), Progress::Failed);
    assert!(found(&story).is_empty());
}
