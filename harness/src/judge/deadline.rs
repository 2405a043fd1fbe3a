//! Owns the deadlines of expectations: their timeouts, their hold times (`stays`), and how long the judge waits for idle programs.
//!
//! Deadlines are computed from facts, so later facts can move them. An expectation that does not hold fails after its own timeout, but only
//! once the programs have had time to react; harness lag in the journal extends that time. The monitor decides what a reached deadline
//! means.

use std::time::Duration;

use super::monitor::{Monitor, Phase, View};
use super::settled::Activity;
use crate::cluster_state::ActivityCounts;
use crate::expectation::{Expect, Predicate};
use crate::journal::{DeadlineKind, START_TIMEOUT};
use crate::plan::Bound;

/// An expectation that does not hold fails once nothing has changed for this long: no requests, commits, watch events, and CSI calls that
/// change volumes or return a new capacity.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Longest time until a publisher retries a PVC: publisher manifests limit the retry interval to one second, plus a margin.
const PUBLISHER_RETRY: Duration = Duration::from_millis(1_200);

/// Maximum extension of a timeout while programs are active, unless the expectation has a longer timeout.
pub(super) const ACTIVE_MAX: Duration = Duration::from_secs(10);

/// Factor by which harness lag extends a timeout, because there are many hops from cause to effect and lag delays each of them. The
/// extension is limited to [`ACTIVE_MAX`]: a host that lags a quarter of the time would otherwise extend the timeout forever.
const LAG_FACTOR: u32 = 4;

/// A publisher that has made no GetCapacity call for this long, and for [`NO_CALLS_REFRESHES`] poll intervals, is considered idle. Matters
/// only for short poll intervals.
const NO_CALLS_MIN: Duration = PUBLISHER_RETRY;
const NO_CALLS_REFRESHES: u32 = 10;

/// Number of poll intervals to wait for programs that have nothing to do according to the specification.
const NOTHING_TO_DO_REFRESHES: u32 = 3;

/// A scheduler that has not retried a pod for this long is considered idle. Longer than the maximum back-off in kube-scheduler's manifest
/// plus one second, the interval at which its queue checks for elapsed back-offs.
const SCHEDULER_IDLE: Duration = Duration::from_secs(3);

/// Minimum hold time if `stays` is a number of poll intervals or rounds and the program makes too few calls to count them. Matters only for
/// short poll intervals.
const IDLE_MIN: Duration = Duration::from_secs(3);

/// The time after which a program counts as idle grows by this multiple of the harness lag, which delays the program's activity too.
const IDLE_LAG_FACTOR: u32 = 2;
/// Maximum extension for harness lag, as a multiple of the idle time without lag.
const IDLE_LAG_FACTOR_MAX: u32 = 2;

/// Settings of the run from which deadlines are computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Timeouts {
    /// The publisher's poll interval.
    pub(super) refresh: Duration,
    /// Maximum back-off of a program after an error.
    pub(super) retry_interval_max: Duration,
    /// Factor for all timeouts (`--patience`).
    pub(super) patience: f64,
    /// Whether the driver or a rate limit may delay calls. The journal contains a call only after it has ended.
    pub(super) delays_calls: bool,
    /// Maximum number of matches of all fault rules with limited `times`. A program backs off after each match.
    pub(super) fault_matches_max: u32,
}

/// State after the last action of the step, from which the deadlines of the step are computed.
#[derive(Debug, Clone)]
pub(super) struct ActionsDone {
    /// Journal time of the last action, in microseconds.
    pub(super) at_us: u64,
    /// Total harness lag before the last action ended.
    pub(super) lag: Duration,
    /// Number of GetCapacity calls and scheduling attempts before the last action ended.
    pub(super) rounds: ActivityCounts,
}

/// Why an expectation that does not hold has not failed yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitReason {
    /// The timeout of the expectation has not expired.
    OwnTimeout,
    /// The judge waits until nothing in the cluster has changed for this long.
    NoChanges(Duration),
    /// The judge waits for the next GetCapacity call, at most this long.
    NoCalls(Duration),
    /// The judge waits for a decision of the scheduler, until the scheduler has been inactive for this long.
    SchedulerIdle(Duration),
    /// The judge waits at most this long for a program to retry a failed request or call.
    Retry(Duration),
    /// The judge waits for the first request of a started program, at most this long.
    Start(Duration),
    /// The judge waits for programs that are still active, at most this long.
    StillActive(Duration),
}

