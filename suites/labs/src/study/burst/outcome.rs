//! Results of burst runs, and findings on the KEP's statements. Identifies runs by the names of their variants.

use std::collections::BTreeSet;

use crate::study::{Axis, Bound, Cell, Finding, Line, Plot, Table};
use suites::harness::standalone::CsiMethod;

use super::Burst;
use super::variant::{
    EXTENDER, LATE, PLAIN, PLAIN_UNTRACKED, ROOMY, ROOMY_UNTRACKED, SCORED, TRACKED, UNTRACKED,
};
use crate::study::journal::Run;

/// Approximate number of points of a plotted line.
const POINTS: usize = 60;

/// Result of one run.
#[derive(Debug)]
pub(super) struct Outcome {
    variant: &'static str,
    /// Number of CreateVolume calls that the driver rejected.
    refused: usize,
    requests: usize,
    /// Verbs and resources of the scheduler's requests, without status updates and events.
    kinds: BTreeSet<(String, String)>,
    questions: usize,
    writes: usize,
    /// Scheduling time of each scheduled pod, in seconds since the first pod was created.
    times: Vec<f64>,
}

impl Outcome {
    /// The result in the journal of a run.
    pub(super) fn of(variant: &'static str, run: &Run) -> Self {
        let tally = run.step(1);
        let of_scheduler = tally
            .requests
            .keys()
            .filter(|(client, _, _)| client == "scheduler");
        let says =
            |verb: &str, resource: &str| resource == "events" || (verb, resource) == ("patch", "pods/status");
        Self {
            variant,
            refused: tally.refused(CsiMethod::CreateVolume),
            requests: tally.of_client("scheduler"),
            kinds: of_scheduler
                .filter(|(_, verb, resource)| !says(verb, resource))
                .map(|(_, verb, resource)| ((*verb).to_owned(), resource.clone()))
                .collect(),
            questions: tally.questions,
            writes: tally.writes(),
            times: tally.placements.clone(),
        }
    }

    /// Time from the first pod created to the last one scheduled.
    fn seconds(&self) -> f64 {
        self.times.last().copied().unwrap_or_default()
    }

    /// Seconds until this percentage of the scheduled pods was scheduled.
    fn percentile(&self, percent: usize) -> f64 {
        let last = self.times.len().saturating_sub(1);
        let at = (self.times.len() * percent / 100).min(last);
        self.times.get(at).copied().unwrap_or_default()
    }

    /// Number of scheduled pods over time.
    fn course(&self) -> Vec<(f64, f64)> {
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

/// The description of each variant.
pub(super) fn legend(burst: &Burst) -> Table {
    let mut table = Table::new("The variants", &["variant", "what it is"]);
    for variant in &burst.variants {
        table.row([Cell::from(variant.name), variant.meaning.into()]);
    }
    table
}

/// One row per run.
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
            run.refused.into(),
            (run.refused as f64 / burst.pods() as f64).into(),
            run.requests.into(),
            run.questions.into(),
            run.writes.into(),
            run.percentile(50).into(),
            run.percentile(99).into(),
            run.seconds().into(),
        ]);
    }
    table
}

/// One line per run.
pub(super) fn plot(runs: &[Outcome]) -> Plot {
    let lines = runs.iter().map(|run| Line {
        name: run.variant.to_owned(),
        points: run.course(),
    });
    Plot {
        title: "Pods that have their node".to_owned(),
        x: Axis::even("seconds since the first pod"),
        y: Axis::even("pods"),
        lines: lines.collect(),
    }
}

