//! The loop: applies events, attempts one pod at a time, and starts jobs for the decisions.
//!
//! One `select` handles all events, so no change can occur between reading the cluster and marking a pod unschedulable, and no event is
//! missed.

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
use super::hints::Hint;
use super::queue::{Delays, Queue};
use super::report::{Failure, FailureReason, Reported, Reporter};
use super::unschedulable::Helped;
use super::watch;
use super::watch_event::{Update, WATCH_PACE};
use crate::cycle::{self, Assessment, Blocker, Cause, Decision, Feasible, Refused};
use crate::metrics::{AttemptResult, ExtensionPoint, Metrics};
use crate::objects::Pod;
use crate::options::{Options, OptionsError};
use crate::preemption::Candidate;
use crate::rules::{Choice, Rules};

/// Why the scheduler stopped before `shutdown`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options are invalid.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// A background job panicked.
    #[error("a scheduler job failed: {0}; please report this with the log")]
    Job(#[from] JoinError),
}

/// Maximum number of concurrent API requests.
const REQUESTS_AT_ONCE: usize = 32;
/// Maximum number of events applied at once.
const EVENTS_AT_ONCE: usize = 256;
/// After this number of events an attempt is made even if more events are pending.
const EVENTS_PER_ATTEMPT: usize = 4096;

/// Schedules pods until `shutdown` completes. Fails if the options are invalid. Errors of the API server are retried. Dropping the future
/// stops everything at once.
pub async fn run(
    options: Options,
    client: Client,
    shutdown: impl Future<Output = ()> + Send,
) -> Result<(), Error> {
    let client = with_few_requests(client);
    let mut scheduler = Scheduler::new(&options, &client)?;
    let mut events = watch::all(&client).ready_chunks(EVENTS_AT_ONCE);
    let mut shutdown = std::pin::pin!(shutdown);
    let mut events_since_attempt = 0;
    loop {
        scheduler.metrics.pending(scheduler.queue.pending());
        let can_attempt = scheduler.can_attempt();
        let deadline = scheduler.queue.next_deadline();
        tokio::select! {
            biased;
            () = &mut shutdown => return Ok(()),
            Some(done) = scheduler.jobs.join_next() => scheduler.finish(done?),
            Some(updates) = events.next(), if !can_attempt || events_since_attempt < EVENTS_PER_ATTEMPT => {
                events_since_attempt += updates.len();
                scheduler.learn(updates);
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                scheduler.queue.tick(Instant::now());
            }
            () = tokio::task::yield_now(), if can_attempt => {
                events_since_attempt = 0;
                scheduler.attempt();
            }
        }
    }
}

/// The client with a limit on concurrent requests, and pauses between watches that end immediately.
fn with_few_requests(client: Client) -> Client {
    let namespace = client.default_namespace().to_owned();
    let pauses = Arc::new(WatchPauses::new(WATCH_PACE));
    let send = service_fn(move |request: Request<Body>| {
        let (client, pauses) = (client.clone(), pauses.clone());
        async move {
            pauses.before(request.uri()).await;
            client.send(request).await
        }
    });
    Client::new(ConcurrencyLimit::new(send, REQUESTS_AT_ONCE), namespace)
}

struct Scheduler {
    rules: Arc<Rules>,
    random: StdRng,
    cache: Arc<Mutex<Cache>>,
    queue: Queue,
    jobs: JoinSet<Done>,
    reporter: Reporter,
    bind_timeout: std::time::Duration,
    extenders: Arc<Extenders>,
    extension: Extension,
    metrics: Metrics,
    /// Start of the current or last attempt. Only one runs at a time.
    began: Instant,
    waits: Arc<BindWaits>,
}

/// Whether an attempt waits for extenders. As upstream, no other attempt starts until they have responded.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Extension {
    Idle,
    Running {
        /// The cluster changed meanwhile in a way that may help the pod.
        missed: bool,
    },
}

/// Result of a job.
enum Done {
    /// The extenders have responded, or an error aborts the attempt.
    Extended {
        pod: Arc<Pod>,
        rules: Arc<Rules>,
        answer: Result<Assessment, String>,
        reported: Reported,
    },
    /// A failed attempt was reported.
    Reported { uid: String, reported: Reported },
    /// The pod was bound.
    Bound {
        uid: String,
        decision: Feasible,
        attempt: Attempt,
    },
    /// Binding failed and was reported.
    NotBound {
        uid: String,
        decision: Feasible,
        reported: Reported,
        attempt: Attempt,
    },
}

