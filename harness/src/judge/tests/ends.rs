//! Tests the `ends` expectation: a program exits on its own, with or without the expected text.

use serde_json::{Value, json};

use super::{TestJournal, journal_of_steps};
use crate::judge::Verdict;

/// A journal with two steps. In the first, the publisher must exit.
fn journal() -> TestJournal {
    let end = json!({"ends": {"publisher": "NAMESPACE"}, "why": "w"});
    let write = json!({"never": {"write": "delete nodes"}, "why": "w"});
    journal_of_steps(&json!([{"id": "a", "expect": [end]}, {"id": "b", "expect": [write]}]))
}

fn exited(lines: &[&str]) -> Value {
    let words = json!({"isReason": false, "lines": lines});
    json!({"fact": "process", "client": "publisher", "role": "publisher",
        "event": {"exited": {"how": "exit status: 1", "lastWords": words}}})
}

fn summary(journal: &TestJournal) -> String {
    match journal.judge.verdict() {
        Verdict::Fail(failure) => {
            let missing = failure.chain.first_missing();
            let missing = missing.map(|link| format!("{}: {}", link.text, link.note));
            format!("{}; {}", failure.summary, missing.unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn an_exit_with_the_expected_text_passes() {
    let mut journal = journal();
    journal.record(exited(&["starting", "error: NAMESPACE is not set"]));
    assert!(journal.is_done_when_quiet());
}

#[test]
fn an_exit_with_another_text_fails() {
    let mut journal = journal();
    journal.record(exited(&["no such file"]));
    let text = summary(&journal);
    assert!(
        text.starts_with(
            "it exited with a different message; the publisher exits with “NAMESPACE”: publisher ended by itself"
        ),
        "{text}"
    );
}

#[test]
fn a_program_that_keeps_running_fails() {
    let mut journal = journal();
    journal.next_bound();
    let text = summary(&journal);
    assert!(
        text.ends_with("the publisher exits: it is still running"),
        "{text}"
    );
}

#[test]
fn an_exit_in_another_step_fails() {
    let mut journal = journal();
    journal.record(exited(&["NAMESPACE"]));
    assert!(journal.is_done_when_quiet());
    journal.record(json!({"fact": "stepStarted", "step": 1}));
    journal.record(exited(&["NAMESPACE"]));
    let text = summary(&journal);
    assert!(
        text.starts_with("publisher ended by itself: exit status: 1"),
        "{text}"
    );
}
