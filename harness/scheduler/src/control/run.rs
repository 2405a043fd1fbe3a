//! The scheduling loop: applies watch events, attempts one pod at a time, and starts jobs that execute the decisions.
//!
//! A single `select` handles all events, so no change can occur between reading the cluster state and marking a pod unschedulable.

use std::future::Future;
use std::sync::Arc;

use capacity_client::WatchPauses;
use futures::StreamExt;
use hyper::Request;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};
use tower::limit::ConcurrencyLimit;
use tower::service_fn;
use tracing::instrument::WithSubscriber;
use tracing::{debug, info};

use super::bind::{self, BindJob};
use super::bind_waits::BindWaits;
use super::cache::{Cache, Change};
use super::extender_client::Extenders;
use super::hints::ChangeHint;
use super::queue::{Delays, Queue};
use super::report::{Failure, FailureReason, LastReport, Reporter};
use super::unschedulable::Requeue;
use super::watch;
use super::watch_event::{Update, WATCH_PACE};
use crate::cycle::{self, Assessment, Blocker, Cause, Decision, Feasible, Rejected};
use crate::metrics::{AttemptResult, ExtensionPoint, Metrics};
use crate::objects::Pod;
use crate::options::{Options, OptionsError};
use crate::preemption::Candidate;
use crate::rules::{Choice, Rules};

/// Why the scheduler stopped before `shutdown` completed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// A background job panicked.
    #[error("a scheduler job failed: {0}; please report this with the log")]
    Job(#[from] JoinError),
}

const MAX_CONCURRENT_REQUESTS: usize = 32;
const MAX_EVENT_BATCH: usize = 256;
/// After this number of watch events a pod is attempted even if more events are pending.
const MAX_EVENTS_BETWEEN_ATTEMPTS: usize = 4096;

/// Schedules pods until `shutdown` completes. Fails if the options are invalid. Errors of the API server are retried. Dropping the future
/// stops the scheduler at once.
pub async fn run(
    options: Options,
    client: Client,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let client = with_request_limit(client);
    let mut scheduler = Scheduler::new(&options, &client)?;
    let mut events = watch::watch_all(&client).ready_chunks(MAX_EVENT_BATCH);
    let mut shutdown = std::pin::pin!(shutdown);
    let mut events_since_attempt = 0;
    loop {
        scheduler.metrics.set_pending(scheduler.queue.pending());
        let can_attempt = scheduler.can_attempt();
        let deadline = scheduler.queue.next_deadline();
        tokio::select! {
            biased;
            () = &mut shutdown => return Ok(()),
            Some(done) = scheduler.jobs.join_next() => scheduler.handle_result(done?),
            Some(updates) = events.next(), if !can_attempt || events_since_attempt < MAX_EVENTS_BETWEEN_ATTEMPTS => {
                events_since_attempt += updates.len();
                scheduler.apply_updates(updates);
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                scheduler.queue.make_due_pods_ready(Instant::now());
            }
            () = tokio::task::yield_now(), if can_attempt => {
                events_since_attempt = 0;
                scheduler.attempt();
            }
        }
    }
}

/// A copy of the client with a limit on concurrent requests, and a backoff between watches that end immediately.
fn with_request_limit(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let pauses = Arc::new(WatchPauses::new(WATCH_PACE));
    let send = service_fn(move |request: Request<Body>| {
        let (client, pauses) = (client.clone(), pauses.clone());
        async move {
            pauses.wait_before_watch(request.uri()).await;
            client.send(request).await
        }
    });
    Client::new(ConcurrencyLimit::new(send, MAX_CONCURRENT_REQUESTS), namespace)
}

struct Scheduler {
    rules: Arc<Rules>,
    random: StdRng,
    cache: Arc<Mutex<Cache>>,
    queue: Queue,
    jobs: JoinSet<JobResult>,
    reporter: Reporter,
    bind_timeout: std::time::Duration,
    extenders: Arc<Extenders>,
    extender_state: ExtenderState,
    metrics: Metrics,
    /// Start time of the current or last scheduling attempt; only one attempt runs at a time.
    started: Instant,
    waits: Arc<BindWaits>,
}

/// Whether an attempt waits for extenders. As upstream, no other attempt starts until they have responded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ExtenderState {
    Idle,
    Running {
        /// Whether the cluster changed during the extender calls in a way that may help the pod.
        cluster_changed: bool,
    },
}

