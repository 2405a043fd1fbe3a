//! Runs one plan: starts a cluster, passes the facts of the journal to the judge, and proceeds as the judge decides.
//!
//! Decides nothing about the verdict. Every wait is for a fact, for idle programs or for a deadline; idleness and reached deadlines are
//! recorded as facts.

use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::PANICKED;

use crate::cluster::{Cluster, extender};
use crate::journal::{BeginFact, FORMAT, Fact, Journal, LagFact, Observation, StepMark, to_micros};
use crate::judge::{Judge, Progress, Verdict};
use crate::live_cluster::LiveCluster;
use crate::machine;
use crate::plan::Plan;
use crate::run_options::{Observer, RunOptions};
use crate::start_error::StartError;
use crate::system::Systems;

/// The result of running a plan.
pub struct Outcome {
    /// The verdict of the case.
    pub verdict: Verdict,
    /// The journal with all facts of the run.
    pub journal: Journal,
    /// Time between the start of the first server and the verdict.
    pub elapsed: Duration,
    /// Logs of child processes, by client name.
    pub logs: Vec<(String, Vec<u8>)>,
}

/// Runs a plan until its verdict, on the clock of the tokio runtime.
pub(crate) async fn run(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
) -> Result<Outcome, StartError> {
    let (outcome, live) = Box::pin(run_and_keep(plan, systems, options)).await?;
    // The disk is checked while the files of the case still exist, because a full disk is not the fault of the program under test.
    let failure = outcome.verdict.failure();
    if let Some(shortage) = failure.and_then(|_| machine::shortage()) {
        live.stop().await;
        return Err(shortage.into());
    }
    let logs = live.stop().await;
    Ok(Outcome { logs, ..outcome })
}

/// Runs a plan until its verdict, and leaves the cluster running in its final state. Stopping the cluster returns the logs of child
/// processes.
pub async fn run_and_keep(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
) -> Result<(Outcome, LiveCluster), StartError> {
    let journal = Journal::default();
    journal.append(Observation::Begin(BeginFact {
        case: plan.id().to_owned(),
        refresh_us: to_micros(options.refresh),
        retry_interval_max_us: to_micros(options.retry_interval_max),
        patience: options.patience,
        format: FORMAT,
    }));
    let with_defect = options.defect.map(|defect| defect.inject_into(&plan));
    let executed = with_defect.as_ref().unwrap_or(&plan);
    let (observer, patience, seed) = (options.observer.clone(), options.patience, options.seed);
    let mut judge = Judge::new(&plan);
    if observer.is_some() {
        judge.drop_facts();
    }
    let mut cluster = Cluster::start(executed, systems, &journal, options).await?;
    let mut runner = Runner {
        panicked: None,
        plan: executed,
        judge,
        journal: &journal,
        next: 0,
        patience,
        observer,
        is_in_memory: systems.api_server.is_none(),
    };
    // In simulated time, the harness is never delayed, so the delay is measured only in real time.
    let lag = seed.is_none().then(|| tokio::spawn(watch_lag(journal.clone())));
    let completed = runner.run_steps(&mut cluster).await;
    if runner.judge.progress() == Progress::Failed {
        // A delay of the harness is recorded at its end, which may be after the deciding fact.
        tokio::time::sleep(TICK * 2).await;
        runner.feed_judge();
    }
    if let Some(lag) = lag {
        lag.abort();
    }
    let (verdict, elapsed) = (runner.judge.verdict(), journal.now());
    let panicked = runner.panicked.or(cluster.controller_panic().await);
    let panicked = panicked.map_or(Ok(()), Err);
    let live = LiveCluster::from_cluster(cluster);
    if let Err(error) = panicked.and(completed) {
        live.stop().await;
        return Err(error);
    }
    let outcome = Outcome {
        verdict,
        journal,
        elapsed,
        logs: Vec::new(),
    };
    Ok((outcome, live))
}

/// Interval at which the harness measures its own delay.
const TICK: Duration = Duration::from_millis(50);

/// Measures how late a timer of the harness fires, and records delays.
async fn watch_lag(journal: Journal) {
    /// Minimum delay that the harness records. Timers of a busy process are always late by some milliseconds.
    const NOTICEABLE: Duration = Duration::from_millis(10);
    loop {
        let due = journal.now() + TICK;
        tokio::time::sleep(TICK).await;
        let late = journal.now().saturating_sub(due);
        if late > NOTICEABLE {
            let late_us = to_micros(late);
            journal.append(Observation::Lag(LagFact { late_us }));
        }
    }
}

struct Runner<'p> {
    /// The executed plan, with injected defects. The judge has the plan without defects.
    plan: &'p Plan,
    judge: Judge<'p>,
    journal: &'p Journal,
    /// Sequence number of the first fact that the judge has not processed.
    next: u64,
    patience: f64,
    panicked: Option<StartError>,
    observer: Option<Observer>,
    is_in_memory: bool,
}

/// Returns an error if the handler of a request or call panicked. `is_in_memory`: whether the API server is the in-memory one.
fn panic_of(fact: &Fact, is_in_memory: bool) -> Option<StartError> {
    let part = match &fact.what {
        Observation::Request(request)
            if is_in_memory
                && request.code == 500
                && !request.injected
                && request.message.as_deref() == Some(PANICKED) =>
        {
            let (client, verb, resource) = (&request.client, &request.verb, &request.resource);
            format!("the API server panicked while handling {client} {verb} {resource}")
        }
        Observation::Call(call) if call.message.as_deref() == Some(fake_csi::PANICKED) => {
            format!("the fake driver panicked while handling {}", call.method)
        }
        Observation::Extender(call) if call.error.as_deref() == Some(extender::PANICKED) => {
            format!(
                "the extender {} panicked while handling {}",
                call.extender, call.verb
            )
        }
        _ => return None,
    };
    Some(StartError::Panicked { part })
}

