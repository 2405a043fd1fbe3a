//! Case files for generated histories, which expect the specification or contain the demands of the specification as explicit expectations.

use harness::oracle::Demands;
use serde_json::{Value, json};

use super::focus::{EXPLORED, Focus};
use super::history::{History, Step};
use super::text::{CaseHeader, ExcusedRules, Expectations, text};

/// The case of a generated history: every step after which all programs are idle expects what the specification demands.
pub fn case(focus: &Focus, seed: u64, history: &History) -> String {
    generated_case(focus, seed, history, &ExcusedRules::new())
}

/// The case of a generated history, without the demands of the excused rules.
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

/// A case that expects what the specification demands.
pub(super) fn specified_case(head: &CaseHeader<'_>, history: &History) -> String {
    text(head, history, |_, step| match step.is_idle {
        true => Expectations::Specification,
        false => Expectations::Explicit(without_demands()),
    })
}

/// A case that expects the demands of each step, as recorded in a run, as explicit expectations.
pub(super) fn explicit_case(head: &CaseHeader<'_>, history: &History, demands: &[Demands]) -> String {
    let list = |index: usize, step: &Step<'_>| {
        let demanded = demands.get(index).filter(|_| step.is_idle);
        let list = demanded.map(|demands| demands.expectations());
        match list.as_ref().and_then(Value::as_array) {
            Some(list) if !list.is_empty() => list.clone(),
            _ => without_demands(),
        }
    };
    text(head, history, |index, step| {
        Expectations::Explicit(list(index, step))
    })
}

/// The case id of a seed.
pub(super) fn id(focus: &Focus, seed: u64) -> String {
    format!("{EXPLORED}/{focus}/{seed}")
}

/// Expectations for a step for which the specification demands nothing, such as a step with a lasting fault. The only expectation is
/// trivial and gives the programs time to react.
fn without_demands() -> Vec<Value> {
    vec![json!({
        "never": {"write": "delete nodes"},
        "stays": "3 refreshes",
        "why": "the specification demands nothing during a fault, and no program deletes nodes",
    })]
}