/// The findings that the runs allow. `is_simulated`: otherwise times depend on the machine.
pub(super) fn findings(runs: &[Outcome], burst: &Burst, is_simulated: bool) -> Vec<Finding> {
    let all = All {
        runs,
        pods: burst.pods() as f64,
    };
    let made = [
        all.all_are_placed(),
        all.stuck_without_tracking(),
        all.refused_without_tracking(),
        all.late_figures_are_retried(),
        all.late_figures_end(),
        all.as_fast_with_tracking().filter(|_| is_simulated),
        all.plain_pods_are_not_concerned(),
        all.scoring_asks_for_nothing(),
        all.faster_without_extender().filter(|_| is_simulated),
    ];
    made.into_iter().flatten().collect()
}

/// All runs. A finding is made only if the runs that it compares exist.
struct All<'a> {
    runs: &'a [Outcome],
    pods: f64,
}

impl All<'_> {
    fn of(&self, variant: &str) -> Option<&Outcome> {
        self.runs.iter().find(|run| run.variant == variant)
    }

    fn left(&self, run: &Outcome) -> f64 {
        self.pods - run.times.len() as f64
    }

    fn all_are_placed(&self) -> Option<Finding> {
        let what = format!("pods of {} that are left behind with tracking", self.pods);
        let left = self.left(self.of(TRACKED)?);
        Some(Finding::new("SCALE-15", what, left, Bound::Exactly(0.0)))
    }

    fn stuck_without_tracking(&self) -> Option<Finding> {
        let until = self.of(TRACKED)?.seconds();
        let meanwhile = self.of(UNTRACKED)?.times.iter().filter(|at| **at <= until);
        Some(Finding::new(
            "SCALE-16",
            "pods that have no node without tracking, when the last one with tracking has its node",
            self.pods - meanwhile.count() as f64,
            Bound::Above(0.0),
        ))
    }

    fn refused_without_tracking(&self) -> Option<Finding> {
        let (tracked, untracked) = (self.of(TRACKED)?, self.of(UNTRACKED)?);
        Some(Finding::new(
            "SCALE-16",
            "volumes that are refused without tracking, for each with it and one more",
            untracked.refused as f64 / (tracked.refused as f64 + 1.0),
            Bound::Above(1.0),
        ))
    }

    fn late_figures_are_retried(&self) -> Option<Finding> {
        let what = "volumes that are refused with tracking, where figures come late";
        let refused = self.of(LATE)?.refused as f64;
        Some(Finding::new("PROV-17", what, refused, Bound::Above(0.0)))
    }

    fn late_figures_end(&self) -> Option<Finding> {
        let left = self.left(self.of(LATE)?);
        Some(Finding::new(
            "PROV-17",
            "pods that are left behind there",
            left,
            Bound::Exactly(0.0),
        ))
    }

    fn as_fast_with_tracking(&self) -> Option<Finding> {
        Some(Finding::new(
            "PROV-12",
            "simulated time with tracking, for each second without, where there is room for twice as many",
            self.of(ROOMY)?.seconds() / self.of(ROOMY_UNTRACKED)?.seconds(),
            Bound::AtMost(1.1),
        ))
    }

    fn plain_pods_are_not_concerned(&self) -> Option<Finding> {
        Some(Finding::new(
            "SCALE-19",
            "requests of the scheduler for pods without volumes with tracking, for each without",
            self.of(PLAIN)?.requests as f64 / self.of(PLAIN_UNTRACKED)?.requests as f64,
            Bound::Exactly(1.0),
        ))
    }

    fn scoring_asks_for_nothing(&self) -> Option<Finding> {
        let more = self.of(SCORED)?.kinds.difference(&self.of(TRACKED)?.kinds);
        Some(Finding::new(
            "SCALE-21",
            "kinds of requests that the scheduler makes only when it scores",
            more.count() as f64,
            Bound::Exactly(0.0),
        ))
    }

    fn faster_without_extender(&self) -> Option<Finding> {
        Some(Finding::new(
            "BM-28",
            "simulated time with a reserving extender, for each second with tracking in its place",
            self.of(EXTENDER)?.seconds() / self.of(TRACKED)?.seconds(),
            Bound::Above(1.0),
        ))
    }
}
