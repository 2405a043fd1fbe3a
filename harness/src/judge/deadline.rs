//! Owns the timing of bounds: timeouts of expectations, their hold times, and how long idle systems are awaited.
//!
//! Computed from facts only, so bounds move as facts arrive. A missed expectation fails after its own timeout, and only once the systems
//! had time to react; harness lag in the journal extends that time. Does not know the effect of a bound, which is up to the monitor.

use std::time::Duration;

use super::monitor::{Monitor, Phase, View};
use super::settled::Activity;
use crate::cluster_state::Rounds;
use crate::expectation::{Expect, Predicate};
use crate::journal::{BoundKind, START_TIMEOUT};
use crate::plan::Bound;

/// A missed expectation fails once nothing has changed for this long: no requests, commits, watch events, and calls that change volumes or
/// return a new capacity.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Longer than the retry interval of publishers, which their manifests limit to one second.
const PUBLISHER_RETRY: Duration = Duration::from_millis(1_200);

/// Limit for extending a timeout while systems are active, unless the expectation has a longer one.
pub(super) const ACTIVE_MAX: Duration = Duration::from_secs(10);

/// Factor for harness lag in the timeout, as lag delays each of many hops from cause to effect. The extension is limited to
/// [`ACTIVE_MAX`]: a host that lags a quarter of the time would otherwise extend the timeout forever.
const LAG_FACTOR: u32 = 4;

/// A publisher without a GetCapacity call for this long and for [`NO_CALLS_REFRESHES`] refreshes is considered idle. Applies to short
/// refresh intervals.
const NO_CALLS_MIN: Duration = PUBLISHER_RETRY;
const NO_CALLS_REFRESHES: u32 = 10;

/// Refreshes to wait for systems that have nothing to do according to the specification.
const NOTHING_TO_DO_REFRESHES: u32 = 3;

/// A scheduler that has not retried a pod for this long is considered idle: longer than the back-off in kube-scheduler's manifest plus the
/// second after which its queue notices the end of a back-off.
const SCHEDULER_IDLE: Duration = Duration::from_secs(3);

/// A system without a call for this long counts as idle when something must hold for some rounds. Applies to short refresh intervals.
const IDLE_MIN: Duration = Duration::from_secs(3);

/// Harness lag makes inactivity less conclusive: the time until a system counts as idle grows by this multiple of the lag.
const IDLE_LAG_FACTOR: u32 = 2;
/// Limit of that extension, as a multiple of the time without lag.
const IDLE_LAG_FACTOR_MAX: u32 = 2;

/// Settings of the run from which bounds are computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// The publisher's poll interval.
    pub(super) refresh: Duration,
    /// Maximum back-off of a system after an error.
    pub(super) retry_interval_max: Duration,
    /// Factor for all bounds (`--patience`).
    pub(super) patience: f64,
    /// Whether calls may be delayed, by the driver or a limit: the journal contains a call only once it ends.
    pub(super) delays_calls: bool,
    /// How often faults with limited `times` can match in total; a system backs off after each match.
    pub(super) fault_matches_max: u32,
}

/// State at the end of the step's actions, from which its bounds count.
#[derive(Debug, Clone)]
pub(super) struct ActionsDone {
    /// Journal time, in microseconds.
    pub(super) at_us: u64,
    /// Total harness lag until then.
    pub(super) lag: Duration,
    /// Calls and scheduling attempts until then.
    pub(super) rounds: Rounds,
}

/// What a missed expectation waits for in addition to its own timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing else: the timeout of the expectation decides.
    OwnTimeout,
    /// Nothing has changed for this long.
    NoChanges(Duration),
    /// The next GetCapacity call, or none for this long.
    NoCalls(Duration),
    /// A decision of the scheduler, or no activity of it for this long.
    SchedulerIdle(Duration),
    /// The retry of a failed attempt, at most this long.
    Retry(Duration),
    /// The first request of a started program, at most this long.
    Start(Duration),
    /// Systems that are still active, at most this long.
    StillActive(Duration),
}

