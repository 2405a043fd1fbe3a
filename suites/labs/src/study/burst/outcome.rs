//! Results of burst runs, and findings on the KEP's statements. Identifies runs by the names of their variants.

use std::collections::BTreeSet;

use crate::study::{Axis, Bound, Cell, Finding, Line, Plot, Table};
use suites::harness::standalone::CsiMethod;

use super::Burst;
use super::variant::{
    EXTENDER, LATE, PLAIN, PLAIN_UNTRACKED, ROOMY, ROOMY_UNTRACKED, SCORED, TRACKED, UNTRACKED,
};
use crate::study::journal::Run;

/// Approximate number of points per line of a plot.
const POINTS: usize = 60;

/// Counts and times of one variant of the burst.
#[derive(Debug)]
pub(super) struct Outcome {
    variant: &'static str,
    /// Number of CreateVolume calls that the driver rejected.
    rejected: usize,
    requests: usize,
    /// Verbs and resources of the scheduler's API requests, without status updates and events.
    kinds: BTreeSet<(String, String)>,
    extender_calls: usize,
    writes: usize,
    /// Scheduling time of each scheduled pod, in seconds since the first pod was created.
    times: Vec<f64>,
}

impl Outcome {
    /// Extracts the counts of the step in which the pods are created.
    pub(super) fn of(variant: &'static str, run: &Run) -> Self {
        let tally = run.step(1);
        let of_scheduler = tally
            .requests
            .keys()
            .filter(|(client, _, _)| client == "scheduler");
        let reports_status =
            |verb: &str, resource: &str| resource == "events" || (verb, resource) == ("patch", "pods/status");
        Self {
            variant,
            rejected: tally.rejected(CsiMethod::CreateVolume),
            requests: tally.requests_of_client("scheduler"),
            kinds: of_scheduler
                .filter(|(_, verb, resource)| !reports_status(verb, resource))
                .map(|(_, verb, resource)| ((*verb).to_owned(), resource.clone()))
                .collect(),
            extender_calls: tally.extender_calls,
            writes: tally.writes(),
            times: tally.placements.clone(),
        }
    }

    /// Seconds from the creation of the first pod to the scheduling of the last pod.
    fn seconds(&self) -> f64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// Seconds until this percentage of the scheduled pods was scheduled.
    fn percentile(&self, percent: usize) -> f64 {
        let last = self.times.len().saturating_sub(1);
        let at = (self.times.len() * percent / 100).min(last);
        self.times.get(at).copied().unwrap_or_default()
    }

    /// Points of a plot: seconds, and number of pods scheduled by then.
    fn scheduled_pods_over_time(&self) -> Vec<(f64, f64)> {
        let every = self.times.len().div_ceil(POINTS).max(1);
        let points = self
            .times
            .iter()
            .enumerate()
            .map(|(number, at)| (*at, (number + 1) as f64));
        points
            .clone()
            .step_by(every)
            .chain(points.clone().next_back())
            .collect()
    }
}

/// A table that describes each variant of the burst.
pub(super) fn legend(burst: &Burst) -> Table {
    let mut table = Table::new("The variants", &["variant", "what it is"]);
    for variant in &burst.variants {
        table.row([Cell::from(variant.name), variant.meaning.into()]);
    }
    table
}

pub(super) fn table(runs: &[Outcome], burst: &Burst) -> Table {
    let columns = [
        "variant",
        "placed",
        "stuck",
        "refused volumes",
        "refused for each pod",
        "requests of the scheduler",
        "extender calls",
        "writes of objects",
        "half placed, seconds",
        "99 % placed, seconds",
        "all placed, seconds",
    ];
    let title = format!(
        "{} pods at once on {} nodes, with slots for {} volumes each",
        burst.pods(),
        burst.nodes,
        burst.slots
    );
    let mut table = Table::new(title, &columns);
    for run in runs {
        table.row([
            Cell::from(run.variant),
            run.times.len().into(),
            (burst.pods() as usize - run.times.len()).into(),
            run.rejected.into(),
            (run.rejected as f64 / burst.pods() as f64).into(),
            run.requests.into(),
            run.extender_calls.into(),
            run.writes.into(),
            run.percentile(50).into(),
            run.percentile(99).into(),
            run.seconds().into(),
        ]);
    }
    table
}

pub(super) fn plot(runs: &[Outcome]) -> Plot {
    let lines = runs.iter().map(|run| Line {
        name: run.variant.to_owned(),
        points: run.scheduled_pods_over_time(),
    });
    Plot {
        title: "Scheduled pods".to_owned(),
        x: Axis::linear("seconds since the first pod"),
        y: Axis::linear("pods"),
        lines: lines.collect(),
    }
}

