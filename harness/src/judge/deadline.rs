//! When a bound is reached: how long an expectation may take, how long it has to hold, and how long systems may be silent.
//!
//! Reads facts alone, so that the moment moves as they come. A missed expectation is judged after what it says, and after the systems
//! have had their say about it; a machine that was late, as far as the journal shows, gives them more time. What a bound means is the
//! monitor's.

use std::time::Duration;

use super::monitor::{Monitor, Phase, View};
use super::settled::Scene;
use crate::cluster_state::Rounds;
use crate::expectation::{Expect, Predicate};
use crate::journal::{BoundKind, START_TIMEOUT};
use crate::plan::Bound;

/// A missed expectation is judged when nothing has moved for this long: requests, commits, watch events, and calls that change
/// volumes or bring news of capacity.
const STILL: Duration = Duration::from_secs(1);

/// Longer than the second for which publishers wait at most before they try again, as their manifests set it.
const RETRIED: Duration = Duration::from_millis(1_200);

/// The most that a missed expectation waits for systems that go on, where it does not say more itself.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// Where the harness was late others were too, and each of many hops from cause to effect: a missed expectation gets so many times more,
/// but no more than [`LONGEST`]. A machine that is late for a quarter of the time would put it off for ever.
const HOPS: u32 = 4;

/// However short the refresh: a publisher without a GetCapacity call for this long, and for [`MISSED`] refreshes, counts as one that
/// makes none.
const UNASKED: Duration = RETRIED;
const MISSED: u32 = 10;

/// Refreshes for which systems are waited for that have nothing to do, as far as the specification knows.
const NEEDLESS: u32 = 3;

/// A scheduler that has not tried a pod again for this long is taken not to try: longer than the back-off of kube-scheduler as its
/// manifest sets it, and the second that its queue takes to notice the end of one.
const UNDECIDED: Duration = Duration::from_secs(3);

/// However short the refresh: a system without a call for this long, while something must hold for some rounds, will make none.
const SILENCE: Duration = Duration::from_secs(3);

/// Where the harness was late others were too, so that silence means less: it has to last longer by so many times that, ...
const SLOWED: u32 = 2;
/// ... and by so many times itself at the most.
const SLOWEST: u32 = 2;

/// Settings of the run that bounds are computed from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The publisher's poll interval.
    pub(super) refresh: Duration,
    /// The longest time that a system waits after an error before it tries again.
    pub(super) retry_interval_max: Duration,
    /// Multiplies every bound.
    pub(super) patience: f64,
    /// Whether calls wait, for the driver's answer or for their turn: the journal has a call only when it ends.
    pub(super) calls_wait: bool,
    /// How often faults that are over by themselves can be met, each after a wait.
    pub(super) times_of_faults: u32,
}

/// The moment from which the bounds of a step count: all its actions are done.
#[derive(Debug, Clone)]
pub(super) struct Acted {
    /// Journal time, in microseconds.
    pub(super) at_us: u64,
    /// How long the harness had been late up to then.
    pub(super) late: Duration,
    /// How often the systems had made calls and attempts up to then.
    pub(super) rounds: Rounds,
}

/// What a missed expectation waits for, beyond the time that it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wait {
    /// Nothing more.
    Said,
    /// Until nothing has moved for this long.
    Still(Duration),
    /// Until the publisher has called GetCapacity again, or has not for this long.
    Unasked(Duration),
    /// Until the scheduler has decided, or has done nothing for this long.
    Undecided(Duration),
    /// Until what had failed may have been tried again for this long.
    Retry(Duration),
    /// For the first request of a program that has started, for this long.
    Start(Duration),
    /// For systems that go on, but no longer than this.
    Longest(Duration),
}

impl Pace {
    /// The time that an expectation says it may take.
    pub(super) fn said(self, expect: &Expect) -> Duration {
        expect.within.time(self.refresh).mul_f64(self.patience)
    }

    /// When a missed expectation is judged, in journal time, and what decides about that.
    pub(super) fn within(self, expect: &Expect, acted: &Acted, view: View<'_>) -> (Duration, Wait) {
        let scene: &Scene = view.scene;
        let from = Duration::from_micros(acted.at_us);
        let moved = Duration::from_micros(scene.moved_us.max(scene.troubles.late_us())).max(from);
        let called = Duration::from_micros(scene.asked_us).max(from);
        let late = self.slowness(acted, scene);
        let said = self.said(expect);
        // What a publisher found no room for it tries again, and nothing tells when it did so last.
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
        // Looks at every waiting pod, so it is asked last.
        if waits.iter().all(|(at, _)| *at <= moved + limit) && !scene.has_decided_all(view.cluster) {
            waits.push((moved + limit, Wait::Undecided(limit)));
        }
        let trouble = scene.troubles.last_us().map(Duration::from_micros);
        // A call that waits may hold up a program with few threads until it gives the call up, or its turn comes.
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
                // A system that was held up by an error acts only after that has ended. One with errors again and again must not go on for ever.
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

    /// Until when a program that has started may take to make its first request, in journal time; none: each has made one.
    fn starts_until(self, scene: &Scene) -> Option<Duration> {
        let started = scene.starting_us().map(Duration::from_micros)?;
        Some(started + self.scaled(START_TIMEOUT))
    }

    /// When systems that go on are waited for no longer, in journal time.
    fn longest(self, acted: &Acted, scene: &Scene) -> Duration {
        Duration::from_micros(acted.at_us) + self.scaled(LONGEST) + self.slowness(acted, scene)
    }

    /// How much more time a machine gets that was late since the step was acted.
    fn slowness(self, acted: &Acted, scene: &Scene) -> Duration {
        let late = scene.late.saturating_sub(acted.late) * HOPS;
        late.min(self.scaled(LONGEST))
    }

    /// When a wait of a monitor that holds is over, in journal time.
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
            // The silence of a program that has not begun proves nothing.
            BoundKind::Unasked | BoundKind::Undecided => at.max(self.starts_until(scene).unwrap_or_default()),
            BoundKind::Within | BoundKind::Hold => at,
        }
    }

    /// How long something may take that an expectation which holds waits for.
    fn limit(self, expect: &Expect, bound: BoundKind) -> Duration {
        self.scaled(match (bound, expect.hold) {
            (BoundKind::Within, _) => expect.within.time(self.refresh),
            (BoundKind::Unasked, _) => (self.refresh * MISSED).max(UNASKED),
            (BoundKind::Undecided, _) => UNDECIDED,
            (BoundKind::Hold, Some(Bound::Time(time))) => time,
            // A system that makes no further call proves its silence by time.
            (BoundKind::Hold, Some(rounds)) => (rounds.time(self.refresh) * 3).max(SILENCE),
            (BoundKind::Hold, None) => Duration::ZERO,
        })
    }

    fn scaled(self, time: Duration) -> Duration {
        time.mul_f64(self.patience)
    }
}

/// Whether the specification, where it is expected, knows of nothing that a system would have to do: a publisher has no question, and a
/// scheduler has refused every pod that waits, with good reason.
fn is_needless(monitor: &Monitor<'_>, bound: BoundKind, view: View<'_>) -> bool {
    let (Predicate::Specification, Some(oracle)) = (&monitor.expect.predicate, view.oracle) else {
        return false;
    };
    match bound {
        BoundKind::Unasked => !oracle.has_questions(),
        BoundKind::Undecided => view.scene.has_refused_all(view.cluster),
        BoundKind::Within | BoundKind::Hold => false,
    }
}

/// The bounds that a monitor waits for, each with its moment in journal time.
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
                // A pod that is tried again and again, and never decided about, must not keep the case for ever.
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
