//! The judge: computes a verdict from a plan and facts. Performs no I/O: processes each fact of a running case, and again the facts of a
//! stored journal.

mod deadline;
mod duplicates;
mod findings;
mod host_lag;
mod monitor;
mod settled;
mod specification;
mod summary;
#[cfg(test)]
mod tests;
mod unrecovered;
mod verdict;

use std::time::Duration;

pub use capacity_spec::Rule as SpecRule;
use capacity_spec::Violation;

pub use findings::{Finding, RULES, Rule, findings, rule};
pub use verdict::{Failure, Progress, Verdict};

use crate::cluster_state::ClusterState;
pub use crate::expectation::{Chain, DiffRow, Link, Reason, RowState, Subject};
use crate::expectation::{Predicate, Window};
use crate::journal::{BoundFact, Fact, Observation, ProcessEvent, ProcessFact};
use crate::oracle::Oracle;
use crate::plan::{Action, Plan, Step};
use deadline::{ActionsDone, Timeouts, WaitReason};
use duplicates::Duplicates;
use monitor::{Monitor, Phase, View};
use settled::Activity;
use summary::{ReachedBound, summary};

/// Computes the verdict of a case from its facts as they arrive.
pub struct Judge<'p> {
    plan: &'p Plan,
    cluster: ClusterState,
    activity: Activity,
    /// Checks the specification; `Some` if a step expects `specification`.
    oracle: Option<Oracle<'p>>,
    duplicates: Duplicates,
    facts: Vec<Fact>,
    /// Whether only the last fact is stored, to save memory.
    drops_facts: bool,
    timeouts: Timeouts,
    step: usize,
    step_started: u64,
    started_us: u64,
    actions_done: Option<ActionsDone>,
    monitors: Vec<Monitor<'p>>,
    metrics_outdated: bool,
    failure: Option<Box<Failure>>,
}

impl<'p> Judge<'p> {
    /// A judge for a case that has not started.
    pub fn new(plan: &'p Plan) -> Self {
        Judge {
            plan,
            cluster: ClusterState::default(),
            activity: Activity::default(),
            oracle: plan.expects_specification().then(|| Oracle::new(plan)),
            duplicates: Duplicates::default(),
            facts: Vec::new(),
            drops_facts: false,
            timeouts: Timeouts {
                refresh: Duration::ZERO,
                retry_interval_max: Duration::ZERO,
                patience: 1.0,
                delays_calls: plan.delays_responses() || plan.publisher.get_capacity_qps.is_some(),
                fault_matches_max: plan.fault_matches_max(),
            },
            step: 0,
            step_started: 0,
            started_us: 0,
            actions_done: None,
            monitors: Vec::new(),
            metrics_outdated: false,
            failure: None,
        }
    }

    /// Drops facts after they are processed, to save memory. Explanations of failures are then incomplete.
    pub(crate) fn drop_facts(&mut self) {
        self.drops_facts = true;
        self.cluster.drop_events();
    }

    /// Processes the next fact of the journal.
    pub fn observe(&mut self, fact: Fact) {
        self.cluster.apply(&fact);
        self.activity.apply(&fact);
        let violations = self.oracle.as_mut().map(|oracle| oracle.observe(&fact));
        let surplus = self.duplicates.apply(&fact);
        self.metrics_outdated = match &fact.what {
            Observation::Metrics(_) => false,
            what => self.metrics_outdated || what.may_be_counted(),
        };
        if self.failure.is_none() {
            self.process_fact(&fact, surplus.is_some());
        }
        if matches!(fact.what, Observation::Quiet) && self.progress() == Progress::StepDone {
            self.settle_oracle();
        }
        if self.drops_facts {
            self.facts.clear();
        }
        self.facts.push(fact);
        if let (None, Some([_, ..])) = (&self.failure, violations.as_deref()) {
            let violations = violations.unwrap_or_default();
            self.failure = Some(Box::new(self.violation_failure(&violations)));
        }
        if self.failure.is_none() {
            // The deciding fact must be stored first, because the explanation of the failure uses it.
            self.failure = self
                .expectation_failure()
                .or_else(|| self.activity_limit_failure())
                .map(Box::new);
        }
    }