impl Timeouts {
    /// The `within` timeout of the expectation, without extensions.
    pub(super) fn own_timeout(self, expect: &Expect) -> Duration {
        expect.within.time(self.refresh).mul_f64(self.patience)
    }

    /// Journal time at which an expectation that does not hold fails, and the reason for the wait until this time.
    pub(super) fn deadline(
        self,
        expect: &Expect,
        actions_done: &ActionsDone,
        view: View<'_>,
    ) -> (Duration, WaitReason) {
        let activity: &Activity = view.activity;
        let from = Duration::from_micros(actions_done.at_us);
        let last_activity =
            Duration::from_micros(activity.last_activity_us.max(activity.errors.delay_ends_us())).max(from);
        let last_call = Duration::from_micros(activity.last_call_us).max(from);
        let lag = self.lag_extension(actions_done, activity);
        let own_timeout = self.own_timeout(expect);
        // While a PVC lacks capacity, the publisher retries it, and the journal need not contain the last retry yet.
        let settle_time = match activity.has_provisioned_all_claims(view.cluster) {
            true => SETTLE_TIME,
            false => PUBLISHER_RETRY,
        };
        let settle_time = self.times_patience(settle_time) + lag;
        let mut waits = vec![
            (from + own_timeout + lag, WaitReason::OwnTimeout),
            (last_activity + settle_time, WaitReason::NoChanges(settle_time)),
        ];
        if !activity.has_publisher_polled(view.plan, view.cluster, &actions_done.rounds) {
            let limit = self.wait_limit(expect, DeadlineKind::PublisherIdle) + lag;
            waits.push((last_call + limit, WaitReason::NoCalls(limit)));
        }
        let limit = self.wait_limit(expect, DeadlineKind::SchedulerIdle) + lag;
        // The scheduler wait is checked last, because the check iterates over all pods without a node.
        if waits.iter().all(|(at, _)| *at <= last_activity + limit)
            && !activity.has_scheduler_decided_all_pods(view.cluster)
        {
            waits.push((last_activity + limit, WaitReason::SchedulerIdle(limit)));
        }
        let last_error = activity.errors.last_error_us().map(Duration::from_micros);
        // A delayed call may block a program with few threads, so the judge waits as it does for the retry of a failed request.
        let delayed_call = self.delays_calls.then_some(from);
        if let Some(last_error) = last_error.max(delayed_call) {
            let limit = self.times_patience(self.retry_interval_max) + lag;
            waits.push((last_error + limit, WaitReason::Retry(limit)));
        }
        let last = waits.into_iter().max_by_key(|(at, _)| *at);
        let longest = self.times_patience(ACTIVE_MAX).max(own_timeout);
        let longest = match last {
            Some((_, WaitReason::Retry(limit))) => {
                longest.max(limit * self.fault_matches_max.saturating_add(1))
            }
            _ => longest,
        };
        let latest = from + longest;
        let until = match last {
            Some((_, WaitReason::Retry(_))) => latest,
            _ => {
                // A program that an error blocked acts only after it has recovered. The wait is limited, because errors may repeat.
                let recovered = Duration::from_micros(activity.errors.recovered_us())
                    + self.times_patience(SCHEDULER_IDLE);
                latest.max(recovered.min(latest + self.times_patience(self.retry_interval_max)))
            }
        };
        let (at, wait) = match last {
            Some((at, wait)) if at <= until => (at, wait),
            Some((_, WaitReason::Retry(_))) => (until, WaitReason::Retry(longest)),
            _ => (until, WaitReason::StillActive(until - from)),
        };
        match self.starts_until(activity) {
            Some(start) if start > at => (start, WaitReason::Start(self.times_patience(START_TIMEOUT))),
            _ => (at, wait),
        }
    }

    /// Journal time until which started programs may send their first request. None if all programs have sent a request.
    fn starts_until(self, activity: &Activity) -> Option<Duration> {
        let started = activity.starting_us().map(Duration::from_micros)?;
        Some(started + self.times_patience(START_TIMEOUT))
    }

