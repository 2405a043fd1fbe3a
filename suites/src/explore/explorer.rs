//! Runs generated clusters, groups their failures into findings, minimizes each finding, and writes a case for it.
//!
//! Deterministic: clusters run concurrently, but results are processed in order of their seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harness::plan::Plan;
use tokio::task::JoinSet;

use super::axes::{self, Axes};
use super::case::generated_case;
use super::finding::{Finding, FindingError};
use super::focus::Focus;
use super::generate::{Generated, generate};
use super::history::History;
use super::shrink::{ShrinkLimits, Shrunk, shrink, until_deadline};
use super::signature::Signature;
use super::text::ExcusedRules;
use crate::report::CaseRecord;
use crate::resolve_generated_case;
use crate::select::Shard;
use crate::session::{CaseOutcome, CaseResult, Session};

/// Timeout of a run. Each step times out within seconds, so a run that exceeds this limit is stuck.
const RUN_TIMEOUT: Duration = Duration::from_secs(180);

/// Maximum number of runs per cluster. Each further run excuses the rule that the previous run violated, to find other violations.
const RUNS_MAX: usize = 5;

/// After the first finding, 1/`MINIMIZING_SHARE` of the time is reserved for minimizing.
const MINIMIZING_SHARE: u32 = 3;

/// Configuration of an exploration.
pub struct Explorer {
    /// The systems under test and the settings of their runs.
    pub session: Arc<Session>,
    /// Focuses (sets of running programs) to explore; empty for all.
    pub focuses: Vec<&'static Focus>,
    /// Seed of the first cluster; the seeds of further clusters are the following numbers.
    pub seed: u64,
    /// Shard of this machine; `None` for all clusters.
    pub shard: Option<Shard>,
    /// Number of concurrent runs.
    pub jobs: usize,
    /// Whether runs use simulated time and a seeded random generator.
    pub is_simulated: bool,
    /// Limits for minimizing a finding.
    pub limits: ShrinkLimits,
    /// Folder for the cases of findings; `None` to write none.
    pub output: Option<PathBuf>,
}

/// When the exploration ends.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// After this number of clusters, over all machines.
    Clusters(u64),
    /// At this time, or later if no run has ended yet. Runs in progress are dropped.
    Instant(Instant),
    /// At the first finding, or at this time.
    Finding(Instant),
}

/// The results so far of a running exploration.
#[derive(Debug, Default)]
pub struct Exploration {
    /// Number of clusters that ran. Skipped clusters are not counted.
    pub clusters: u64,
    /// Total number of events in the generated clusters.
    pub events: u64,
    /// Coverage of axis values.
    pub axes: Axes,
    /// Number of clusters without a violation, by focus (set of running programs).
    pub met: BTreeMap<&'static str, u64>,
    /// Findings, in order of their seeds.
    pub findings: Vec<Finding>,
    /// Manifest entries that excused a failure, as file:line:column, with the number of clusters that each entry excused.
    pub known: BTreeMap<String, u64>,
    /// Seeds of clusters without a verdict, because the machine was too busy.
    pub undecided: Vec<u64>,
    /// Reasons for skipped clusters, with the number of clusters skipped for each.
    pub skipped: BTreeMap<String, u64>,
    /// Seeds and errors of clusters that could not run.
    pub broken: Vec<(u64, String)>,
    /// Number of histories tried to minimize the current finding; `None` outside of minimizing.
    pub shrinking: Option<usize>,
}

struct ExploredCluster {
    generated: Generated,
    /// The first run, followed by a run for each excused rule.
    runs: Vec<Run>,
}

struct Run {
    /// Rules that earlier runs violated, and that this run therefore excuses.
    excused: ExcusedRules,
    ran: Result<CaseResult, String>,
}

impl ExploredCluster {
    fn is_undecided(&self) -> bool {
        let first = self.runs.first();
        first.is_some_and(
            |run| matches!(&run.ran, Ok(result) if matches!(result.outcome, CaseOutcome::Inconclusive(_))),
        )
    }
}

