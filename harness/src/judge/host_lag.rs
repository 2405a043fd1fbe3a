//! Whether a failure may be caused by a busy host: harness lag (waiting for CPU time) between step start and deciding fact.
//!
//! Uses only lag in the journal. Does not know how systems under test were delayed.

use std::time::Duration;

use super::Failure;
use super::deadline::ACTIVE_MAX;
use crate::journal::{Fact, ProcessEvent, What};

/// Minimum lag that excuses a failure: shorter lag does not change the order of events.
const LAG_MIN: Duration = Duration::from_millis(100);

/// Lag excuses a failure if it exceeds the elapsed time divided by this.
const LAG_DIVISOR: u32 = 4;

/// `LAG_DIVISOR` for bounds of at least [`ACTIVE_MAX`], which leave more time than systems need.
const LAG_DIVISOR_LONG: u32 = 2;

/// Whether the host was too busy to blame a system for the failure.
pub(super) fn excuses_failure(facts: &[Fact], failure: &Failure) -> bool {
    let at = |seq: u64| facts.iter().find(|fact| fact.seq == seq);
    let (Some(first), Some(decided)) = (at(failure.step_started), at(failure.decided_by)) else {
        return false;
    };
    // Lag cannot cause excessive activity.
    if matches!(&decided.what, What::Process(process) if matches!(process.event, ProcessEvent::Flooded(_))) {
        return false;
    }
    let lag = facts
        .iter()
        .filter(|fact| fact.seq > first.seq)
        .map(|fact| lag_before(fact, decided.at()))
        .sum::<Duration>();
    let took = decided.at().saturating_sub(first.at());
    lag > LAG_MIN.max(took / lag_divisor(&decided.what, took))
}

fn lag_divisor(decided: &What, took: Duration) -> u32 {
    match decided {
        // Shorter bounds were already extended by the lag.
        What::Bound(_) if took >= ACTIVE_MAX => LAG_DIVISOR_LONG,
        What::Process(process) if matches!(process.event, ProcessEvent::NotReady(_)) => LAG_DIVISOR_LONG,
        _ => LAG_DIVISOR,
    }
}

/// Lag that occurred before `moment`. A lag fact is recorded when the lag ends, possibly later.
fn lag_before(fact: &Fact, moment: Duration) -> Duration {
    let What::Lag(fact_lag) = fact.what else {
        return Duration::ZERO;
    };
    let lag = Duration::from_micros(fact_lag.late_us);
    let began = fact.at().saturating_sub(lag);
    moment.saturating_sub(began).min(lag)
}
