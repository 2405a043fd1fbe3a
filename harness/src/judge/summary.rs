//! Summarises a failure in one line. Does not decide anything.

use std::time::Duration;

use super::deadline::{Pace, Wait};
use super::monitor::{Monitor, Phase};
use crate::expectation::{Expect, Reason};
use crate::plan::Bound;

/// How a bound was reached.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    /// Time since the last action of the step.
    pub(super) after: Duration,
    /// The wait that decided.
    pub(super) wait: Wait,
}

/// Summary of a failed expectation.
pub(super) fn summary(monitor: &Monitor<'_>, pace: Pace, passed: Passed) -> String {
    let late = || timed_out(monitor.expect, pace, passed);
    let Phase::Failed(reason) = monitor.phase else {
        return late();
    };
    let of_kind = monitor
        .expect
        .predicate
        .kind()
        .summary(&monitor.seen, reason, &late);
    of_kind.unwrap_or_else(|| match reason {
        Reason::OtherAnswer => "the driver returned a different response".to_owned(),
        Reason::Violated => "not true at every moment of the step".to_owned(),
        Reason::Late | Reason::NoEvidence | Reason::OtherWords => late(),
    })
}

/// A timeout: the total time, the case's own bound, and the wait beyond it.
fn timed_out(expect: &Expect, pace: Pace, passed: Passed) -> String {
    let mut terms = Vec::new();
    if !matches!(expect.within, Bound::Time(_)) {
        terms.push(format!("{} of {}", expect.within, seconds(pace.refresh)));
    }
    if pace.patience != 1.0 {
        terms.push(format!("times --patience {}", pace.patience));
    }
    terms.extend(match passed.wait {
        Wait::Said => None,
        Wait::Still(time) => Some(format!("then nothing changed for {}", seconds(time))),
        Wait::Unasked(time) => Some(format!("then no GetCapacity call was made for {}", seconds(time))),
        Wait::Undecided(time) => Some(format!("then the scheduler did nothing for {}", seconds(time))),
        Wait::Retry(time) => Some(format!(
            "then failed operations could be retried for {}",
            seconds(time)
        )),
        Wait::Start(time) => Some(format!(
            "then a program that had started made no request for {}",
            seconds(time)
        )),
        Wait::Longest(time) => Some(format!(
            "then the systems were still active, for at most {}",
            seconds(time)
        )),
    });
    let after = seconds(passed.after);
    match terms.is_empty() {
        true => format!("timed out after {after}"),
        false => format!("timed out after {after} ({})", terms.join(", ")),
    }
}

/// Formats a duration with its unit.
fn seconds(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round();
    match time.as_millis() {
        milliseconds if milliseconds < 1000 => format!("{milliseconds} ms"),
        _ if tenths % 10.0 == 0.0 => format!("{} s", tenths / 10.0),
        _ => format!("{:.1} s", tenths / 10.0),
    }
}