    fn process_fact(&mut self, fact: &Fact, is_uncounted: bool) {
        match &fact.what {
            Observation::Begin(begin) => {
                self.timeouts = Timeouts {
                    refresh: Duration::from_micros(begin.refresh_us),
                    retry_interval_max: Duration::from_micros(begin.retry_interval_max_us),
                    patience: begin.patience,
                    ..self.timeouts
                };
            }
            Observation::StepStarted(mark) => self.start_step(mark.step, fact),
            Observation::StepActed(_) => {
                let step = &self.plan.steps[self.step];
                // Clients of a stopped driver, or of an API version that was not served, may be in a back-off that started before the step.
                if step.starts_the_driver() || step.changes_the_release() {
                    self.activity.errors.add_unrecorded(fact.at_us);
                }
                self.actions_done = Some(ActionsDone {
                    at_us: fact.at_us,
                    lag: self.activity.lag,
                    rounds: self.cluster.rounds().clone(),
                });
            }
            Observation::Bound(reached) => {
                let reached = *reached;
                if reached.step == self.step {
                    self.each_monitor(fact, |at, monitor, view| {
                        if at == reached.expect {
                            monitor.reach_bound(reached.bound, view, fact);
                        }
                    });
                }
                return;
            }
            Observation::Process(process) => {
                let client = &process.client;
                let summary = match &process.event {
                    ProcessEvent::Exited(how) => format!("{client} ended by itself: {how}"),
                    ProcessEvent::NotReady(what) => format!("{client} was not ready: {what}"),
                    // `activity_limit_failure` builds this failure after the fact is stored.
                    ProcessEvent::Flooded(_)
                    | ProcessEvent::Started
                    | ProcessEvent::Stopped
                    | ProcessEvent::Killed => String::new(),
                };
                if !summary.is_empty() && !self.expects_end(process) {
                    let exit = match &process.event {
                        ProcessEvent::Exited(exit) => Some(exit.clone()),
                        _ => None,
                    };
                    let failure = self.failure_without_expectation(summary, fact.seq);
                    self.failure = Some(Box::new(Failure { exit, ..failure }));
                }
            }
            _ => {}
        }
        self.each_monitor(fact, |_, monitor, view| {
            monitor.observe(View { is_uncounted, ..view }, fact);
        });
    }

    /// Whether the step expects the role's program to exit, by an `ends` expectation or by a rule of the specification.
    fn expects_end(&self, process: &ProcessFact) -> bool {
        if !matches!(process.event, ProcessEvent::Exited(_)) {
            return false;
        }
        let mut expected = self.monitors.iter().map(|monitor| &monitor.expect.predicate);
        expected.any(|it| matches!(it, Predicate::Ends(ends) if ends.0.contains_key(&process.role)))
            || self.oracle.as_ref().is_some_and(|it| it.must_end(process.role))
    }

    fn each_monitor(&mut self, fact: &Fact, mut each: impl FnMut(usize, &mut Monitor<'p>, View<'_>)) {
        let mut monitors = std::mem::take(&mut self.monitors);
        let view = self.view(fact);
        for (at, monitor) in monitors.iter_mut().enumerate() {
            each(at, monitor, view);
        }
        self.monitors = monitors;
    }