impl Run {
    /// The rule of the specification that this run violated, even if the manifest excuses the violation.
    fn broken_rule(&self) -> Option<&'static str> {
        match &self.ran.as_ref().ok()?.outcome {
            CaseOutcome::Failed(explained)
            | CaseOutcome::Flaky(_, explained)
            | CaseOutcome::KnownFailure(_, explained) => explained.rule.map(|rule| rule.id),
            _ => None,
        }
    }
}

impl Explorer {
    /// Runs clusters and minimizes findings. Calls `report` after each cluster and each minimizing step.
    ///
    /// If the future is dropped, the results so far remain in `exploration`. Fails if a case cannot be written.
    pub async fn explore(
        self: &Arc<Self>,
        until: Until,
        exploration: &mut Exploration,
        report: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        let began = Instant::now();
        self.run_clusters(until, began, exploration, report).await?;
        for number in 0..exploration.findings.len() {
            self.minimize(number, until, exploration, report).await?;
        }
        Ok(())
    }

    /// Runs clusters until the exploration ends, and writes the findings, which are not minimized yet.
    async fn run_clusters(
        self: &Arc<Self>,
        until: Until,
        began: Instant,
        exploration: &mut Exploration,
        report: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        let (mut running, mut ended) = (JoinSet::new(), BTreeMap::new());
        let (mut next, step) = self.shard.map_or((0, 1), |shard| {
            (shard.part() as u64 - 1, shard.shard_count() as u64)
        });
        let mut due = next;
        let mut again = Vec::new();
        loop {
            let deadline = until.start_deadline(began, !exploration.findings.is_empty());
            while running.len() < self.jobs
                && until.includes_cluster(next)
                && deadline.is_none_or(|deadline| Instant::now() < deadline)
            {
                let (explorer, number) = (self.clone(), next);
                running.spawn(async move {
                    let seed = explorer.seed_of(number);
                    let generated = generate(seed, &explorer.focuses);
                    (number, explorer.run_cluster(seed, generated, false).await)
                });
                next = next.wrapping_add(step);
            }
            let deadline = deadline.filter(|_| exploration.clusters > 0);
            match until_deadline(deadline, running.join_next()).await {
                None | Some(None) => break,
                Some(Some(Ok((number, cluster)))) => drop(ended.insert(number, cluster)),
                // A panic here is a bug of the harness: a panic in a system under test ends only the task of that system.
                Some(Some(Err(error))) => std::panic::resume_unwind(error.into_panic()),
            }
            while let Some(cluster) = ended.remove(&due) {
                let seed = self.seed_of(due);
                due = due.wrapping_add(step);
                if cluster.is_undecided() {
                    again.push((seed, cluster.generated));
                    continue;
                }
                self.record_result(seed, cluster, exploration)?;
                report(exploration);
                if matches!(until, Until::Finding(_)) && !exploration.findings.is_empty() {
                    return Ok(());
                }
            }
        }
        drop(running);
        // Repeats the runs that were inconclusive because the machine was busy, now one at a time.
        for (number, (seed, generated)) in again.into_iter().enumerate() {
            // Without any conclusive run, the first repetition may exceed the deadline.
            let end = until.start_deadline(began, !exploration.findings.is_empty());
            let end = end.filter(|_| exploration.clusters > 0 || number > 0);
            let is_late = end.is_some_and(|end| end <= Instant::now());
            let cluster = match is_late {
                true => None,
                false => until_deadline(end, self.run_cluster(seed, generated, true)).await,
            };
            match cluster {
                Some(cluster) => self.record_result(seed, cluster, exploration)?,
                None => exploration.undecided.push(seed),
            }
            report(exploration);
        }
        Ok(())
    }

