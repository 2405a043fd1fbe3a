//! Tests that duplicate objects are a finding if two workers may have raced, otherwise a failure of the case.

use super::*;

fn object(uid: &str, class: &str) -> Value {
    json!({"metadata": {"uid": uid}, "storageClassName": class, "nodeTopology": {"matchLabels": {"node": "n1"}}})
}

fn commit_capacity_object(journal: &mut TestJournal, client: &str, change: &str, uid: &str, class: &str) {
    journal.commit(client, change, "csistoragecapacities", uid, &object(uid, class));
}

fn journal_expecting_at_most_one_object() -> TestJournal {
    let write = json!({"write": "create csistoragecapacities"});
    journal(&json!({"count": {"of": write, "min": 1, "max": 1}, "why": "because"}))
}

fn finding_rules(journal: &TestJournal) -> Vec<&'static str> {
    let found = findings(journal.judge.plan, journal.judge.facts());
    let named = found.iter().filter(|it| it.rule == "object-twice");
    named.map(|it| it.rule).collect()
}

#[test]
fn a_duplicate_in_the_same_refresh_is_a_finding_and_no_failure() {
    let mut journal = journal_expecting_at_most_one_object();
    commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
    commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert!(journal.is_done_when_quiet());
    assert_eq!(finding_rules(&journal), ["object-twice"]);
}

#[test]
fn deleting_a_duplicate_does_not_count_but_deleting_the_last_object_does() {
    let delete = json!({"never": {"write": "delete csistoragecapacities"}, "why": "because"});
    let mut journal = journal(&delete);
    commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
    commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
    commit_capacity_object(&mut journal, "publisher", "deleted", "a", "fast");
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: false });
    commit_capacity_object(&mut journal, "publisher", "deleted", "b", "fast");
    assert_eq!(journal.judge.progress(), Progress::Failed);
}

#[test]
fn objects_differing_in_class_or_publisher_are_not_duplicates() {
    for (client, class) in [("publisher", "slow"), ("publisher@n2", "fast")] {
        let mut journal = journal_expecting_at_most_one_object();
        commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
        commit_capacity_object(&mut journal, client, "added", "b", class);
        assert_eq!(journal.judge.progress(), Progress::Failed, "{client} {class}");
        assert!(finding_rules(&journal).is_empty());
    }
}

#[test]
fn a_second_object_in_a_later_refresh_after_a_restart_or_fault_fails_the_case() {
    let started = json!({"fact": "process", "client": "publisher", "role": "publisher", "event": "started"});
    let fault = json!({"fact": "fault", "rule": 1, "client": "publisher", "effect": {"holdWatch": {}}, "verb": "watch", "legal": true});
    let later = json!({"fact": "lag", "late_us": 1_000});
    for (happens, microseconds) in [(later, 110_000), (started, 0), (fault, 0)] {
        let mut journal = journal_expecting_at_most_one_object();
        commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
        journal.at_us += microseconds;
        journal.record(happens);
        commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
        assert_eq!(journal.judge.progress(), Progress::Failed);
        assert!(finding_rules(&journal).is_empty());
    }
}

#[test]
fn watch_events_of_duplicates_are_not_counted() {
    let deletion = json!({"delivery": "delete csistoragecapacities", "by": "publisher"});
    let mut journal = journal(&json!({"never": deletion, "why": "because"}));
    commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
    commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
    commit_capacity_object(&mut journal, "publisher", "deleted", "a", "fast");
    let revision = journal.seq - 1;
    journal.record(json!({"fact": "delivery", "client": "publisher", "change": "deleted", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "a", "revision": revision}));
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: false });
    journal.record(json!({"fact": "delivery", "client": "publisher", "change": "deleted", "resource": "csistoragecapacities",
        "namespace": "csi", "name": "b", "revision": 99}));
    assert_eq!(journal.judge.progress(), Progress::Failed);
}

#[test]
fn recreating_an_object_in_every_refresh_fails_the_case() {
    let mut journal = journal_expecting_at_most_one_object();
    for (before, uid) in [("", "a"), ("a", "b"), ("b", "c"), ("c", "d")] {
        commit_capacity_object(&mut journal, "publisher", "added", uid, "fast");
        if !before.is_empty() {
            commit_capacity_object(&mut journal, "publisher", "deleted", before, "fast");
        }
        journal.at_us += 90_000;
    }
    assert_eq!(journal.judge.progress(), Progress::Failed);
}

#[test]
fn harness_lag_extends_the_time_for_duplicates() {
    let mut journal = journal_expecting_at_most_one_object();
    commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
    journal.at_us += 110_000;
    journal.record(json!({"fact": "lag", "late_us": 20_000}));
    commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert!(journal.is_done_when_quiet());
    assert_eq!(finding_rules(&journal), ["object-twice"]);
}

#[test]
fn objects_modified_by_another_client_have_no_duplicates() {
    let mut journal = journal_expecting_at_most_one_object();
    commit_capacity_object(&mut journal, "publisher", "added", "a", "fast");
    commit_capacity_object(&mut journal, "harness", "modified", "a", "fast");
    commit_capacity_object(&mut journal, "publisher", "added", "b", "fast");
    assert_eq!(journal.judge.progress(), Progress::Failed);
    assert!(finding_rules(&journal).is_empty());
}