/// An attempt whose pod is being bound.
#[derive(Clone, Copy)]
struct Attempt {
    began: Instant,
    /// The pod's attempt count, including this one.
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
            extension: Extension::Idle,
            metrics: options.metrics.clone(),
            began: Instant::now(),
            waits: Arc::default(),
        })
    }

    fn can_attempt(&self) -> bool {
        self.extension == Extension::Idle && self.queue.has_ready() && self.cache.lock().is_complete()
    }

    /// Applies events and requeues the pods that they may help.
    fn learn(&mut self, updates: Vec<Update>) {
        let now = Instant::now();
        for update in updates {
            let changes = self.cache.lock().learn(update);
            for change in changes {
                self.take_in(&change);
                if let (Extension::Running { missed }, false) =
                    (&mut self.extension, matches!(change, Change::Pod(_)))
                {
                    *missed = true;
                }
                let cache = self.cache.lock();
                let hint = Hint::new(&self.rules, &cache.snapshot, &change);
                self.queue.wake(now, |blocker| hint.helped(blocker));
                drop(cache);
                self.waits.signal(&change);
            }
        }
    }

    fn take_in(&mut self, change: &Change) {
        let Change::Pod(delta) = change else {
            return;
        };
        let replaced = |new: &Option<Arc<Pod>>, old: &Pod| new.as_ref().is_none_or(|new| new.uid != old.uid);
        if let Some(old) = delta.old.as_ref().filter(|old| replaced(&delta.new, old)) {
            self.queue.remove(&old.uid);
        }
        if let Some(new) = &delta.new {
            self.queue.put(Arc::clone(new));
        }
    }

    fn attempt(&mut self) {
        let Some((pod, reported)) = self.queue.pop() else {
            return;
        };
        let rules = match self.rules.choice {
            Choice::Largest => Arc::clone(&self.rules),
            // Choose differently at each attempt.
            Choice::Any(_) => Arc::new(Rules {
                choice: Choice::Any(self.random.random()),
                ..(*self.rules).clone()
            }),
        };
        self.began = Instant::now();
        let judged = cycle::judge(&self.cache.lock().snapshot, &rules, &pod);
        match self.ranked(judged, &rules, &pod) {
            Ok(assessment) if !assessment.feasible.is_empty() && self.extenders.concern(&pod) => {
                self.start_extenders(pod, rules, assessment, reported);
            }
            Ok(assessment) => {
                let cache = self.cache.lock();
                let decision = cycle::choose(&cache.snapshot, assessment, &rules, &pod, &mut self.random);
                drop(cache);
                self.settle(pod, decision, reported);
            }
            Err(decision) => self.settle(pod, decision, reported),
        }
    }

    /// Scores the feasible nodes. Records plugin durations, but none for a pod without PVCs.
    fn ranked(
        &self,
        judged: Result<Assessment, Decision>,
        rules: &Rules,
        pod: &Pod,
    ) -> Result<Assessment, Decision> {
        let mut assessment = judged?;
        let filtered = Instant::now();
        cycle::rank(&mut assessment, rules);
        let (any, several) = (!assessment.feasible.is_empty(), assessment.feasible.len() > 1);
        if !pod.volumes.is_empty() {
            self.metrics
                .ran(ExtensionPoint::Filter, any, filtered - self.began);
            // Without a shape, upstream's plugin has no score extension point.
            if several && rules.shape.is_some() {
                self.metrics.ran(ExtensionPoint::Score, true, filtered.elapsed());
            }
        }
        Ok(assessment)
    }

    fn ended(&self, result: AttemptResult, began: Instant) {
        let profile = &self.reporter.scheduler_name;
        self.metrics.attempted(profile, result, began.elapsed());
    }

    /// Executes a decision.
    fn settle(&mut self, pod: Arc<Pod>, decision: Decision, reported: Reported) {
        let now = Instant::now();
        match decision {
            Decision::Place(feasible) => {
                bind::assume(&mut self.cache.lock().snapshot, &pod, &feasible);
                self.start_binding(pod, feasible, reported);
            }
            Decision::Unschedulable {
                message,
                blockers,
                refused,
                evicts,
            } => {
                log_refusals(&pod, &refused);
                self.ended(AttemptResult::Unschedulable, self.began);
                self.queue.wait(&pod.uid, blockers, now);
                let failure = Failure {
                    reason: FailureReason::Unschedulable,
                    message,
                    nominated: evicts.as_ref().map(|evicts| evicts.node.name().to_owned()),
                };
                self.start_report(pod, failure, evicts, reported);
            }
            Decision::Failed { message } => {
                self.ended(AttemptResult::Error, self.began);
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
        reported: Reported,
    ) {
        self.extension = Extension::Running { missed: false };
        let extenders = Arc::clone(&self.extenders);
        self.start(async move {
            let answer = extenders.extend(&pod, assessment).await;
            Done::Extended {
                pod,
                rules,
                answer,
                reported,
            }
        });
    }

    /// Continues an attempt after the extenders.
    fn extended(
        &mut self,
        pod: Arc<Pod>,
        rules: &Rules,
        answer: Result<Assessment, String>,
        reported: Reported,
    ) {
        let missed = self.extension == Extension::Running { missed: true };
        self.extension = Extension::Idle;
        if !self.cache.lock().awaits(&pod) {
            return self.queue.job_done(&pod.uid, reported);
        }
        let decision = match answer {
            Ok(assessment) => cycle::choose(
                &self.cache.lock().snapshot,
                assessment,
                rules,
                &pod,
                &mut self.random,
            ),
            Err(message) => Decision::Failed { message },
        };
        let may_have_missed = missed && matches!(decision, Decision::Unschedulable { .. });
        let uid = pod.uid.clone();
        self.settle(pod, decision, reported);
        if may_have_missed {
            self.queue.back_off(&uid, Instant::now());
        }
    }

    fn start_report(&mut self, pod: Arc<Pod>, failure: Failure, evicts: Option<Candidate>, last: Reported) {
        debug!(pod = %pod.key, message = %failure.message, "not scheduled");
        let reporter = self.reporter.clone();
        self.start(async move {
            let reported = reporter.failed(&pod, &failure, last).await;
            if let Some(candidate) = evicts {
                reporter.evict(&candidate.victims, &pod).await;
            }
            let uid = pod.uid.clone();
            Done::Reported { uid, reported }
        });
    }

    fn start_binding(&mut self, pod: Arc<Pod>, decision: Feasible, last: Reported) {
        info!(pod = %pod.key, node = decision.node.name(), score = decision.score, "node chosen");
        let reporter = self.reporter.clone();
        let attempt = Attempt {
            began: self.began,
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
        self.start(async move {
            let bound = job.run(&reporter).await;
            let BindJob {
                pod, decision, cache, ..
            } = job;
            let uid = pod.uid.clone();
            match bound {
                Ok(()) => {
                    reporter.scheduled(&pod, decision.node.name()).await;
                    Done::Bound {
                        uid,
                        decision,
                        attempt,
                    }
                }
                Err(error) => {
                    // Before the report, so that no other attempt uses the assumed decision.
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
                    let reported = reporter.failed(&pod, &failure, last).await;
                    Done::NotBound {
                        uid,
                        decision,
                        reported,
                        attempt,
                    }
                }
            }
        });
    }

    /// Starts a job that logs to the scheduler's subscriber.
    fn start(&mut self, job: impl Future<Output = Done> + Send + 'static) {
        self.jobs.spawn(job.with_current_subscriber());
    }

    fn finish(&mut self, done: Done) {
        let now = Instant::now();
        match done {
            Done::Extended {
                pod,
                rules,
                answer,
                reported,
            } => self.extended(pod, &rules, answer, reported),
            Done::Reported { uid, reported } => self.queue.job_done(&uid, reported),
            Done::Bound {
                uid,
                decision,
                attempt,
            } => {
                self.ended(AttemptResult::Scheduled, attempt.began);
                self.metrics.scheduled(attempt.number);
                bind::forget(&mut self.cache.lock().snapshot, &decision);
                self.queue.job_done(&uid, Reported::default());
            }
            Done::NotBound {
                uid,
                decision,
                reported,
                attempt,
            } => {
                self.ended(AttemptResult::Error, attempt.began);
                self.queue.back_off(&uid, now);
                self.queue.job_done(&uid, reported);
                self.queue.wake(now, |blocker| freed(&decision, blocker));
            }
        }
    }
}

/// The pods that undoing the decision may help: it frees volumes and resources for all pods, and PVCs for pods that share them.
fn freed<'a>(decision: &'a Feasible, blocker: &Blocker) -> Helped<'a> {
    if matches!(blocker, Blocker::Room | Blocker::Company) || !decision.plan.bindings.is_empty() {
        return Helped::Everybody;
    }
    let provisions = decision.plan.provisions.iter();
    Helped::UsersOf(provisions.map(|provision| &provision.claim.key).collect())
}

/// Logs node, PVC, class and size of every rejection by VolumeBinding.
fn log_refusals(pod: &Pod, refused: &[Refused]) {
    for Refused { node, cause } in refused {
        let Cause::Volumes(refusals) = cause else {
            continue;
        };
        for refusal in refusals {
            debug!(pod = %pod.key, node = node.name(), reason = refusal.reason(), about = %refusal.about(), "node refused");
        }
    }
}