/// The findings on the variants that were run. `is_simulated`: times are simulated, so they do not depend on the host.
pub(super) fn findings(runs: &[Outcome], burst: &Burst, is_simulated: bool) -> Vec<Finding> {
    let all = Runs {
        runs,
        pods: burst.pods() as f64,
    };
    let findings = [
        all.all_are_placed(),
        all.stuck_without_tracking(),
        all.rejected_without_tracking(),
        all.stale_capacity_is_retried(),
        all.retries_succeed(),
        all.as_fast_with_tracking().filter(|_| is_simulated),
        all.plain_pods_cost_nothing(),
        all.scoring_sends_no_requests(),
        all.faster_without_extender().filter(|_| is_simulated),
    ];
    findings.into_iter().flatten().collect()
}

/// The outcomes of all variants that were run. A finding that compares variants is created only if all of them were run.
struct Runs<'a> {
    runs: &'a [Outcome],
    pods: f64,
}

impl Runs<'_> {
    fn of(&self, variant: &str) -> Option<&Outcome> {
        self.runs.iter().find(|run| run.variant == variant)
    }

    fn pending_pods(&self, run: &Outcome) -> f64 {
        self.pods - run.times.len() as f64
    }

    fn all_are_placed(&self) -> Option<Finding> {
        let what = format!("pods, of {}, that stay pending with tracking", self.pods);
        let pending_pods = self.pending_pods(self.of(TRACKED)?);
        Some(Finding::new("SCALE-15", what, pending_pods, Bound::Exactly(0.0)))
    }

    fn stuck_without_tracking(&self) -> Option<Finding> {
        let until = self.of(TRACKED)?.seconds();
        let meanwhile = self.of(UNTRACKED)?.times.iter().filter(|at| **at <= until);
        Some(Finding::new(
            "SCALE-16",
            "pods that are pending without tracking at the time when the last pod with tracking is scheduled",
            self.pods - meanwhile.count() as f64,
            Bound::Above(0.0),
        ))
    }

    fn rejected_without_tracking(&self) -> Option<Finding> {
        let (tracked, untracked) = (self.of(TRACKED)?, self.of(UNTRACKED)?);
        Some(Finding::new(
            "SCALE-16",
            "ratio of the volumes rejected without tracking to one more than the volumes rejected with tracking",
            untracked.rejected as f64 / (tracked.rejected as f64 + 1.0),
            Bound::Above(1.0),
        ))
    }

    fn stale_capacity_is_retried(&self) -> Option<Finding> {
        let what = "volumes rejected with tracking, if capacity updates are delayed";
        let rejected = self.of(LATE)?.rejected as f64;
        Some(Finding::new("PROV-17", what, rejected, Bound::Above(0.0)))
    }

    fn retries_succeed(&self) -> Option<Finding> {
        let pending_pods = self.pending_pods(self.of(LATE)?);
        Some(Finding::new(
            "PROV-17",
            "pods that stay pending with delayed updates",
            pending_pods,
            Bound::Exactly(0.0),
        ))
    }

    fn as_fast_with_tracking(&self) -> Option<Finding> {
        Some(Finding::new(
            "PROV-12",
            "ratio of the simulated time with tracking to the time without, with capacity for twice as many volumes",
            self.of(ROOMY)?.seconds() / self.of(ROOMY_UNTRACKED)?.seconds(),
            Bound::AtMost(1.1),
        ))
    }

    fn plain_pods_cost_nothing(&self) -> Option<Finding> {
        Some(Finding::new(
            "SCALE-19",
            "ratio of the scheduler's requests with tracking to its requests without, for pods without volumes",
            self.of(PLAIN)?.requests as f64 / self.of(PLAIN_UNTRACKED)?.requests as f64,
            Bound::Exactly(1.0),
        ))
    }

    fn scoring_sends_no_requests(&self) -> Option<Finding> {
        let more = self.of(SCORED)?.kinds.difference(&self.of(TRACKED)?.kinds);
        Some(Finding::new(
            "SCALE-21",
            "kinds of requests that the scheduler sends only with scoring",
            more.count() as f64,
            Bound::Exactly(0.0),
        ))
    }

    fn faster_without_extender(&self) -> Option<Finding> {
        Some(Finding::new(
            "BM-28",
            "ratio of the simulated time with a reserving extender to the time with tracking",
            self.of(EXTENDER)?.seconds() / self.of(TRACKED)?.seconds(),
            Bound::Above(1.0),
        ))
    }
}
