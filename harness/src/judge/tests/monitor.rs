//! Tests a single monitor: when the condition of its expectation becomes true, how long it must hold, and when the expectation fails.

use super::*;
use crate::judge::Reason;

fn reason(journal: &TestJournal) -> Option<Reason> {
    journal
        .judge
        .monitors
        .iter()
        .find_map(|monitor| match monitor.phase {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        })
}

fn create_object_of_other_class(journal: &mut TestJournal) {
    let object = json!({"metadata": {}, "storageClassName": format!("class-{}", journal.seq)});
    journal.commit("publisher", "added", "csistoragecapacities", "c", &object);
}

#[test]
fn a_state_that_is_lost_must_become_true_again() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    journal.bind_pod();
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: true });
    let gone = pod(None, &json!({}));
    journal.commit("scheduler", "modified", "pods", "app", &gone);
    assert_eq!(journal.judge.progress(), Progress::Running { quiet: false });
    assert_eq!(reason(&journal), None);
    journal.bind_pod();
    assert!(journal.is_done_when_quiet());
    assert!(matches!(journal.judge.verdict(), Verdict::Pass));
}

#[test]
fn always_requires_the_state_once_the_actions_are_done() {
    let always = json!({"claims": {"app-0": "bound"}, "always": true, "stays": "1s", "why": "because"});
    let mut late = journal(&always);
    late.bind_pod();
    assert_eq!(
        reason(&late),
        Some(Reason::Violated),
        "not true once the actions were done"
    );
}

#[test]
fn a_hold_ends_after_its_rounds_or_time() {
    let rounds = json!({"placement": {"app": "n1"}, "stays": "2 rounds", "why": "because"});
    let mut journal = journal(&rounds);
    journal.bind_pod();
    journal.get_capacity(2);
    assert!(!journal.is_done_when_quiet(), "the first call does not count");
    journal.get_capacity(1);
    assert!(journal.is_done_when_quiet());
    let time = json!({"placement": {"app": "n1"}, "stays": "700ms", "why": "because"});
    let mut journal = super::journal(&time);
    journal.bind_pod();
    let (at, bound) = journal.judge.next_bound().expect("pending hold");
    assert_eq!(bound.bound, DeadlineKind::Hold);
    assert_eq!(at.as_micros(), u128::from(journal.at_us + 700_000));
    assert!(!journal.is_done_when_quiet());
    journal.next_bound();
    assert!(journal.is_done_when_quiet());
}

#[test]
fn a_count_fails_at_the_first_fact_above_its_maximum() {
    let expect = json!({"count": {"of": {"write": "create csistoragecapacities"}, "min": 1, "max": 2}, "why": "because"});
    let mut journal = journal(&expect);
    create_object_of_other_class(&mut journal);
    create_object_of_other_class(&mut journal);
    assert_eq!(reason(&journal), None);
    create_object_of_other_class(&mut journal);
    assert_eq!(reason(&journal), Some(Reason::Violated));
    let verdict = journal.judge.verdict();
    let failure = verdict.failure().expect("failure above the maximum");
    assert!(
        failure.summary.ends_with("was seen 3 times; at most 2 allowed"),
        "{}",
        failure.summary
    );
    assert_eq!(failure.decided_by, journal.seq - 1);
}

#[test]
fn an_order_requires_its_facts_in_sequence() {
    let order = json!({"order": [{"write": "create csistoragecapacities"}, {"write": "update pods"}], "why": "because"});
    let mut journal = journal(&order);
    journal.bind_pod();
    create_object_of_other_class(&mut journal);
    assert_eq!(
        journal.judge.progress(),
        Progress::Running { quiet: false },
        "the facts occurred in the wrong order"
    );
    journal.bind_pod();
    assert!(journal.is_done_when_quiet());
}

#[test]
fn never_without_its_after_fact_fails_for_lack_of_evidence() {
    let never =
        json!({"never": {"call": "CreateVolume", "after": {"write": "delete csinodes"}}, "why": "because"});
    let mut journal = journal(&never);
    journal.reject_pod("full");
    journal.get_capacity(3);
    assert_eq!(journal.next_bound(), DeadlineKind::Within);
    assert_eq!(reason(&journal), Some(Reason::NoEvidence));
    let verdict = journal.judge.verdict();
    let failure = verdict.failure().expect("failure for lack of evidence");
    let summary = &failure.summary;
    assert!(
        summary.starts_with("no evidence: delete of csinodes"),
        "{summary}"
    );
    let missing = failure.chain.first_missing().expect("missing link");
    assert_eq!(
        (&*missing.text, &*missing.note),
        ("delete of csinodes", "never seen")
    );
}

#[test]
fn bounds_of_other_steps_and_expectations_are_ignored() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    journal.record(json!({"fact": "bound", "step": 1, "expect": 0, "bound": "within"}));
    journal.record(json!({"fact": "bound", "step": 0, "expect": 1, "bound": "within"}));
    assert_eq!(reason(&journal), None);
    journal.record(json!({"fact": "bound", "step": 0, "expect": 0, "bound": "within"}));
    assert_eq!(reason(&journal), Some(Reason::Timeout));
}

#[test]
fn an_incomplete_journal_fails() {
    let journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    let Verdict::Fail(failure) = journal.judge.verdict() else {
        panic!("no failure");
    };
    assert_eq!(failure.summary, "the journal ends before the case was decided");
}

#[test]
fn a_stored_journal_has_the_same_verdict_as_the_run() {
    let mut journal = journal(&json!({"placement": {"app": "n1"}, "why": "because"}));
    journal.reject_pod("full");
    journal.get_capacity(3);
    journal.next_bound();
    let live = journal.judge.verdict();
    let again = verdict(journal.judge.plan, journal.judge.facts().to_vec());
    let summary = |verdict: &Verdict| verdict.failure().map(|failure| failure.summary.clone());
    assert_eq!(summary(&live), summary(&again));
    assert!(summary(&live).is_some());
}