impl Timeouts {
    /// The expectation's own timeout.
    pub(super) fn own_timeout(self, expect: &Expect) -> Duration {
        expect.within.time(self.refresh).mul_f64(self.patience)
    }

    /// Journal time at which a missed expectation fails, and the deciding wait.
    pub(super) fn deadline(
        self,
        expect: &Expect,
        actions_done: &ActionsDone,
        view: View<'_>,
    ) -> (Duration, Wait) {
        let activity: &Activity = view.activity;
        let from = Duration::from_micros(actions_done.at_us);
        let last_activity =
            Duration::from_micros(activity.last_activity_us.max(activity.errors.delay_ends_us())).max(from);
        let last_call = Duration::from_micros(activity.last_call_us).max(from);
        let lag = self.lag_extension(actions_done, activity);
        let own_timeout = self.own_timeout(expect);
        // After insufficient capacity a publisher retries, and the journal does not contain the last retry.
        let settle_time = match activity.has_provisioned_all(view.cluster) {
            true => SETTLE_TIME,
            false => PUBLISHER_RETRY,
        };
        let settle_time = self.scaled(settle_time) + lag;
        let mut waits = vec![
            (from + own_timeout + lag, Wait::OwnTimeout),
            (last_activity + settle_time, Wait::NoChanges(settle_time)),
        ];
        if !activity.has_polled(view.plan, view.cluster, &actions_done.rounds) {
            let limit = self.wait_limit(expect, BoundKind::PublisherIdle) + lag;
            waits.push((last_call + limit, Wait::NoCalls(limit)));
        }
        let limit = self.wait_limit(expect, BoundKind::SchedulerIdle) + lag;
        // Checked last, because it looks at every waiting pod.
        if waits.iter().all(|(at, _)| *at <= last_activity + limit) && !activity.has_decided_all(view.cluster)
        {
            waits.push((last_activity + limit, Wait::SchedulerIdle(limit)));
        }
        let last_error = activity.errors.last_error_us().map(Duration::from_micros);
        // A delayed call may block a program with few threads until the call is cancelled or executed.
        let delayed_call = self.delays_calls.then_some(from);
        if let Some(last_error) = last_error.max(delayed_call) {
            let limit = self.scaled(self.retry_interval_max) + lag;
            waits.push((last_error + limit, Wait::Retry(limit)));
        }
        let last = waits.into_iter().max_by_key(|(at, _)| *at);
        let longest = self.scaled(ACTIVE_MAX).max(own_timeout);
        let longest = match last {
            Some((_, Wait::Retry(limit))) => longest.max(limit * self.fault_matches_max.saturating_add(1)),
            _ => longest,
        };
        let latest = from + longest;
        let until = match last {
            Some((_, Wait::Retry(_))) => latest,
            _ => {
                // A system that was blocked by an error acts only once it has recovered. Limited, as errors may repeat.
                let recovered =
                    Duration::from_micros(activity.errors.recovered_us()) + self.scaled(SCHEDULER_IDLE);
                latest.max(recovered.min(latest + self.scaled(self.retry_interval_max)))
            }
        };
        let (at, wait) = match last {
            Some((at, wait)) if at <= until => (at, wait),
            Some((_, Wait::Retry(_))) => (until, Wait::Retry(longest)),
            _ => (until, Wait::StillActive(until - from)),
        };
        match self.starts_until(activity) {
            Some(start) if start > at => (start, Wait::Start(self.scaled(START_TIMEOUT))),
            _ => (at, wait),
        }
    }

    /// Journal time until which started programs may make their first request. None if all have.
    fn starts_until(self, activity: &Activity) -> Option<Duration> {
        let started = activity.starting_us().map(Duration::from_micros)?;
        Some(started + self.scaled(START_TIMEOUT))
    }

    /// Journal time at which waiting for active systems ends.
    fn activity_deadline(self, actions_done: &ActionsDone, activity: &Activity) -> Duration {
        Duration::from_micros(actions_done.at_us)
            + self.scaled(ACTIVE_MAX)
            + self.lag_extension(actions_done, activity)
    }