    /// The seed of the cluster with this number, counted from 0.
    fn seed_of(&self, number: u64) -> u64 {
        self.seed.wrapping_add(number)
    }

    /// Runs a cluster, then again with each violated rule excused, to find other violations. `is_alone`: no other cluster runs at the same
    /// time.
    async fn run_cluster(&self, seed: u64, generated: Generated, is_alone: bool) -> ExploredCluster {
        let (mut runs, mut excused) = (Vec::new(), ExcusedRules::new());
        loop {
            let text = generated_case(generated.focus, seed, &generated.history, &excused);
            let run = Run {
                ran: self.run(seed, &text, is_alone).await,
                excused: excused.clone(),
            };
            let rule = run.broken_rule().filter(|_| runs.len() + 1 < RUNS_MAX);
            runs.push(run);
            // The loop ends, because an excused rule is not violated again.
            if !rule.is_some_and(|rule| excused.insert(rule)) {
                return ExploredCluster { generated, runs };
            }
        }
    }

    /// Runs the case of a cluster. `is_alone`: no other cluster runs at the same time. An invalid case text is a bug of the generator.
    async fn run(&self, seed: u64, text: &str, is_alone: bool) -> Result<CaseResult, String> {
        let (session, plan) = (self.session(seed), parse_generated_case(text)?);
        let run = async {
            match is_alone {
                true => session.run_one(plan).await,
                false => session.run_concurrently(plan).await,
            }
        };
        let ran = tokio::time::timeout(RUN_TIMEOUT, run).await;
        ran.map_err(|_| format!("the run did not end within {} s", RUN_TIMEOUT.as_secs()))
    }

    pub(super) fn session(&self, seed: u64) -> Session {
        let mut session = (*self.session).clone();
        session.options.seed = self.is_simulated.then_some(seed);
        session
    }

    /// Adds the result of a cluster to `exploration`, and writes a case for each new finding.
    fn record_result(
        &self,
        seed: u64,
        ExploredCluster { generated, runs }: ExploredCluster,
        exploration: &mut Exploration,
    ) -> Result<(), FindingError> {
        let mut known = BTreeSet::new();
        let mut signatures = BTreeSet::new();
        for (number, run) in runs.into_iter().enumerate() {
            let is_first = number == 0;
            let result = match run.ran {
                Ok(result) => result,
                Err(why) => {
                    exploration.broken.push((seed, why));
                    return Ok(());
                }
            };
            match &result.outcome {
                CaseOutcome::Skipped(why) => {
                    *exploration.skipped.entry(why.clone()).or_default() += 1;
                    return Ok(());
                }
                CaseOutcome::NotRun(error) => {
                    exploration.broken.push((seed, error.to_string()));
                    return Ok(());
                }
                CaseOutcome::Failed(explained) if generated.history.may_exit(explained.exited_role) => {
                    let why = "the publisher exits if the driver does not support GetCapacity";
                    *exploration.skipped.entry(why.to_owned()).or_default() += 1;
                    return Ok(());
                }
                CaseOutcome::Inconclusive(_) if is_first => exploration.undecided.push(seed),
                CaseOutcome::KnownFailure(entry, _) => {
                    if known.insert(entry.position.clone()) {
                        *exploration.known.entry(entry.position.clone()).or_default() += 1;
                    }
                }
                CaseOutcome::Passed
                | CaseOutcome::UnexpectedPass(_)
                | CaseOutcome::Failed(_)
                | CaseOutcome::Flaky(..)
                | CaseOutcome::Inconclusive(_) => {}
            }
            let is_met = is_first
                && matches!(
                    result.outcome,
                    CaseOutcome::Passed | CaseOutcome::UnexpectedPass(_)
                );
            if is_first {
                exploration.clusters += 1;
                exploration.events += u64::try_from(generated.history.events()).unwrap_or(u64::MAX);
                exploration
                    .axes
                    .add(axes::axis_values(generated.focus, &generated.history));
            }
            let found = Signature::violations_of_run(&result, self.session.manifest.as_ref());
            if is_met && found.is_empty() {
                *exploration.met.entry(generated.focus.name).or_default() += 1;
            }
            for signature in found {
                if !signatures.insert(signature.clone()) {
                    continue;
                }
                let mut findings = exploration.findings.iter_mut();
                if let Some(known) = findings.find(|it| it.signature == signature) {
                    known.clusters += 1;
                    continue;
                }
                let mut finding = Finding {
                    signature,
                    focus: generated.focus,
                    seed,
                    clusters: 1,
                    shrunk: Shrunk::of(generated.history.clone()),
                    excused: run.excused.clone(),
                    written: None,
                };
                if let Some(folder) = &self.output {
                    finding.written = Some(self.write_found(&finding, CaseRecord::new(&result), folder)?);
                }
                exploration.findings.push(finding);
            }
        }
        Ok(())
    }