    fn view(&self, fact: &Fact) -> View<'_> {
        self.view_at(fact.at_us)
    }

    fn view_at(&self, at_us: u64) -> View<'_> {
        let since = Duration::from_micros(at_us.saturating_sub(self.started_us));
        View {
            plan: self.plan,
            cluster: &self.cluster,
            oracle: self.oracle.as_ref(),
            activity: &self.activity,
            is_uncounted: false,
            step_started: self.step_started,
            refreshes: since.as_secs_f64() / self.timeouts.refresh.as_secs_f64().max(f64::EPSILON),
        }
    }

    fn start_step(&mut self, step: usize, fact: &Fact) {
        self.step = step;
        self.step_started = fact.seq;
        self.started_us = fact.at_us;
        self.actions_done = None;
        let expectations = self
            .plan
            .steps
            .get(step)
            .into_iter()
            .flat_map(|step| &step.expect);
        let view = self.view(fact);
        self.monitors = expectations
            .map(|expect| Monitor::new(expect, view, fact))
            .collect();
    }

    /// Makes the oracle check the rules for idle programs, at the end of a step that expects `specification`.
    fn settle_oracle(&mut self) {
        let step = self.plan.steps.get(self.step);
        if let Some(oracle) = &mut self.oracle
            && step.is_some_and(Step::expects_specification)
        {
            oracle.settle();
        }
    }

    /// Whether the step needs more facts, has ended, or has failed.
    pub fn progress(&self) -> Progress {
        if self.failure.is_some() {
            return Progress::Failed;
        }
        if self.actions_done.is_none() {
            return Progress::Running { quiet: false };
        }
        if self.monitors.iter().all(|monitor| monitor.phase == Phase::Met) {
            return Progress::StepDone;
        }
        let quiet = self
            .monitors
            .iter()
            .all(|monitor| matches!(monitor.phase, Phase::Met | Phase::AwaitingQuiet));
        Progress::Running { quiet }
    }

    /// Whether an expectation needs the metrics, which are scraped once the programs are idle.
    pub fn needs_metrics(&self) -> bool {
        let is_specified = !self.plan.specified_metrics.is_empty();
        self.waits_for_metrics()
            || is_specified && self.has_unmet_expectation(|it| matches!(it, Predicate::Specification))
    }

    fn waits_for_metrics(&self) -> bool {
        self.has_unmet_expectation(|it| matches!(it, Predicate::Metrics(_)))
    }

    /// Whether the step's actions are done, but an expectation whose condition satisfies `is_it` is not met yet.
    fn has_unmet_expectation(&self, is_it: impl Fn(&Predicate) -> bool) -> bool {
        let mut open = self.monitors.iter().filter(|it| it.phase != Phase::Met);
        self.actions_done.is_some() && open.any(|it| is_it(&it.expect.predicate))
    }

    /// Whether the metrics must be scraped again, because of facts after the last scrape.
    pub fn must_reread_metrics(&self) -> bool {
        self.metrics_outdated && self.waits_for_metrics()
    }

    /// The next deadline of the step's expectations, with its journal time.
    pub fn next_bound(&self) -> Option<(Duration, BoundFact)> {
        let actions_done = self.actions_done.as_ref()?;
        let view = self.view_at(self.started_us);
        let step = self.step;
        let bounds = self.monitors.iter().enumerate().flat_map(|(expect, monitor)| {
            let bounds = deadline::pending_deadlines(self.timeouts, monitor, actions_done, view).into_iter();
            bounds.map(move |(at, bound)| (at, BoundFact { step, expect, bound }))
        });
        bounds.min_by_key(|(at, _)| *at)
    }

    /// The verdict after the facts so far.
    pub fn verdict(&self) -> Verdict {
        if let Some(failure) = &self.failure {
            let mut failure = failure.clone();
            self.window().put_rejected_calls_first(&mut failure.chain);
            return match host_lag::excuses_failure(&self.facts, &failure) {
                true => Verdict::Inconclusive(failure),
                false => Verdict::Fail(failure),
            };
        }
        if self.progress() == Progress::StepDone && self.step + 1 == self.plan.steps.len() {
            return Verdict::Pass;
        }
        let summary = "the journal ends before the case was decided".to_owned();
        let last = self.facts.last().map_or(0, |fact| fact.seq);
        Verdict::Fail(Box::new(self.failure_without_expectation(summary, last)))
    }

    /// Whether the unexpected exit of a program has decided the case.
    pub(crate) fn has_crashed(&self) -> bool {
        self.failure
            .as_ref()
            .is_some_and(|failure| failure.exit.is_some())
    }

    /// All facts that the judge has stored so far.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// A failure of the current step that no expectation caused, such as an unexpected exit.
    fn failure_without_expectation(&self, summary: String, seq: u64) -> Failure {
        Failure {
            step: self.step,
            summary,
            decided_by: seq,
            step_started: self.step_started,
            ..Failure::default()
        }
    }

    fn violation_failure(&self, violations: &[Violation]) -> Failure {
        let seq = self.facts.last().map_or(0, |fact| fact.seq);
        let step = self.plan.steps.get(self.step);
        let rule = violations.first().map(|violation| violation.rule);
        let sentence = rule.map_or("", |rule| rule.sentence);
        Failure {
            rule,
            expect: step.and_then(|step| {
                let mut expectations = step.expect.iter();
                expectations.position(|expect| matches!(expect.predicate, Predicate::Specification))
            }),
            rows: violations
                .iter()
                .map(|it| specification::row(self.plan, it))
                .collect(),
            chain: self.window().violation_chain(sentence, seq),
            ..self.failure_without_expectation(specification::format_violations(violations), seq)
        }
    }

    fn window(&self) -> Window<'_> {
        let plan = self.plan;
        let scheduler = &plan.scheduler;
        let is_changed = plan
            .actions()
            .any(|action| matches!(action, Action::RestartScheduler(_)));
        let pool = |action: &'p Action| match action {
            Action::SetPool(segment, Some(_)) => Some(segment),
            _ => None,
        };
        Window {
            case: plan,
            is_default_release: plan.has_default_release()
                && scheduler.release.is_none()
                && scheduler.capacity_gate.is_none()
                && !is_changed,
            later_pools: plan.actions().filter_map(pool).collect(),
            cluster: &self.cluster,
            facts: &self.facts,
            from: self.step_started,
        }
    }

    /// The failure of an expectation that can no longer hold.
    fn expectation_failure(&self) -> Option<Failure> {
        let mut monitors = self.monitors.iter();
        let at = monitors.position(|monitor| matches!(monitor.phase, Phase::Failed(_)))?;
        let monitor = &self.monitors[at];
        let now = self.facts.last().map_or(Duration::ZERO, Fact::at);
        let view = self.view_at(self.started_us);
        let reached = ReachedBound {
            after: self.actions_done.as_ref().map_or(Duration::ZERO, |actions_done| {
                now.saturating_sub(Duration::from_micros(actions_done.at_us))
            }),
            wait: self
                .actions_done
                .as_ref()
                .map_or(WaitReason::OwnTimeout, |actions_done| {
                    self.timeouts.deadline(monitor.expect, actions_done, view).1
                }),
        };
        let mut failure = self.explain_failure(at, monitor.decided_by.unwrap_or_default());
        let summary_line = summary(monitor, self.timeouts, reached);
        failure.summary = match failure.summary.as_str() {
            "" => summary_line,
            details => format!("{summary_line}: {details}"),
        };
        Some(failure)
    }

    /// The failure for a program that exceeds its activity limit, explained by the first unmet expectation.
    fn activity_limit_failure(&self) -> Option<Failure> {
        let fact = self.facts.last()?;
        let Observation::Process(ProcessFact {
            client,
            event: ProcessEvent::Flooded(what),
            ..
        }) = &fact.what
        else {
            return None;
        };
        let mut monitors = self.monitors.iter();
        let failure = match monitors.position(|monitor| monitor.phase == Phase::Waiting) {
            Some(at) => self.explain_failure(at, fact.seq),
            None => self.failure_without_expectation(String::new(), fact.seq),
        };
        Some(Failure {
            summary: format!("{client} exceeds a limit: {what} in one case"),
            ..failure
        })
    }

    /// A failure with the differing rows and the causal chain of an expectation. Sets the summary only for violations of the
    /// specification; the caller sets it for other expectations.
    fn explain_failure(&self, at: usize, decided_by: u64) -> Failure {
        let monitor = &self.monitors[at];
        let window = self.window();
        let failure = Failure {
            expect: Some(at),
            ..self.failure_without_expectation(String::new(), decided_by)
        };
        match (&monitor.expect.predicate, &self.oracle) {
            (Predicate::Specification, Some(oracle)) => {
                let violations = oracle.violations_if_quiet();
                let (rows, chain) =
                    specification::rows_and_chain(&window, oracle.required_state(), &violations, decided_by);
                Failure {
                    summary: specification::format_violations(&violations),
                    rule: violations.first().map(|violation| violation.rule),
                    rows,
                    chain,
                    ..failure
                }
            }
            (predicate, _) => {
                let kind = predicate.kind();
                let rows = kind.rows(self.plan, &self.cluster);
                let chain = kind.failure_chain(&window, &rows, &monitor.seen, decided_by);
                Failure {
                    rows,
                    chain,
                    ..failure
                }
            }
        }
    }
}

/// Computes the verdict of a complete journal.
pub fn verdict(plan: &Plan, facts: impl IntoIterator<Item = Fact>) -> Verdict {
    let mut judge = Judge::new(plan);
    for fact in facts {
        judge.observe(fact);
    }
    judge.verdict()
}
