//! A single monitor: when its condition becomes true, how long it must hold, and when it fails.

use super::*;
use crate::judge::Reason;

fn reason(story: &Story) -> Option<Reason> {
    story
        .judge
        .monitors
        .iter()
        .find_map(|monitor| match monitor.phase {
            Phase::Failed(reason) => Some(reason),
            _ => None,
        })
}

/// The publisher creates an object for another class.
fn write(story: &mut Story) {
    let object = json!({"metadata": {}, "storageClassName": format!("class-{}", story.seq)});
    story.commit("publisher", "added", "csistoragecapacities", "c", &object);
}

#[test]
fn a_state_that_is_lost_must_become_true_again() {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    story.place();
    assert_eq!(story.judge.progress(), Progress::Running { quiet: true });
    let gone = pod(None, &json!({}));
    story.commit("scheduler", "modified", "pods", "app", &gone);
    assert_eq!(story.judge.progress(), Progress::Running { quiet: false });
    assert_eq!(reason(&story), None);
    story.place();
    assert!(story.is_done_when_quiet());
    assert!(matches!(story.judge.verdict(), Verdict::Pass));
}

#[test]
fn always_requires_the_state_once_the_actions_are_done() {
    let always = json!({"claims": {"app-0": "bound"}, "always": true, "stays": "1s", "why": "because"});
    let mut late = story(&always);
    late.place();
    assert_eq!(
        reason(&late),
        Some(Reason::Violated),
        "not true once the actions were done"
    );
}

#[test]
fn a_hold_ends_after_its_rounds_or_time() {
    let rounds = json!({"placement": {"app": "n1"}, "stays": "2 rounds", "why": "because"});
    let mut story = story(&rounds);
    story.place();
    story.ask(2);
    assert!(!story.is_done_when_quiet(), "the first call does not count");
    story.ask(1);
    assert!(story.is_done_when_quiet());
    let time = json!({"placement": {"app": "n1"}, "stays": "700ms", "why": "because"});
    let mut story = super::story(&time);
    story.place();
    let (at, bound) = story.judge.next_bound().expect("pending hold");
    assert_eq!(bound.bound, BoundKind::Hold);
    assert_eq!(at.as_micros(), u128::from(story.at_us + 700_000));
    assert!(!story.is_done_when_quiet());
    story.next_bound();
    assert!(story.is_done_when_quiet());
}

#[test]
fn a_count_fails_at_the_first_fact_above_its_maximum() {
    let expect = json!({"count": {"of": {"write": "create csistoragecapacities"}, "min": 1, "max": 2}, "why": "because"});
    let mut story = story(&expect);
    write(&mut story);
    write(&mut story);
    assert_eq!(reason(&story), None);
    write(&mut story);
    assert_eq!(reason(&story), Some(Reason::Violated));
    let verdict = story.judge.verdict();
    let failure = verdict.failure().expect("failure above the maximum");
    assert!(
        failure.summary.ends_with("was seen 3 times; at most 2 allowed"),
        "{}",
        failure.summary
    );
    assert_eq!(failure.decided_by, story.seq - 1);
}

#[test]
fn an_order_requires_its_facts_in_sequence() {
    let order = json!({"order": [{"write": "create csistoragecapacities"}, {"write": "update pods"}], "why": "because"});
    let mut story = story(&order);
    story.place();
    write(&mut story);
    assert_eq!(
        story.judge.progress(),
        Progress::Running { quiet: false },
        "the facts occurred in the wrong order"
    );
    story.place();
    assert!(story.is_done_when_quiet());
}

#[test]
fn never_without_its_after_fact_fails_for_lack_of_evidence() {
    let never =
        json!({"never": {"call": "CreateVolume", "after": {"write": "delete csinodes"}}, "why": "because"});
    let mut story = story(&never);
    story.refuse("full");
    story.ask(3);
    assert_eq!(story.next_bound(), BoundKind::Within);
    assert_eq!(reason(&story), Some(Reason::NoEvidence));
    let verdict = story.judge.verdict();
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
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    story.tell(json!({"fact": "bound", "step": 1, "expect": 0, "bound": "within"}));
    story.tell(json!({"fact": "bound", "step": 0, "expect": 1, "bound": "within"}));
    assert_eq!(reason(&story), None);
    story.tell(json!({"fact": "bound", "step": 0, "expect": 0, "bound": "within"}));
    assert_eq!(reason(&story), Some(Reason::Late));
}

#[test]
fn an_incomplete_journal_fails() {
    let story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    let Verdict::Fail(failure) = story.judge.verdict() else {
        panic!("no failure");
    };
    assert_eq!(failure.summary, "the journal ends before the case was decided");
}

#[test]
fn a_stored_journal_has_the_same_verdict_as_the_run() {
    let mut story = story(&json!({"placement": {"app": "n1"}, "why": "because"}));
    story.refuse("full");
    story.ask(3);
    story.next_bound();
    let live = story.judge.verdict();
    let again = verdict(story.judge.plan, story.judge.facts().to_vec());
    let summary = |verdict: &Verdict| verdict.failure().map(|failure| failure.summary.clone());
    assert_eq!(summary(&live), summary(&again));
    assert!(summary(&live).is_some());
}