/// What a background job reports to the scheduling loop.
enum JobResult {
    /// The extenders have responded, or an error aborts the scheduling attempt.
    Extended {
        pod: Arc<Pod>,
        rules: Arc<Rules>,
        result: Result<Assessment, String>,
        reported: LastReport,
    },
    /// The report of a failed scheduling attempt was written.
    Reported { uid: String, reported: LastReport },
    Bound {
        uid: String,
        decision: Feasible,
        attempt: Attempt,
    },
    /// Binding failed, and the report of the failure was written.
    NotBound {
        uid: String,
        decision: Feasible,
        reported: LastReport,
        attempt: Attempt,
    },
}

/// An attempt whose pod is being bound.
#[derive(Clone, Copy)]
struct Attempt {
    started: Instant,
    /// Number of scheduling attempts of the pod, including this attempt.
    number: u32,
}

impl Scheduler {
    fn new(options: &Options, client: &Client) -> Result<Self, OptionsError> {
        let rules = Arc::new(options.rules()?);
        let hostname = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        Ok(Self {
            rules,
            random: options.seed.map_or_else(rand::make_rng, StdRng::seed_from_u64),
            cache: Arc::new(Mutex::new(Cache::new(&options.scheduler_name))),
            queue: Queue::new(Delays {
                initial_backoff: options.initial_backoff,
                max_backoff: options.max_backoff,
                flush: options.unschedulable_flush,
            }),
            jobs: JoinSet::new(),
            reporter: Reporter {
                client: client.clone(),
                scheduler_name: options.scheduler_name.clone(),
                clock: options.clock,
                instance: format!("{}-{}", options.scheduler_name, hostname.trim()),
            },
            bind_timeout: options.bind_timeout,
            extenders: Arc::new(Extenders::new(
                &options.extenders,
                options.transport.clone(),
                client.clone(),
            )),
            extender_state: ExtenderState::Idle,
            metrics: options.metrics.clone(),
            started: Instant::now(),
            waits: Arc::default(),
        })
    }

    fn can_attempt(&self) -> bool {
        self.extender_state == ExtenderState::Idle
            && self.queue.has_ready()
            && self.cache.lock().is_complete()
    }

    /// Applies watch events, and requeues the pods that the changes may help.
    fn apply_updates(&mut self, updates: Vec<Update>) {
        let now = Instant::now();
        for update in updates {
            let changes = self.cache.lock().apply(update);
            for change in changes {
                self.update_queue(&change);
                if let (ExtenderState::Running { cluster_changed }, false) =
                    (&mut self.extender_state, matches!(change, Change::Pod(_)))
                {
                    *cluster_changed = true;
                }
                let cache = self.cache.lock();
                let hint = ChangeHint::new(&self.rules, &cache.snapshot, &change);
                self.queue.requeue(now, |blocker| hint.requeue(blocker));
                drop(cache);
                self.waits.notify(&change);
            }
        }
    }

    fn update_queue(&mut self, change: &Change) {
        let Change::Pod(delta) = change else {
            return;
        };
        let replaced = |new: &Option<Arc<Pod>>, old: &Pod| new.as_ref().is_none_or(|new| new.uid != old.uid);
        if let Some(old) = delta.old.as_ref().filter(|old| replaced(&delta.new, old)) {
            self.queue.remove(&old.uid);
        }
        if let Some(new) = &delta.new {
            self.queue.add_or_update(Arc::clone(new));
        }
    }

    fn attempt(&mut self) {
        let Some((pod, reported)) = self.queue.pop() else {
            return;
        };
        let rules = match self.rules.choice {
            Choice::Largest => Arc::clone(&self.rules),
            // Each attempt has a new salt, so that the choice among sufficient capacity objects differs between attempts.
            Choice::Any(_) => Arc::new(Rules {
                choice: Choice::Any(self.random.random()),
                ..(*self.rules).clone()
            }),
        };
        self.started = Instant::now();
        let filtered = cycle::run_filters(&self.cache.lock().snapshot, &rules, &pod);
        match self.score_nodes(filtered, &rules, &pod) {
            Ok(assessment) if !assessment.feasible.is_empty() && self.extenders.apply_to(&pod) => {
                self.start_extenders(pod, rules, assessment, reported);
            }
            Ok(assessment) => {
                let cache = self.cache.lock();
                let decision = cycle::choose(&cache.snapshot, assessment, &rules, &pod, &mut self.random);
                drop(cache);
                self.execute(pod, decision, reported);
            }
            Err(decision) => self.execute(pod, decision, reported),
        }
    }

