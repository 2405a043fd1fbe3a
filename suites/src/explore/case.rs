//! Writes case files for generated histories. Their expectations are the specification as a whole, or what it demands in each step, written
//! as explicit expectations.

use harness::oracle::RequiredState;
use serde_json::{Value, json};

use super::focus::{EXPLORED, Focus};
use super::history::{History, Step};
use super::text::{CaseHeader, ExcusedRules, Expectations, render_case};

/// The case of a generated history. In each step at whose end all programs are idle, the case expects the specification to hold.
pub fn case(focus: &Focus, seed: u64, history: &History) -> String {
    generated_case(focus, seed, history, &ExcusedRules::new())
}

/// The case of a generated history, like [`case`], but without the excused rules of the specification.
pub(super) fn generated_case(focus: &Focus, seed: u64, history: &History, excused: &ExcusedRules) -> String {
    let head = CaseHeader {
        id: &id(focus, seed),
        title: &format!("generated from seed {seed}, focus {focus}"),
        requirements: &[],
        excused,
        comment: &[],
    };
    specified_case(&head, history)
}

/// The case file with the specification as the expectation of each step at whose end all programs are idle.
pub(super) fn specified_case(head: &CaseHeader<'_>, history: &History) -> String {
    render_case(head, history, |_, step| match step.is_idle {
        true => Expectations::Specification,
        false => Expectations::Explicit(expectations_without_demands()),
    })
}

/// The case file with explicit expectations: what the specification demanded in each step of a recorded run.
pub(super) fn explicit_case(head: &CaseHeader<'_>, history: &History, demands: &[RequiredState]) -> String {
    let list = |index: usize, step: &Step<'_>| {
        let demanded = demands.get(index).filter(|_| step.is_idle);
        let list = demanded.map(|demands| demands.expectations());
        match list.as_ref().and_then(Value::as_array) {
            Some(list) if !list.is_empty() => list.clone(),
            _ => expectations_without_demands(),
        }
    };
    render_case(head, history, |index, step| {
        Expectations::Explicit(list(index, step))
    })
}

pub(super) fn id(focus: &Focus, seed: u64) -> String {
    format!("{EXPLORED}/{focus}/{seed}")
}

/// Expectations for a step in which the specification demands nothing, because a fault continues. The only expectation always holds, and
/// gives the programs time to react.
fn expectations_without_demands() -> Vec<Value> {
    vec![json!({
        "never": {"write": "delete nodes"},
        "stays": "3 refreshes",
        "why": "the specification demands nothing during a fault, and no program deletes nodes",
    })]
}
