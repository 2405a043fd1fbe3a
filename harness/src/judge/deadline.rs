//! Owns the timing of bounds: timeouts of expectations, their hold times, and how long idle systems are awaited.
//!
//! Computed from facts only, so bounds move as facts arrive. A missed expectation fails after its own timeout, and only once the systems
//! had time to react; harness lag in the journal extends that time. Does not know the effect of a bound, which is up to the monitor.

use std::time::Duration;

use super::monitor::{Monitor, Phase, View};
use super::settled::Scene;
use crate::cluster_state::Rounds;
use crate::expectation::{Expect, Predicate};
use crate::journal::{BoundKind, START_TIMEOUT};
use crate::plan::Bound;

/// A missed expectation fails once nothing has changed for this long: no requests, commits, watch events, and calls that change volumes or
/// return a new capacity.
const STILL: Duration = Duration::from_secs(1);

/// Longer than the retry interval of publishers, which their manifests limit to one second.
const RETRIED: Duration = Duration::from_millis(1_200);

/// Limit for extending a timeout while systems are active, unless the expectation has a longer one.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// Factor for harness lag in the timeout, as lag delays each of many hops from cause to effect. The extension is limited to [`LONGEST`], or
/// a host that lags a quarter of the time would extend it forever.
const HOPS: u32 = 4;

/// A publisher without a GetCapacity call for this long and for [`MISSED`] refreshes is considered idle. Applies to short refresh
/// intervals.
const UNASKED: Duration = RETRIED;
const MISSED: u32 = 10;

/// Refreshes to wait for systems that have nothing to do according to the specification.
const NEEDLESS: u32 = 3;

/// A scheduler that has not retried a pod for this long is considered idle: longer than the back-off in kube-scheduler's manifest plus the
/// second after which its queue notices the end of a back-off.
const UNDECIDED: Duration = Duration::from_secs(3);

/// A system without a call for this long counts as idle when something must hold for some rounds. Applies to short refresh intervals.
const SILENCE: Duration = Duration::from_secs(3);

/// Harness lag makes silence less conclusive: the required silence grows by this multiple of the lag, ...
const SLOWED: u32 = 2;
/// ... but at most by this multiple of itself.
const SLOWEST: u32 = 2;

/// Settings of the run from which bounds are computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The publisher's poll interval.
    pub(super) refresh: Duration,
    /// Maximum back-off of a system after an error.
    pub(super) retry_interval_max: Duration,
    /// Factor for all bounds (`--patience`).
    pub(super) patience: f64,
    /// Whether calls may be delayed, by the driver or a limit: the journal contains a call only once it ends.
    pub(super) calls_wait: bool,
    /// How often faults with limited `times` can match in total; a system backs off after each match.
    pub(super) times_of_faults: u32,
}

/// State at the end of the step's actions, from which its bounds count.
#[derive(Debug, Clone)]
pub(super) struct Acted {
    /// Journal time, in microseconds.
    pub(super) at_us: u64,
    /// Total harness lag until then.
    pub(super) late: Duration,
    /// Calls and scheduling attempts until then.
    pub(super) rounds: Rounds,
}

/// What a missed expectation waits for in addition to its own timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing: its own timeout counts.
    Said,
    /// Nothing has changed for this long.
    Still(Duration),
    /// The next GetCapacity call, or none for this long.
    Unasked(Duration),
    /// A decision of the scheduler, or no activity of it for this long.
    Undecided(Duration),
    /// The retry of a failed attempt, at most this long.
    Retry(Duration),
    /// The first request of a started program, at most this long.
    Start(Duration),
    /// Systems that are still active, at most this long.
    Longest(Duration),
}

impl Pace {
    /// The expectation's own timeout.
    pub(super) fn said(self, expect: &Expect) -> Duration {
        expect.within.time(self.refresh).mul_f64(self.patience)
    }

    /// Journal time at which a missed expectation fails, and the deciding wait.
    pub(super) fn within(self, expect: &Expect, acted: &Acted, view: View<'_>) -> (Duration, Wait) {
        let scene: &Scene = view.scene;
        let from = Duration::from_micros(acted.at_us);
        let moved = Duration::from_micros(scene.moved_us.max(scene.troubles.late_us())).max(from);
        let called = Duration::from_micros(scene.asked_us).max(from);
        let late = self.slowness(acted, scene);
        let said = self.said(expect);
        // After insufficient capacity a publisher retries, and the journal does not contain the last retry.
        let still = match scene.has_provisioned_all(view.cluster) {
            true => STILL,
            false => RETRIED,
        };
        let still = self.scaled(still) + late;
        let mut waits = vec![
            (from + said + late, Wait::Said),
            (moved + still, Wait::Still(still)),
        ];
        if !scene.has_asked(view.plan, view.cluster, &acted.rounds) {
            let limit = self.limit(expect, BoundKind::Unasked) + late;
            waits.push((called + limit, Wait::Unasked(limit)));
        }
        let limit = self.limit(expect, BoundKind::Undecided) + late;
        // Last, as it checks every waiting pod.
        if waits.iter().all(|(at, _)| *at <= moved + limit) && !scene.has_decided_all(view.cluster) {
            waits.push((moved + limit, Wait::Undecided(limit)));
        }
        let trouble = scene.troubles.last_us().map(Duration::from_micros);
        // A delayed call may block a program with few threads until the call is cancelled or executed.
        let hung = self.calls_wait.then_some(from);
        if let Some(trouble) = trouble.max(hung) {
            let limit = self.scaled(self.retry_interval_max) + late;
            waits.push((trouble + limit, Wait::Retry(limit)));
        }
        let last = waits.into_iter().max_by_key(|(at, _)| *at);
        let longest = self.scaled(LONGEST).max(said);
        let longest = match last {
            Some((_, Wait::Retry(limit))) => longest.max(limit * self.times_of_faults.saturating_add(1)),
            _ => longest,
        };
        let cut = from + longest;
        let until = match last {
            Some((_, Wait::Retry(_))) => cut,
            _ => {
                // A system that was blocked by an error acts only once it has recovered. Limited, as errors may repeat.
                let ended = Duration::from_micros(scene.troubles.ended_us()) + self.scaled(UNDECIDED);
                cut.max(ended.min(cut + self.scaled(self.retry_interval_max)))
            }
        };
        let (at, wait) = match last {
            Some((at, wait)) if at <= until => (at, wait),
            Some((_, Wait::Retry(_))) => (until, Wait::Retry(longest)),
            _ => (until, Wait::Longest(until - from)),
        };
        match self.starts_until(scene) {
            Some(start) if start > at => (start, Wait::Start(self.scaled(START_TIMEOUT))),
            _ => (at, wait),
        }
    }