    /// Scores the feasible nodes. Records the durations of VolumeBinding's Filter and Score, unless the pod has no PVCs.
    fn score_nodes(
        &self,
        filtered: Result<Assessment, Decision>,
        rules: &Rules,
        pod: &Pod,
    ) -> Result<Assessment, Decision> {
        let mut assessment = filtered?;
        let filter_end = Instant::now();
        cycle::rank(&mut assessment, rules);
        let (any, several) = (!assessment.feasible.is_empty(), assessment.feasible.len() > 1);
        if !pod.volumes.is_empty() {
            self.metrics
                .record_plugin_call(ExtensionPoint::Filter, any, filter_end - self.started);
            // As upstream, VolumeBinding scores nodes only if a scoring function (shape) is set.
            if several && rules.shape.is_some() {
                self.metrics
                    .record_plugin_call(ExtensionPoint::Score, true, filter_end.elapsed());
            }
        }
        Ok(assessment)
    }

    fn record_attempt(&self, result: AttemptResult, started: Instant) {
        let profile = &self.reporter.scheduler_name;
        self.metrics.record_attempt(profile, result, started.elapsed());
    }

    /// Executes a decision: starts the jobs that bind the pod or report the failure.
    fn execute(&mut self, pod: Arc<Pod>, decision: Decision, reported: LastReport) {
        let now = Instant::now();
        match decision {
            Decision::Place(feasible) => {
                bind::assume(&mut self.cache.lock().snapshot, &pod, &feasible);
                self.start_binding(pod, feasible, reported);
            }
            Decision::Unschedulable {
                message,
                blockers,
                rejected,
                eviction,
            } => {
                log_rejections(&pod, &rejected);
                self.record_attempt(AttemptResult::Unschedulable, self.started);
                self.queue.add_unschedulable(&pod.uid, blockers, now);
                let failure = Failure {
                    reason: FailureReason::Unschedulable,
                    message,
                    nominated: eviction.as_ref().map(|eviction| eviction.node.name().to_owned()),
                };
                self.start_report(pod, failure, eviction, reported);
            }
            Decision::Failed { message } => {
                self.record_attempt(AttemptResult::Error, self.started);
                self.queue.back_off(&pod.uid, now);
                let failure = Failure {
                    reason: FailureReason::SchedulerError,
                    message,
                    nominated: None,
                };
                self.start_report(pod, failure, None, reported);
            }
        }
    }

    fn start_extenders(
        &mut self,
        pod: Arc<Pod>,
        rules: Arc<Rules>,
        assessment: Assessment,
        reported: LastReport,
    ) {
        self.extender_state = ExtenderState::Running {
            cluster_changed: false,
        };
        let extenders = Arc::clone(&self.extenders);
        self.spawn(async move {
            let result = extenders.filter_and_score(&pod, assessment).await;
            JobResult::Extended {
                pod,
                rules,
                result,
                reported,
            }
        });
    }

    fn continue_after_extenders(
        &mut self,
        pod: Arc<Pod>,
        rules: &Rules,
        result: Result<Assessment, String>,
        reported: LastReport,
    ) {
        let cluster_changed = self.extender_state
            == ExtenderState::Running {
                cluster_changed: true,
            };
        self.extender_state = ExtenderState::Idle;
        if !self.cache.lock().is_pending(&pod) {
            return self.queue.job_done(&pod.uid, reported);
        }
        let decision = match result {
            Ok(assessment) => cycle::choose(
                &self.cache.lock().snapshot,
                assessment,
                rules,
                &pod,
                &mut self.random,
            ),
            Err(message) => Decision::Failed { message },
        };
        let retry = cluster_changed && matches!(decision, Decision::Unschedulable { .. });
        let uid = pod.uid.clone();
        self.execute(pod, decision, reported);
        if retry {
            self.queue.back_off(&uid, Instant::now());
        }
    }

