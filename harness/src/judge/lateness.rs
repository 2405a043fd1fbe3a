//! Whether a failure may be the machine's: how long the harness was kept waiting between what a step did and what decided.
//!
//! Looks only at the lag that the journal shows; what a system under test did with its own time is unknown.

use std::time::Duration;

use super::Failure;
use super::deadline::LONGEST;
use crate::journal::{Fact, ProcessEvent, What};

/// Less than this changes no order of events.
const NOTICEABLE: Duration = Duration::from_millis(100);

/// The share of the time, as one in so many, that the harness may be kept waiting.
const SHARE: u32 = 4;

/// The same where a bound decided that leaves far more time than anything takes.
const SHARE_OF_LONG_BOUND: u32 = 2;

/// Whether the machine was too busy to blame a system for what decided.
pub(super) fn excuses(facts: &[Fact], failure: &Failure) -> bool {
    let at = |seq: u64| facts.iter().find(|fact| fact.seq == seq);
    let (Some(first), Some(decided)) = (at(failure.step_started), at(failure.decided_by)) else {
        return false;
    };
    // No lack of time makes a program do that much.
    if matches!(&decided.what, What::Process(process) if matches!(process.event, ProcessEvent::Flooded(_))) {
        return false;
    }
    let late = facts
        .iter()
        .filter(|fact| fact.seq > first.seq)
        .map(|fact| late_before(fact, decided.at()))
        .sum::<Duration>();
    let took = decided.at().saturating_sub(first.at());
    late > NOTICEABLE.max(took / share(&decided.what, took))
}

fn share(decided: &What, took: Duration) -> u32 {
    match decided {
        // A shorter one has been put off already for what was late.
        What::Bound(_) if took >= LONGEST => SHARE_OF_LONG_BOUND,
        What::Process(process) if matches!(process.event, ProcessEvent::NotReady(_)) => SHARE_OF_LONG_BOUND,
        _ => SHARE,
    }
}

/// How much of the lag of a fact fell before a moment. It is reported when it is over, perhaps after that moment.
fn late_before(fact: &Fact, moment: Duration) -> Duration {
    let What::Lag(lag) = fact.what else {
        return Duration::ZERO;
    };
    let late = Duration::from_micros(lag.late_us);
    let began = fact.at().saturating_sub(late);
    moment.saturating_sub(began).min(late)
}
