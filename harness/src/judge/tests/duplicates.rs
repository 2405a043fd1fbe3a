//! Objects made twice at once: a finding where the program's own haste is to blame, a failure of the case where it is not.

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
fn what_is_made_twice_in_one_refresh_is_a_finding_and_no_failure() {
    let mut story = at_most_one();
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    story.refuse("full");
    story.ask(3);
    assert!(story.is_done_when_quiet());
    assert_eq!(found(&story), ["object-twice"]);
}

#[test]
fn one_of_two_may_be_deleted_and_the_last_may_not() {
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
fn another_class_another_publisher_and_another_object_are_no_second_one() {
    for (client, class) in [("publisher", "slow"), ("publisher@n2", "fast")] {
        let mut story = at_most_one();
        capacity(&mut story, "publisher", "added", "a", "fast");
        capacity(&mut story, client, "added", "b", class);
        assert_eq!(story.judge.progress(), Progress::Failed, "{client} {class}");
        assert!(found(&story).is_empty());
    }
}

#[test]
fn what_is_made_again_later_after_a_restart_or_behind_a_fault_fails_the_case() {
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
fn watch_events_of_a_second_object_are_not_counted_either() {
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
fn a_publisher_that_makes_its_object_anew_in_each_refresh_fails_the_case() {
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
fn on_a_busy_host_a_second_object_may_come_later() {
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
fn what_somebody_else_has_changed_may_be_made_anew() {
    let mut story = at_most_one();
    capacity(&mut story, "publisher", "added", "a", "fast");
    capacity(&mut story, "harness", "modified", "a", "fast");
    capacity(&mut story, "publisher", "added", "b", "fast");
    assert_eq!(story.judge.progress(), Progress::Failed);
    assert!(found(&story).is_empty());
}
