//! The cases of a drawn history: judged by the specification, and with what that demands written out.

use harness::oracle::Demands;
use serde_json::{Value, json};

use super::focus::{EXPLORED, Focus};
use super::history::{History, Step};
use super::text::{Excused, Expectations, Head, text};

/// The case of a history that was drawn from a seed: every step in which all programs come to rest expects what the specification demands.
pub fn case(focus: &Focus, seed: u64, history: &History) -> String {
    drawn_case(focus, seed, history, &Excused::new())
}

/// The same, in which the specification does not demand what the excused rules do.
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

/// The case of a history that expects what the specification demands.
pub(super) fn specified_case(head: &Head<'_>, history: &History) -> String {
    text(head, history, |_, step| match step.is_calm {
        true => Expectations::Specification,
        false => Expectations::These(in_trouble()),
    })
}

/// The same with what the specification demands of each step, as it was in a run: for people to read.
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

/// The id of the case of a seed.
pub(super) fn id(focus: &Focus, seed: u64) -> String {
    format!("{EXPLORED}/{focus}/{seed}")
}

/// What can be said of a step of which nothing is demanded, such as one in which something goes wrong that lasts: it gives the programs time
/// to meet that.
fn in_trouble() -> Vec<Value> {
    vec![json!({
        "never": {"write": "delete nodes"},
        "stays": "3 refreshes",
        "why": "nothing else is demanded here, and no program deletes nodes",
    })]
}