    /// Journal time after which the judge no longer waits for active programs.
    fn activity_deadline(self, actions_done: &ActionsDone, activity: &Activity) -> Duration {
        Duration::from_micros(actions_done.at_us)
            + self.times_patience(ACTIVE_MAX)
            + self.lag_extension(actions_done, activity)
    }

    /// The extension of timeouts by harness lag (time without CPU) since the last action.
    fn lag_extension(self, actions_done: &ActionsDone, activity: &Activity) -> Duration {
        let lag = activity.lag.saturating_sub(actions_done.lag) * LAG_FACTOR;
        lag.min(self.times_patience(ACTIVE_MAX))
    }

    /// Journal time of a deadline of an expectation whose condition is true.
    pub(super) fn hold_deadline(
        self,
        monitor: &Monitor<'_>,
        bound: DeadlineKind,
        view: View<'_>,
    ) -> Duration {
        let (since, activity) = (&monitor.since, view.activity);
        let limit = match has_nothing_to_do(monitor, bound, view) {
            true => self.times_patience(self.refresh * NOTHING_TO_DO_REFRESHES),
            false => self.wait_limit(monitor.expect, bound),
        };
        let lag = activity.lag.saturating_sub(since.lag);
        let extension = match bound {
            DeadlineKind::Hold => Duration::ZERO,
            _ => (lag * IDLE_LAG_FACTOR).min(limit * IDLE_LAG_FACTOR_MAX),
        };
        let from = match bound {
            DeadlineKind::PublisherIdle => since.at_us.max(activity.last_call_us),
            _ => since.at_us,
        };
        let at = Duration::from_micros(from) + limit + extension;
        match bound {
            // A program that has not started yet sends no requests, so its inactivity proves nothing.
            DeadlineKind::PublisherIdle | DeadlineKind::SchedulerIdle => {
                at.max(self.starts_until(activity).unwrap_or_default())
            }
            DeadlineKind::Within | DeadlineKind::Hold => at,
        }
    }

    /// Time from the start of the wait until a deadline of this kind, without extensions.
    fn wait_limit(self, expect: &Expect, bound: DeadlineKind) -> Duration {
        self.times_patience(match (bound, expect.hold) {
            (DeadlineKind::Within, _) => expect.within.time(self.refresh),
            (DeadlineKind::PublisherIdle, _) => (self.refresh * NO_CALLS_REFRESHES).max(NO_CALLS_MIN),
            (DeadlineKind::SchedulerIdle, _) => SCHEDULER_IDLE,
            (DeadlineKind::Hold, Some(Bound::Time(time))) => time,
            // A time limit replaces the rounds, because a program that makes no further calls completes no rounds.
            (DeadlineKind::Hold, Some(rounds)) => (rounds.time(self.refresh) * 3).max(IDLE_MIN),
            (DeadlineKind::Hold, None) => Duration::ZERO,
        })
    }

    fn times_patience(self, time: Duration) -> Duration {
        time.mul_f64(self.patience)
    }
}

/// Whether, according to the specification, the programs have nothing to do: the publisher needs no GetCapacity call, or the scheduler has
/// rejected every pod without a node for a valid reason.
fn has_nothing_to_do(monitor: &Monitor<'_>, bound: DeadlineKind, view: View<'_>) -> bool {
    let (Predicate::Specification, Some(oracle)) = (&monitor.expect.predicate, view.oracle) else {
        return false;
    };
    match bound {
        DeadlineKind::PublisherIdle => !oracle.must_call_get_capacity(),
        DeadlineKind::SchedulerIdle => view.activity.has_rejected_all_waiting_pods(view.cluster),
        DeadlineKind::Within | DeadlineKind::Hold => false,
    }
}

/// The pending deadlines of a monitor (the state of one expectation), with their journal times.
pub(super) fn pending_deadlines(
    timeouts: Timeouts,
    monitor: &Monitor<'_>,
    actions_done: &ActionsDone,
    view: View<'_>,
) -> Vec<(Duration, DeadlineKind)> {
    let waits = monitor.pending_bounds(view).into_iter();
    let mut bounds: Vec<_> = waits
        .map(|bound| {
            let at = timeouts.hold_deadline(monitor, bound, view);
            match bound {
                // The wait is limited: a pod that is retried forever without a decision must not extend the case forever.
                DeadlineKind::SchedulerIdle => (
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
            DeadlineKind::Within,
        ));
    }
    bounds
}
