//! Runs the cases against the defects: a case that passes with every defect proves nothing, and a defect that no case detects could exist
//! in any program under test.
//!
//! Does not know the references: the caller builds the systems for a defect name.

mod html;
mod markdown;
mod reach;
mod record;
mod scope;
mod share;
mod violation_coverage;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use suites::harness::invocation::program;
use suites::harness::judge::{Failure, Finding, Verdict};
use suites::harness::manifest::Manifest;
use suites::harness::plan::Plan;
use suites::harness::system::Systems;
use suites::harness::{Outcome, RunOptions, StartError, run};

use suites::report::rounded_seconds;
use suites::{
    Defect, FailureText, KnownFailureMatch, Shard, excusing_entry, explain_failure, match_known_failure,
};

use crate::concurrently::run_concurrently;
use reach::{Baseline, ObservedRun};
use scope::is_named;

pub use html::page as html;
pub use markdown::page as markdown;
pub use reach::{Observe, Observed};
pub use record::{CaseDetections, Claim, DefectResult, FORMAT, Problem, SelftestReport, Trial, TrialResult};
pub use scope::{CaseSummary, Scope};
pub use share::ShardTrials;
pub use violation_coverage::{FileViolationCoverage, UnviolatedRequirement, ViolationCoverage};

/// Builds the references and the options of their runs. If the argument is a defect name, the references have that defect.
pub type Build = dyn Fn(Option<&str>) -> (Systems, RunOptions) + Send + Sync;

/// Which cases run with each defect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// The cases that the catalogue lists for the defect, under `claims` or `cases`.
    Named,
    /// Every case that executes the broken code.
    Full,
}

/// Configuration of a self-test.
pub struct Selftest {
    /// The defects to inject.
    pub defects: Vec<Defect>,
    /// The cases to run, with and without each defect.
    pub plans: Vec<Arc<Plan>>,
    /// Whether all cases and all defects are selected. If so, a defect that no case detects is a problem.
    pub is_whole: bool,
    /// Which cases run with each defect.
    pub pairing: Pairing,
    /// Number of concurrent runs; may exceed the cores, because most runs wait for timeouts.
    pub jobs: usize,
    /// Builds the systems under test for each run.
    pub build: Arc<Build>,
    /// Observes which code a case executes, to skip defects in other code; `None` to run every case with every defect.
    pub observe: Option<Arc<Observe>>,
    /// Name of the manifest of the programs under test; `None` for the references. How these programs fail with a defect is not known in
    /// advance, so a defect counts as detected if any case fails, with any message.
    pub sut: Option<String>,
    /// Manifest with the known failures of the programs under test, which do not count as detections; `None` without a manifest.
    pub manifest: Option<Manifest>,
    /// The shard of the runs for this host: those with every n-th defect, and every n-th run without a defect. `None` for all runs.
    pub shard: Option<Shard>,
}

/// Number of concurrent runs when inconclusive runs are repeated.
const REPETITION_JOBS: usize = 8;

impl Selftest {
    /// Runs every case with the defects that `pairing` selects, and once without a defect; calls `each` with every result.
    ///
    /// Repeats inconclusive runs at lower concurrency. Also repeats a case that missed a defect for which it is listed: some defects only
    /// affect timing, which is not observable on a busy machine.
    pub async fn run(self: &Arc<Self>, mut each: impl FnMut(&Trial)) -> Vec<Trial> {
        let mut pairs = self.runs_of_shard();
        let mut trials = match self.observe.clone() {
            Some(observe) => self.run_baseline(&observe, &mut pairs, &mut each).await,
            None => Vec::new(),
        };
        trials.extend(self.run_pairs(pairs, self.jobs, &mut each).await);
        let again: Vec<DefectAndCase> = trials
            .iter()
            .filter(|trial| self.needs_repetition(trial))
            .filter_map(|trial| self.defect_and_case_of(trial))
            .collect();
        trials.retain(|trial| !self.needs_repetition(trial));
        for mut trial in self.run_pairs(again, REPETITION_JOBS, &mut each).await {
            trial.runs = 2;
            trials.push(trial);
        }
        trials.sort_by(|a, b| (&a.defect, &a.case).cmp(&(&b.defect, &b.case)));
        trials
    }

    /// Returns the results of an interrupted self-test, and the scope that they cover: only the defects with which all cases have run.
    pub fn finished_part(&self, trials: Vec<Trial>) -> (Scope, Vec<Trial>) {
        let settled = trials.iter().filter(|trial| !self.needs_repetition(trial));
        let settled: BTreeSet<_> = settled
            .map(|trial| (trial.defect.as_deref(), trial.case.as_str()))
            .collect();
        let mut pending = BTreeSet::new();
        for (defect, plan) in self.runs_of_shard() {
            let defect = defect.map(|at| self.defects[at].name.as_str());
            if !settled.contains(&(defect, self.plans[plan].id())) {
                pending.extend(defect.map(str::to_owned));
            }
        }
        let is_settled = |defect: &str| !pending.contains(defect);
        let mut part = Scope {
            is_whole: false,
            ..self.scope()
        };
        part.defects.retain(|defect| is_settled(&defect.name));
        let is_final =
            |trial: &Trial| !self.needs_repetition(trial) && trial.defect.as_deref().is_none_or(is_settled);
        let trials = trials.into_iter().filter(is_final).collect();
        (part, trials)
    }

