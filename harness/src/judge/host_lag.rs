//! Whether a busy host may have caused a failure: the harness lagged (waited for CPU time) between the start of the step and the deciding
//! fact.
//!
//! Uses only the lag in the journal. Does not know how much the programs under test were delayed.

use std::time::Duration;

use super::Failure;
use super::deadline::ACTIVE_MAX;
use crate::journal::{Fact, Observation, ProcessEvent};

/// Lag below this minimum never excuses a failure, because it does not change the order of events.
const LAG_MIN: Duration = Duration::from_millis(100);

/// Lag excuses a failure if it exceeds the time since the start of the step divided by this number.
const LAG_DIVISOR: u32 = 4;

/// Replaces `LAG_DIVISOR` for timeouts of at least [`ACTIVE_MAX`], which leave programs more time than they need.
const LAG_DIVISOR_LONG: u32 = 2;

/// Whether the host was so busy that the failure may not be the fault of a program under test.
pub(super) fn excuses_failure(facts: &[Fact], failure: &Failure) -> bool {
    let at = |seq: u64| facts.iter().find(|fact| fact.seq == seq);
    let (Some(first), Some(decided)) = (at(failure.step_started), at(failure.decided_by)) else {
        return false;
    };
    // Lag cannot make a program exceed its activity limit.
    if matches!(&decided.what, Observation::Process(process) if matches!(process.event, ProcessEvent::Flooded(_)))
    {
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

fn lag_divisor(decided: &Observation, took: Duration) -> u32 {
    match decided {
        // Timeouts shorter than `ACTIVE_MAX` were extended by the lag when the deadline was computed.
        Observation::Bound(_) if took >= ACTIVE_MAX => LAG_DIVISOR_LONG,
        Observation::Process(process) if matches!(process.event, ProcessEvent::NotReady(_)) => {
            LAG_DIVISOR_LONG
        }
        _ => LAG_DIVISOR,
    }
}

/// The part of a lag that was before `moment`. The lag fact is recorded when the lag ends, possibly after `moment`.
fn lag_before(fact: &Fact, moment: Duration) -> Duration {
    let Observation::Lag(fact_lag) = fact.what else {
        return Duration::ZERO;
    };
    let lag = Duration::from_micros(fact_lag.late_us);
    let began = fact.at().saturating_sub(lag);
    moment.saturating_sub(began).min(lag)
}