    /// Journal time until which started programs may make their first request. None if all have.
    fn starts_until(self, scene: &Scene) -> Option<Duration> {
        let started = scene.starting_us().map(Duration::from_micros)?;
        Some(started + self.scaled(START_TIMEOUT))
    }

    /// Journal time at which waiting for active systems ends.
    fn longest(self, acted: &Acted, scene: &Scene) -> Duration {
        Duration::from_micros(acted.at_us) + self.scaled(LONGEST) + self.slowness(acted, scene)
    }

    /// Extension of timeouts because of harness lag since the step's actions.
    fn slowness(self, acted: &Acted, scene: &Scene) -> Duration {
        let late = scene.late.saturating_sub(acted.late) * HOPS;
        late.min(self.scaled(LONGEST))
    }

    /// Journal time at which a wait of a holding monitor ends.
    pub(super) fn holding(self, monitor: &Monitor<'_>, bound: BoundKind, view: View<'_>) -> Duration {
        let (since, scene) = (&monitor.since, view.scene);
        let limit = match is_needless(monitor, bound, view) {
            true => self.scaled(self.refresh * NEEDLESS),
            false => self.limit(monitor.expect, bound),
        };
        let late = scene.late.saturating_sub(since.late);
        let slowed = match bound {
            BoundKind::Hold => Duration::ZERO,
            _ => (late * SLOWED).min(limit * SLOWEST),
        };
        let from = match bound {
            BoundKind::Unasked => since.at_us.max(scene.asked_us),
            _ => since.at_us,
        };
        let at = Duration::from_micros(from) + limit + slowed;
        match bound {
            // Silence of a program that has not started yet proves nothing.
            BoundKind::Unasked | BoundKind::Undecided => at.max(self.starts_until(scene).unwrap_or_default()),
            BoundKind::Within | BoundKind::Hold => at,
        }
    }

    /// Duration that a holding expectation waits for this bound.
    fn limit(self, expect: &Expect, bound: BoundKind) -> Duration {
        self.scaled(match (bound, expect.hold) {
            (BoundKind::Within, _) => expect.within.time(self.refresh),
            (BoundKind::Unasked, _) => (self.refresh * MISSED).max(UNASKED),
            (BoundKind::Undecided, _) => UNDECIDED,
            (BoundKind::Hold, Some(Bound::Time(time))) => time,
            // For a system without further calls, time replaces rounds.
            (BoundKind::Hold, Some(rounds)) => (rounds.time(self.refresh) * 3).max(SILENCE),
            (BoundKind::Hold, None) => Duration::ZERO,
        })
    }

    fn scaled(self, time: Duration) -> Duration {
        time.mul_f64(self.patience)
    }
}

/// Whether, according to an expected specification, the systems have nothing to do: the publisher needs no GetCapacity call, or the
/// scheduler has rejected every waiting pod for a valid reason.
fn is_needless(monitor: &Monitor<'_>, bound: BoundKind, view: View<'_>) -> bool {
    let (Predicate::Specification, Some(oracle)) = (&monitor.expect.predicate, view.oracle) else {
        return false;
    };
    match bound {
        BoundKind::Unasked => !oracle.must_call_get_capacity(),
        BoundKind::Undecided => view.scene.has_refused_all(view.cluster),
        BoundKind::Within | BoundKind::Hold => false,
    }
}

/// The bounds that a monitor waits for, with their journal times.
pub(super) fn bounds(
    pace: Pace,
    monitor: &Monitor<'_>,
    acted: &Acted,
    view: View<'_>,
) -> Vec<(Duration, BoundKind)> {
    let waits = monitor.pending(view).into_iter();
    let mut bounds: Vec<_> = waits
        .map(|bound| {
            let at = pace.holding(monitor, bound, view);
            match bound {
                // A pod that is retried without any decision must not extend the case forever.
                BoundKind::Undecided => (at.min(pace.longest(acted, view.scene)), bound),
                _ => (at, bound),
            }
        })
        .collect();
    if monitor.phase == Phase::Waiting {
        bounds.push((pace.within(monitor.expect, acted, view).0, BoundKind::Within));
    }
    bounds
}