    /// The defects and cases of the whole self-test, over all shards.
    pub fn scope(&self) -> Scope {
        Scope {
            defects: self.defects.clone(),
            cases: self.plans.iter().map(|plan| CaseSummary::of(plan)).collect(),
            is_whole: self.is_whole,
            pairing: self.pairing,
            sut: self.sut.clone(),
        }
    }

    /// Whether a run must be repeated, because its result may be an effect of load on the host.
    fn needs_repetition(&self, trial: &Trial) -> bool {
        match trial.found {
            TrialResult::Undecided => trial.runs == 1,
            TrialResult::Passed => {
                let is_named = |defect: &String| is_named(&self.defects, &trial.case, defect);
                trial.runs == 1 && self.sut.is_none() && trial.defect.as_ref().is_some_and(is_named)
            }
            TrialResult::Failed | TrialResult::Broken | TrialResult::Unreached => false,
        }
    }

    /// Number of runs in the shard of this host, without repetitions.
    pub fn run_count(&self) -> usize {
        self.runs_of_shard().len()
    }

    /// The runs in the shard of this host: first those with a defect, which take longest, then every case without a defect.
    fn runs_of_shard(&self) -> Vec<DefectAndCase> {
        let mut pairs: Vec<DefectAndCase> = Vec::new();
        for (at, defect) in self.defects.iter().enumerate() {
            let cases = self.plans.iter().enumerate();
            let held = cases.filter(|(_, plan)| match self.pairing {
                Pairing::Named => defect.lists_case(plan.id()),
                Pairing::Full => uses_broken_component(defect, plan) || defect.lists_case(plan.id()),
            });
            pairs.extend(held.map(|(plan, _)| (Some(at), plan)));
        }
        let healthy: BTreeSet<usize> = match self.is_whole {
            true => (0..self.plans.len()).collect(),
            false => pairs.iter().map(|(_, plan)| *plan).collect(),
        };
        pairs.extend(healthy.into_iter().map(|plan| (None, plan)));
        pairs.retain(|(defect, plan)| self.shard.is_none_or(|shard| shard.has(defect.unwrap_or(*plan))));
        pairs
    }

    fn defect_and_case_of(&self, trial: &Trial) -> Option<DefectAndCase> {
        let named = |name: &String| self.defects.iter().position(|defect| defect.name == *name);
        let plan = self.plans.iter().position(|plan| plan.id() == trial.case)?;
        Some((trial.defect.as_ref().and_then(named), plan))
    }

    /// Runs the cases of these pairs without a defect, and removes each pair whose case does not execute the code of the defect.
    async fn run_baseline(
        self: &Arc<Self>,
        observe: &Arc<Observe>,
        pairs: &mut Vec<DefectAndCase>,
        each: &mut impl FnMut(&Trial),
    ) -> Vec<Trial> {
        let plans: BTreeSet<usize> = pairs.iter().map(|(_, plan)| *plan).collect();
        let (selftest, observe) = (self.clone(), observe.clone());
        let observe_case = move |plan| {
            let (selftest, observe) = (selftest.clone(), observe.clone());
            async move { (plan, selftest.run_observed(&*observe, plan).await) }
        };
        let seen = run_concurrently(self.jobs, plans, observe_case, |_| {}).await;
        let seen: BTreeMap<usize, Baseline> = seen.into_iter().collect();
        let mut known = Vec::new();
        pairs.retain(|(defect, plan)| {
            let healthy = &seen[plan];
            match defect {
                None => known.push(healthy.trial.clone()),
                Some(defect) if healthy.unreached.contains(defect) => {
                    known.push(Trial::unreached(&self.defects[*defect], &self.plans[*plan]));
                }
                Some(_) => return true,
            }
            false
        });
        known.iter().for_each(each);
        known
    }

    /// Runs a case without a defect, and records which defects' code it executes.
    async fn run_observed(&self, observe: &Observe, plan: usize) -> Baseline {
        let plan = &self.plans[plan];
        let observed = observe();
        let ended = run(plan.clone(), &observed.systems, observed.options).await;
        let mut healthy = Baseline {
            trial: self.trial(None, plan, &ended),
            unreached: BTreeSet::new(),
        };
        // A case that fails without a defect allows no conclusion about runs with a defect.
        if let (Ok(outcome), TrialResult::Passed) = (&ended, healthy.trial.found) {
            let mutants = (observed.reached)();
            let seen = ObservedRun::of(plan, outcome, mutants);
            let defects = self.defects.iter().enumerate();
            let unreached =
                defects.filter(|(_, defect)| !defect.lists_case(plan.id()) && !seen.may_change_run(defect));
            healthy.unreached = unreached.map(|(at, _)| at).collect();
        }
        healthy
    }