    fn start_report(
        &mut self,
        pod: Arc<Pod>,
        failure: Failure,
        eviction: Option<Candidate>,
        last: LastReport,
    ) {
        debug!(pod = %pod.key, message = %failure.message, "not scheduled");
        let reporter = self.reporter.clone();
        self.spawn(async move {
            let reported = reporter.report_failure(&pod, &failure, last).await;
            if let Some(candidate) = eviction {
                reporter.evict(&candidate.victims, &pod).await;
            }
            let uid = pod.uid.clone();
            JobResult::Reported { uid, reported }
        });
    }

    fn start_binding(&mut self, pod: Arc<Pod>, decision: Feasible, last: LastReport) {
        info!(pod = %pod.key, node = decision.node.name(), score = decision.score, "node chosen");
        let reporter = self.reporter.clone();
        let attempt = Attempt {
            started: self.started,
            number: self.queue.attempts(&pod.uid),
        };
        let job = BindJob {
            client: reporter.client.clone(),
            cache: Arc::clone(&self.cache),
            waits: Arc::clone(&self.waits),
            timeout: self.bind_timeout,
            extenders: Arc::clone(&self.extenders),
            pod,
            decision,
        };
        self.spawn(async move {
            let bound = job.run(&reporter).await;
            let BindJob {
                pod, decision, cache, ..
            } = job;
            let uid = pod.uid.clone();
            match bound {
                Ok(()) => {
                    reporter.report_scheduled(&pod, decision.node.name()).await;
                    JobResult::Bound {
                        uid,
                        decision,
                        attempt,
                    }
                }
                Err(error) => {
                    // The assumed decision is removed before the report is written, so that no other attempt takes it into account.
                    {
                        let mut cache = cache.lock();
                        bind::forget(&mut cache.snapshot, &decision);
                        cache.snapshot.pods.forget(&pod.uid);
                    }
                    let failure = Failure {
                        reason: FailureReason::SchedulerError,
                        message: error.to_string(),
                        nominated: None,
                    };
                    let reported = reporter.report_failure(&pod, &failure, last).await;
                    JobResult::NotBound {
                        uid,
                        decision,
                        reported,
                        attempt,
                    }
                }
            }
        });
    }

    /// Starts a job that logs to the same subscriber as the scheduler.
    fn spawn(&mut self, job: impl Future<Output = JobResult> + Send + 'static) {
        self.jobs.spawn(job.with_current_subscriber());
    }

    fn handle_result(&mut self, done: JobResult) {
        let now = Instant::now();
        match done {
            JobResult::Extended {
                pod,
                rules,
                result,
                reported,
            } => self.continue_after_extenders(pod, &rules, result, reported),
            JobResult::Reported { uid, reported } => self.queue.job_done(&uid, reported),
            JobResult::Bound {
                uid,
                decision,
                attempt,
            } => {
                self.record_attempt(AttemptResult::Scheduled, attempt.started);
                self.metrics.record_scheduled(attempt.number);
                bind::forget(&mut self.cache.lock().snapshot, &decision);
                self.queue.job_done(&uid, LastReport::default());
            }
            JobResult::NotBound {
                uid,
                decision,
                reported,
                attempt,
            } => {
                self.record_attempt(AttemptResult::Error, attempt.started);
                self.queue.back_off(&uid, now);
                self.queue.job_done(&uid, reported);
                self.queue
                    .requeue(now, |blocker| requeue_after_failed_binding(&decision, blocker));
            }
        }
    }
}

/// The pods that may be schedulable after a failed binding: all pods if the pod's resources or PersistentVolumes became free, else the pods
/// that share its PVCs.
fn requeue_after_failed_binding<'a>(decision: &'a Feasible, blocker: &Blocker) -> Requeue<'a> {
    if matches!(blocker, Blocker::Resources | Blocker::OtherPods) || !decision.plan.bindings.is_empty() {
        return Requeue::AllPods;
    }
    let provisions = decision.plan.provisions.iter();
    Requeue::UsersOf(provisions.map(|provision| &provision.claim.key).collect())
}

/// Logs node, PVC, class and size of every rejection by VolumeBinding.
fn log_rejections(pod: &Pod, rejected: &[Rejected]) {
    for Rejected { node, cause } in rejected {
        let Cause::Volumes(reasons) = cause else {
            continue;
        };
        for reason in reasons {
            debug!(pod = %pod.key, node = node.name(), reason = reason.reason(), about = %reason.describe(), "node refused");
        }
    }
}