    /// Extension of timeouts because of harness lag since the step's actions.
    fn lag_extension(self, actions_done: &ActionsDone, activity: &Activity) -> Duration {
        let lag = activity.lag.saturating_sub(actions_done.lag) * LAG_FACTOR;
        lag.min(self.scaled(ACTIVE_MAX))
    }

    /// Journal time at which a wait of a holding monitor ends.
    pub(super) fn hold_deadline(self, monitor: &Monitor<'_>, bound: BoundKind, view: View<'_>) -> Duration {
        let (since, activity) = (&monitor.since, view.activity);
        let limit = match has_nothing_to_do(monitor, bound, view) {
            true => self.scaled(self.refresh * NOTHING_TO_DO_REFRESHES),
            false => self.wait_limit(monitor.expect, bound),
        };
        let lag = activity.lag.saturating_sub(since.lag);
        let extension = match bound {
            BoundKind::Hold => Duration::ZERO,
            _ => (lag * IDLE_LAG_FACTOR).min(limit * IDLE_LAG_FACTOR_MAX),
        };
        let from = match bound {
            BoundKind::PublisherIdle => since.at_us.max(activity.last_call_us),
            _ => since.at_us,
        };
        let at = Duration::from_micros(from) + limit + extension;
        match bound {
            // A program that has not started yet makes no requests; that it is inactive proves nothing.
            BoundKind::PublisherIdle | BoundKind::SchedulerIdle => {
                at.max(self.starts_until(activity).unwrap_or_default())
            }
            BoundKind::Within | BoundKind::Hold => at,
        }
    }

    /// Duration that a holding expectation waits for this bound.
    fn wait_limit(self, expect: &Expect, bound: BoundKind) -> Duration {
        self.scaled(match (bound, expect.hold) {
            (BoundKind::Within, _) => expect.within.time(self.refresh),
            (BoundKind::PublisherIdle, _) => (self.refresh * NO_CALLS_REFRESHES).max(NO_CALLS_MIN),
            (BoundKind::SchedulerIdle, _) => SCHEDULER_IDLE,
            (BoundKind::Hold, Some(Bound::Time(time))) => time,
            // For a system without further calls, time replaces rounds.
            (BoundKind::Hold, Some(rounds)) => (rounds.time(self.refresh) * 3).max(IDLE_MIN),
            (BoundKind::Hold, None) => Duration::ZERO,
        })
    }

    fn scaled(self, time: Duration) -> Duration {
        time.mul_f64(self.patience)
    }
}

/// Whether, according to an expected specification, the systems have nothing to do: the publisher needs no GetCapacity call, or the
/// scheduler has rejected every waiting pod for a valid reason.
fn has_nothing_to_do(monitor: &Monitor<'_>, bound: BoundKind, view: View<'_>) -> bool {
    let (Predicate::Specification, Some(oracle)) = (&monitor.expect.predicate, view.oracle) else {
        return false;
    };
    match bound {
        BoundKind::PublisherIdle => !oracle.must_call_get_capacity(),
        BoundKind::SchedulerIdle => view.activity.has_rejected_all(view.cluster),
        BoundKind::Within | BoundKind::Hold => false,
    }
}

/// The bounds that a monitor waits for, with their journal times.
pub(super) fn bounds(
    timeouts: Timeouts,
    monitor: &Monitor<'_>,
    actions_done: &ActionsDone,
    view: View<'_>,
) -> Vec<(Duration, BoundKind)> {
    let waits = monitor.pending(view).into_iter();
    let mut bounds: Vec<_> = waits
        .map(|bound| {
            let at = timeouts.hold_deadline(monitor, bound, view);
            match bound {
                // A pod that is retried without any decision must not extend the case forever.
                BoundKind::SchedulerIdle => (
                    at.min(timeouts.activity_deadline(actions_done, view.activity)),
                    bound,
                ),
                _ => (at, bound),
            }
        })
        .collect();
    if monitor.phase == Phase::Waiting {
        bounds.push((
            timeouts.deadline(monitor.expect, actions_done, view).0,
            BoundKind::Within,
        ));
    }
    bounds
}