    async fn run_pairs(
        self: &Arc<Self>,
        pairs: Vec<DefectAndCase>,
        jobs: usize,
        each: &mut impl FnMut(&Trial),
    ) -> Vec<Trial> {
        let selftest = self.clone();
        let run_pair = move |pair| {
            let selftest = selftest.clone();
            async move { selftest.run_pair(pair).await }
        };
        run_concurrently(jobs, pairs, run_pair, each).await
    }

    async fn run_pair(&self, (defect, plan): DefectAndCase) -> Trial {
        let defect = defect.map(|at| &self.defects[at]);
        let plan = &self.plans[plan];
        let (systems, options) = (self.build)(defect.map(|defect| defect.name.as_str()));
        let ended = run(plan.clone(), &systems, options).await;
        self.trial(defect, plan, &ended)
    }

    fn trial(&self, defect: Option<&Defect>, plan: &Plan, ended: &Result<Outcome, StartError>) -> Trial {
        let mut trial = Trial {
            defect: defect.map(|defect| defect.name.clone()),
            case: plan.id().to_owned(),
            found: TrialResult::Broken,
            link: String::new(),
            explanation: None,
            seconds: 0.0,
            runs: 1,
        };
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(error) => {
                trial.link = error.to_string();
                return trial;
            }
        };
        trial.seconds = rounded_seconds(outcome.elapsed);
        let mut findings = suites::harness::judge::findings(plan, &outcome.journal.since(0));
        if let Some(manifest) = &self.manifest {
            findings.retain(|finding| excusing_entry(manifest, finding).is_none());
        }
        trial.found = match (&self.manifest, outcome.verdict.failure()) {
            (Some(manifest), Some(failure)) if is_known(manifest, plan, failure) => TrialResult::Passed,
            _ => trial_result(outcome, &findings),
        };
        trial.link = deciding_link(outcome, &findings);
        let claimed = defect.and_then(|defect| defect.claims.get(plan.id()));
        // The missing link is the expected one, so the run counts as a detection, although load on the host made it inconclusive.
        if trial.found == TrialResult::Undecided && claimed.is_some_and(|words| words.matches(&trial.link)) {
            trial.found = TrialResult::Failed;
        }
        // Failures of cases that are not under `claims` get no explanation, because the report would become too large.
        if defect.is_none_or(|defect| defect.claims.contains_key(plan.id())) {
            let text = explain_failure(plan, outcome, self.rerun_command(defect, plan), Vec::new());
            trial.explanation = text.map(|text| anstream::adapter::strip_str(&text).to_string());
        }
        trial
    }
}

impl Selftest {
    fn rerun_command(&self, defect: Option<&Defect>, plan: &Plan) -> String {
        match (&self.sut, defect) {
            (None, Some(defect)) => format!(
                "{program} e2e --defect={} {}",
                defect.name,
                plan.id(),
                program = program()
            ),
            (None, None) => format!("{program} e2e {}", plan.id(), program = program()),
            (Some(sut), Some(defect)) => {
                format!(
                    "{program} selftest --sut={sut} --defect={} {}",
                    defect.name,
                    plan.id(),
                    program = program()
                )
            }
            (Some(sut), None) => format!(
                "{program} conformance --sut={sut} {}",
                plan.id(),
                program = program()
            ),
        }
    }
}

/// One run: the index of its defect (`None` without a defect), and the index of its case.
type DefectAndCase = (Option<usize>, usize);

fn uses_broken_component(defect: &Defect, plan: &Plan) -> bool {
    defect.role().is_none_or(|role| plan.roles.contains(&role))
}

fn is_known(manifest: &Manifest, plan: &Plan, failure: &Failure) -> bool {
    matches!(
        match_known_failure(manifest, plan.id(), &FailureText::of(failure)),
        KnownFailureMatch::Excused(_)
    )
}

/// The result of a run: a finding in a passed run counts as a failure.
fn trial_result(outcome: &Outcome, findings: &[Finding]) -> TrialResult {
    match outcome.verdict {
        Verdict::Pass if findings.is_empty() => TrialResult::Passed,
        Verdict::Pass | Verdict::Fail(_) => TrialResult::Failed,
        Verdict::Inconclusive(_) => TrialResult::Undecided,
    }
}

/// The reason for a failure: the first missing link of the causal chain with its note, or the verdict if a process exited. For a passed
/// case, the first finding.
fn deciding_link(outcome: &Outcome, findings: &[Finding]) -> String {
    if let Some(failure) = outcome.verdict.failure() {
        return FailureText::of(failure).missing_link();
    }
    let named = |finding: &Finding| format!("finding/{}: {}", finding.rule, finding.text);
    findings.first().map(named).unwrap_or_default()
}
