//! Case files for generated histories, checked against the specification or with its demands written out.

use harness::oracle::Demands;
use serde_json::{Value, json};

use super::focus::{EXPLORED, Focus};
use super::history::{History, Step};
use super::text::{Excused, Expectations, Head, text};

/// The case of a generated history: every step after which all programs are idle expects what the specification demands.
pub fn case(focus: &Focus, seed: u64, history: &History) -> String {
    drawn_case(focus, seed, history, &Excused::new())
}

/// The same, without the demands of the excused rules.
pub(super) fn drawn_case(focus: &Focus, seed: u64, history: &History, excused: &Excused) -> String {
    let head = Head {
        id: &id(focus, seed),
        title: &format!("a world drawn from seed {seed}, for the {focus}"),
        requirements: &[],
        excused,
        comment: &[],
    };
    specified_case(&head, history)
}

/// A case that expects what the specification demands.
pub(super) fn specified_case(head: &Head<'_>, history: &History) -> String {
    text(head, history, |_, step| match step.is_calm {
        true => Expectations::Specification,
        false => Expectations::These(in_trouble()),
    })
}

/// The same with the demands of each step, as recorded in a run, as explicit expectations.
pub(super) fn explicit_case(head: &Head<'_>, history: &History, demands: &[Demands]) -> String {
    let list = |index: usize, step: &Step<'_>| {
        let demanded = demands.get(index).filter(|_| step.is_calm);
        let list = demanded.map(|demands| demands.expectations());
        match list.as_ref().and_then(Value::as_array) {
            Some(list) if !list.is_empty() => list.clone(),
            _ => in_trouble(),
        }
    };
    text(head, history, |index, step| {
        Expectations::These(list(index, step))
    })
}

/// The case id of a seed.
pub(super) fn id(focus: &Focus, seed: u64) -> String {
    format!("{EXPLORED}/{focus}/{seed}")
}

/// Expectations for a step without demands, such as one with a lasting fault: a trivial one that gives the programs time to react.
fn in_trouble() -> Vec<Value> {
    vec![json!({
        "never": {"write": "delete nodes"},
        "stays": "3 refreshes",
        "why": "nothing else is demanded here, and no program deletes nodes",
    })]
}
