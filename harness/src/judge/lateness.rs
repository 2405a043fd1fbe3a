//! Whether a failure may be caused by a busy host: harness lag (waiting for CPU time) between step start and deciding fact.
//!
//! Uses only lag in the journal. Does not know how systems under test were delayed.

use std::time::Duration;

use super::Failure;
use super::deadline::LONGEST;
use crate::journal::{Fact, ProcessEvent, What};

/// Lag below this does not change the order of events.
const NOTICEABLE: Duration = Duration::from_millis(100);

/// Lag of more than one in this many parts of the time excuses a failure.
const SHARE: u32 = 4;

/// Same as above for long bounds, which leave more time than systems need.
const SHARE_OF_LONG_BOUND: u32 = 2;

/// Whether the host was too busy to blame a system for the failure.
pub(super) fn excuses(facts: &[Fact], failure: &Failure) -> bool {
    let at = |seq: u64| facts.iter().find(|fact| fact.seq == seq);
    let (Some(first), Some(decided)) = (at(failure.step_started), at(failure.decided_by)) else {
        return false;
    };
    // Lag cannot cause excessive activity.
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
        // Shorter bounds were already extended by the lag.
        What::Bound(_) if took >= LONGEST => SHARE_OF_LONG_BOUND,
        What::Process(process) if matches!(process.event, ProcessEvent::NotReady(_)) => SHARE_OF_LONG_BOUND,
        _ => SHARE,
    }
}

/// Lag that occurred before `moment`. A lag fact is recorded when the lag ends, possibly later.
fn late_before(fact: &Fact, moment: Duration) -> Duration {
    let What::Lag(lag) = fact.what else {
        return Duration::ZERO;
    };
    let late = Duration::from_micros(lag.late_us);
    let began = fact.at().saturating_sub(late);
    moment.saturating_sub(began).min(late)
}
