//! The `ends` expectation: a program exits by itself, with or without the expected text.

use serde_json::{Value, json};

use super::{Story, steps};
use crate::judge::Verdict;

/// A step in which the publisher must exit, and a second step.
fn story() -> Story {
    let end = json!({"ends": {"publisher": "NAMESPACE"}, "why": "w"});
    let write = json!({"never": {"write": "delete nodes"}, "why": "w"});
    steps(&json!([{"id": "a", "expect": [end]}, {"id": "b", "expect": [write]}]))
}

fn exited(lines: &[&str]) -> Value {
    let words = json!({"isReason": false, "lines": lines});
    json!({"fact": "process", "client": "publisher", "role": "publisher",
        "event": {"exited": {"how": "exit status: 1", "lastWords": words}}})
}

fn summary(story: &Story) -> String {
    match story.judge.verdict() {
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
    let mut story = story();
    story.tell(exited(&["starting", "error: NAMESPACE is not set"]));
    assert!(story.is_done_when_quiet());
}

#[test]
fn an_exit_with_another_text_fails() {
    let mut story = story();
    story.tell(exited(&["no such file"]));
    let told = summary(&story);
    assert!(
        told.starts_with(
            "it exited with a different message; the publisher exits with “NAMESPACE”: publisher ended by itself"
        ),
        "{told}"
    );
}

#[test]
fn a_program_that_keeps_running_fails() {
    let mut story = story();
    story.next_bound();
    let told = summary(&story);
    assert!(
        told.ends_with("the publisher exits: it is still running"),
        "{told}"
    );
}

#[test]
fn an_exit_in_another_step_fails() {
    let mut story = story();
    story.tell(exited(&["NAMESPACE"]));
    assert!(story.is_done_when_quiet());
    story.tell(json!({"fact": "stepStarted", "step": 1}));
    story.tell(exited(&["NAMESPACE"]));
    let told = summary(&story);
    assert!(
        told.starts_with("publisher ended by itself: exit status: 1"),
        "{told}"
    );
}