    /// Minimizes the finding at this index, and rewrites the case of the finding.
    async fn minimize(
        self: &Arc<Self>,
        number: usize,
        until: Until,
        exploration: &mut Exploration,
        report: &mut (dyn FnMut(&Exploration) + Send),
    ) -> Result<(), FindingError> {
        exploration.shrinking = Some(0);
        let now = Instant::now();
        // Divide the remaining time equally among this finding and the later findings.
        let left = u32::try_from(exploration.findings.len() - number).unwrap_or(u32::MAX);
        let limits = ShrinkLimits {
            deadline: until
                .end_time()
                .map(|end| now + end.saturating_duration_since(now) / left),
            ..self.limits
        };
        let finding = &exploration.findings[number];
        let (seed, focus, excused) = (finding.seed, finding.focus, finding.excused.clone());
        let (history, signature) = (finding.shrunk.history.clone(), finding.signature.clone());
        let reproduces = |history: History| {
            *exploration.shrinking.get_or_insert_default() += 1;
            report(exploration);
            let (explorer, signature) = (self.clone(), signature.clone());
            let text = generated_case(focus, seed, &history, &excused);
            // Dropping this JoinSet, as at the deadline, aborts the task.
            let mut task = JoinSet::new();
            task.spawn(async move {
                let manifest = explorer.session.manifest.as_ref();
                let ran = explorer.run(seed, &text, false).await;
                let shown = ran.map(|result| Signature::violations_of_run(&result, manifest));
                shown.is_ok_and(|shown| shown.contains(&signature))
            });
            async move { matches!(task.join_next().await, Some(Ok(true))) }
        };
        let shrunk = Box::pin(shrink(history, limits, reproduces)).await;
        exploration.shrinking = None;
        let finding = &mut exploration.findings[number];
        finding.shrunk = shrunk;
        if let Some(folder) = &self.output {
            self.rewrite_minimized(finding, folder, until.end_time()).await?;
        }
        Ok(())
    }
}

impl Until {
    /// The time at which the exploration ends; `None` without a time limit.
    fn end_time(self) -> Option<Instant> {
        match self {
            Until::Clusters(_) => None,
            Until::Instant(end) | Until::Finding(end) => Some(end),
        }
    }

    /// Time after which no further cluster is started, given the start of the exploration; `None` without a time limit.
    fn start_deadline(self, began: Instant, has_findings: bool) -> Option<Instant> {
        let end = self.end_time()?;
        Some(match has_findings {
            true => end - end.saturating_duration_since(began) / MINIMIZING_SHARE,
            false => end,
        })
    }

    fn includes_cluster(self, number: u64) -> bool {
        match self {
            Until::Clusters(clusters) => number < clusters,
            Until::Instant(_) | Until::Finding(_) => true,
        }
    }
}

pub(super) fn parse_generated_case(text: &str) -> Result<Plan, String> {
    resolve_generated_case("generated.yaml", text).map_err(|error| error.to_string())
}
