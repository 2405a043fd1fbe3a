//! Summarizes a failure in one line. Does not decide anything.

use std::time::Duration;

use super::deadline::{Timeouts, WaitReason};
use super::monitor::{Monitor, Phase};
use crate::expectation::{Expect, Reason};
use crate::plan::Bound;

/// The deadline whose expiry made an expectation fail.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReachedBound {
    /// Time since the last action of the step.
    pub(super) after: Duration,
    pub(super) wait: WaitReason,
}

/// Explains in one line why an expectation failed.
pub(super) fn summary(monitor: &Monitor<'_>, timeouts: Timeouts, reached: ReachedBound) -> String {
    let timeout = || format_timeout(monitor.expect, timeouts, reached);
    let Phase::Failed(reason) = monitor.phase else {
        return timeout();
    };
    let of_kind = monitor
        .expect
        .predicate
        .kind()
        .summary(&monitor.seen, reason, &timeout);
    of_kind.unwrap_or_else(|| match reason {
        Reason::OtherResponse => "the driver returned a different response".to_owned(),
        // The condition was already false when the actions ended, before any program could react.
        Reason::Violated if reached.after.is_zero() => {
            "the condition was false when the actions of the step were done; `always` requires it from then on, so an earlier step must make it true"
                .to_owned()
        }
        Reason::Violated => format!(
            "not true at every moment of the step: false {} after its actions",
            format_duration(reached.after)
        ),
        Reason::Timeout | Reason::NoEvidence | Reason::OtherMessage => timeout(),
    })
}

/// Text for an expired timeout: the total time, the timeout of the expectation, and the reason for waiting longer.
fn format_timeout(expect: &Expect, timeouts: Timeouts, reached: ReachedBound) -> String {
    let mut parts = Vec::new();
    if !matches!(expect.within, Bound::Time(_)) {
        parts.push(format!(
            "{} of {}",
            expect.within,
            format_duration(timeouts.refresh)
        ));
    }
    if timeouts.patience != 1.0 {
        parts.push(format!("times --patience {}", timeouts.patience));
    }
    parts.extend(match reached.wait {
        WaitReason::OwnTimeout => None,
        WaitReason::NoChanges(time) => Some(format!(
            "extended until nothing had changed for {}",
            format_duration(time)
        )),
        WaitReason::NoCalls(time) => Some(format!(
            "extended until no GetCapacity call had been made for {}",
            format_duration(time)
        )),
        WaitReason::SchedulerIdle(time) => Some(format!(
            "extended until the scheduler had been idle for {}",
            format_duration(time)
        )),
        WaitReason::Retry(time) => Some(format!(
            "extended by up to {} for retries, as an operation had failed",
            format_duration(time)
        )),
        WaitReason::Start(time) => Some(format!(
            "extended until a started program had sent no request for {}",
            format_duration(time)
        )),
        WaitReason::StillActive(time) => Some(format!(
            "extended by up to {}, as programs were still active",
            format_duration(time)
        )),
    });
    let after = format_duration(reached.after);
    match parts.is_empty() {
        true => format!("timed out after {after}"),
        false => format!("timed out after {after} ({})", parts.join(", ")),
    }
}

/// Formats a duration in seconds or milliseconds.
fn format_duration(time: Duration) -> String {
    let tenths = (time.as_secs_f64() * 10.0).round();
    match time.as_millis() {
        milliseconds if milliseconds < 1000 => format!("{milliseconds} ms"),
        _ if tenths % 10.0 == 0.0 => format!("{} s", tenths / 10.0),
        _ => format!("{:.1} s", tenths / 10.0),
    }
}