/// Executes the actions of a step. In the first step, starts the programs before the actions.
async fn execute_step(
    cluster: &mut Cluster,
    journal: &Journal,
    (plan, step): (&Plan, usize),
    patience: f64,
) -> Result<(), StartError> {
    let mut done = 0;
    if step == 0 {
        done = cluster.install_initial_faults(plan).await?;
        // The programs start inside the first step, so that all of their activity counts.
        let from = journal.len();
        for role in &plan.roles {
            cluster.start_role(*role)?;
        }
        cluster.wait_until_ready(patience).await;
        cluster.wait_until_started(from).await;
    }
    cluster.execute_actions(plan, step, done..).await
}

impl Runner<'_> {
    /// Runs the steps of the plan until the case has a verdict.
    async fn run_steps(&mut self, cluster: &mut Cluster) -> Result<(), StartError> {
        for step in 0..self.plan.steps.len() {
            self.journal.append(Observation::StepStarted(StepMark { step }));
            let acting = Box::pin(execute_step(
                cluster,
                self.journal,
                (self.plan, step),
                self.patience,
            ));
            let acted = self.await_unless_exited(acting).await;
            let Some(acted) = acted else { break };
            acted?;
            self.journal.append(Observation::StepActed(StepMark { step }));
            if !self.finish_step(cluster).await {
                break;
            }
        }
        Ok(())
    }

    /// Awaits `doing`; `None` if a program under test exits first. The exit decides the case, and `doing` might wait for the exited program
    /// forever.
    async fn await_unless_exited<T>(&mut self, mut doing: impl Future<Output = T> + Unpin) -> Option<T> {
        loop {
            tokio::select! {
                biased;
                done = &mut doing => return Some(done),
                () = self.journal.wait_for_len_above(self.next) => self.feed_judge(),
            }
            if self.judge.has_crashed() {
                return None;
            }
        }
    }

    /// Waits for the end of a step. Returns false if the case has failed.
    async fn finish_step(&mut self, cluster: &mut Cluster) -> bool {
        loop {
            self.feed_judge();
            if self.observer.is_some() {
                cluster.drop_facts(self.next);
            }
            match self.judge.progress() {
                Progress::StepDone => return true,
                Progress::Failed => return false,
                Progress::Running { quiet } => self.wait(cluster, quiet).await,
            }
        }
    }

    fn feed_judge(&mut self) {
        for fact in self.journal.since(self.next) {
            assert_eq!(fact.seq, self.next, "facts dropped before the judge got them");
            self.next = fact.seq + 1;
            self.panicked = self
                .panicked
                .take()
                .or_else(|| panic_of(&fact, self.is_in_memory));
            if let Some(Observer(see)) = &self.observer {
                see(&fact);
            }
            self.judge.observe(fact);
        }
    }

    /// Waits for the next fact. If none arrives, records that the cluster is quiet or that a deadline was reached.
    async fn wait(&self, cluster: &Cluster, quiet: bool) {
        if quiet {
            // Facts that arrive during the wait are processed before the `Quiet` fact.
            cluster.wait_until_quiet(self.patience).await;
            self.read_metrics(cluster).await;
            self.journal.append(Observation::Quiet);
            return;
        }
        let read = async {
            cluster.wait_until_quiet(self.patience).await;
            self.read_metrics(cluster).await;
        };
        let next_fact = self.journal.wait_for_len_above(self.next);
        let reads = self.judge.must_reread_metrics();
        let Some((at, bound)) = self.judge.next_bound() else {
            return if reads { read.await } else { next_fact.await };
        };
        let reached = tokio::time::sleep_until(self.journal.instant(at));
        tokio::select! {
            biased;
            () = read, if reads => {}
            () = next_fact, if !reads => {}
            () = reached => {
                // Programs may never become idle, but expectations need the metrics at the deadline.
                self.read_metrics(cluster).await;
                self.journal.append(Observation::Bound(bound));
            }
        }
    }

    /// Scrapes the metrics if an expectation needs them.
    async fn read_metrics(&self, cluster: &Cluster) {
        if self.judge.needs_metrics() {
            cluster.read_metrics().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn panicked_handler_is_an_internal_error_and_not_a_verdict() {
        let fact = |code: u16, message: &str| -> Fact {
            let request = json!({"seq": 1, "at_us": 1, "what": {"fact": "request", "client": "publisher", "verb": "create",
                "resource": "csistoragecapacities", "namespace": null, "name": null, "code": code, "message": message,
                "revision": null}});
            serde_json::from_value(request).expect("valid fact")
        };
        let error = panic_of(&fact(500, PANICKED), true).expect("the fact is a panic");
        assert!(
            error
                .to_string()
                .contains("publisher create csistoragecapacities"),
            "{error}"
        );
        assert!(panic_of(&fact(500, "scripted by the case"), true).is_none());
        assert!(
            panic_of(&fact(500, PANICKED), false).is_none(),
            "a real API server"
        );
    }
}
