//! The oracle: follows the specification's cluster state through a run, checks the rules for every moment, and computes the objects and
//! nodes that are required once everything is quiet.
//!
//! ```text
//! follow, calls        convert facts and CSI calls into events of the specification
//! storage              capacity that the driver must report
//! programs, owners     settings of publishers, cleaner and scheduler
//! orders               requests of the case to the API server for CSIStorageCapacity and CSIDriver objects
//! demands              required capacities and nodes, as in explicit expectations
//! observed_revisions, program_metrics   revisions that programs have received, and their metrics
//! ```
//!
//! Does not know rules, which [`capacity_spec`] owns, or verdicts.

mod calls;
mod demands;
mod follow;
mod observed_revisions;
mod orders;
mod owners;
mod program_metrics;
mod programs;
mod storage;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use capacity_spec::always::{Event, Monitor};
use capacity_spec::objects::DesiredObjects;
use capacity_spec::world::{Instance, NamespacedName, Objects, Publisher};
use capacity_spec::{Subject, Violation, World, metrics, placement, settings};
use fake_apiserver::Effect as FaultEffect;
use fake_csi::Method;

use crate::journal::{Fact, Observation, to_micros};
use crate::plan::{Action, Plan};
use crate::scenario::Role;
use observed_revisions::ObservedRevisions;
use program_metrics::ProgramMetrics;
use programs::Programs;
use storage::Storage;

pub use demands::{RequiredState, required_states};
pub(crate) use follow::change;

/// Checks one run of a case against the specification.
pub(crate) struct Oracle<'p> {
    plan: &'p Plan,
    monitor: Monitor,
    storage: Storage<'p>,
    programs: Programs<'p>,
    observed: ObservedRevisions,
    program_metrics: ProgramMetrics,
    /// Indexes of the running step and of its next action.
    next: (usize, usize),
    is_harness_calling: bool,
    /// Whether the scheduler has never listed CSIStorageCapacity objects: it started while the API server did not serve them, or did not
    /// list them before the API server stopped serving them.
    scheduler_has_no_objects: bool,
    /// Whether the last API version in which CSIStorageCapacity objects were served lacks `maximumVolumeSize`.
    lacks_maximum: bool,
    /// Whether the content of the scheduler's cache is unknown: the scheduler missed CSIStorageCapacity objects before the API server
    /// stopped serving them, or has cached a storageCapacity field that is no longer served.
    is_scheduler_state_unknown: bool,
    /// For each pod, the nodes that the specification allowed when the scheduler selected a node.
    allowed: BTreeMap<NamespacedName, BTreeSet<String>>,
    /// Pods whose selected node was removed in this step because provisioning failed. The scheduler retries them.
    deselected: BTreeSet<NamespacedName>,
    /// Whether a fault rule makes the API server return stale data.
    has_stale_reads: bool,
    /// Longest delay of a CSI call by a fault rule, in microseconds. The journal contains a call only after the call has ended.
    longest_delay_us: u64,
    /// Whether CSI calls may be delayed, so that the start of a call is unknown.
    delays_responses: bool,
    /// Journal time of the last fact, and (`changed_us`) of the last fact that changes the requirements of the specification.
    now_us: u64,
    changed_us: u64,
    /// Cached result of `is_settled`. Facts that may change the result clear the cache.
    is_settled: OnceLock<bool>,
}

impl<'p> Oracle<'p> {
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let programs = Programs::of(plan);
        let mut world = World::default();
        programs
            .initial_changes()
            .into_iter()
            .for_each(|it| world.apply(it));
        let mut monitor = Monitor::new(world);
        // `observe` returns no violations here, because a request of the case never violates a rule.
        monitor.observe(Event::UserRequested(orders::initial_requests(plan)));
        let is_stale = |action: &Action| match action {
            Action::Fault { rule, .. } => matches!(rule.effect, FaultEffect::Stale { .. }),
            _ => false,
        };
        Oracle {
            plan,
            monitor,
            storage: Storage::of(plan),
            programs,
            observed: ObservedRevisions::new(plan.is_distributed()),
            program_metrics: ProgramMetrics::default(),
            next: (0, 0),
            is_harness_calling: false,
            scheduler_has_no_objects: false,
            lacks_maximum: false,
            is_scheduler_state_unknown: false,
            allowed: BTreeMap::new(),
            deselected: BTreeSet::new(),
            has_stale_reads: plan.actions().any(is_stale),
            longest_delay_us: to_micros(plan.longest_delay()),
            delays_responses: plan.delays_responses(),
            now_us: 0,
            changed_us: 0,
            is_settled: OnceLock::new(),
        }
    }

    /// Processes the next fact. Returns the violations of the specification that the fact shows.
    pub(crate) fn observe(&mut self, fact: &Fact) -> Vec<Violation> {
        self.observed.observe(fact);
        match &fact.what {
            Observation::Metrics(metrics) => {
                self.program_metrics.read(metrics);
                self.is_settled = OnceLock::new();
            }
            what if what.may_be_counted() && self.program_metrics.discard() => {
                self.is_settled = OnceLock::new();
            }
            _ => {}
        }
        let mut violations = Vec::new();
        let events = self.events(fact);
        self.now_us = fact.at_us;
        if may_change_requirements(&fact.what)
            || events
                .iter()
                .any(|event| self.monitor.may_change_violations(event))
        {
            self.is_settled = OnceLock::new();
            self.changed_us = fact.at_us;
        }
        for event in events {
            let placed = match &event {
                Event::PodBound { pod, node } => Some((pod.clone(), node.clone())),
                _ => None,
            };
            let wrong = self.monitor.observe(event);
            if let Some((pod, node)) = placed.filter(|_| wrong.is_empty()) {
                // The node was correct according to the cluster state that the scheduler had received, which may be outdated.
                self.allowed.entry(pod).or_default().insert(node);
            }
            violations.extend(wrong);
        }
        self.without_excused(violations)
    }

    /// Removes violations of rules that the case excludes.
    fn without_excused(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        violations.retain(|violation| !self.plan.excused_rules.contains(violation.rule.id));
        violations
    }

    /// Records that the cluster is quiet, so that programs have received all changes. Does nothing if a watch is delayed or restarting, or
    /// if a CSI call may have started before the last change.
    pub(crate) fn settle(&mut self) {
        self.is_settled = OnceLock::new();
        let is_call_in_flight = self.now_us.saturating_sub(self.changed_us) < self.longest_delay_us;
        if !self.has_stale_reads && !self.observed.is_behind() && !is_call_in_flight {
            self.storage.settle();
            self.program_metrics.settle();
            self.monitor.observe(Event::Quiescent);
        }
    }

    /// Whether no rule would be violated if the cluster became quiet now. The result is cached, because publishers poll often.
    pub(crate) fn is_settled(&self) -> bool {
        *self
            .is_settled
            .get_or_init(|| self.violations_if_quiet().is_empty())
    }

    pub(crate) fn violations_if_quiet(&self) -> Vec<Violation> {
        // A program whose settings are invalid must only exit; other rules do not apply to it.
        let mut violations = settings::judge(self.world(), self.programs.runs(Role::Scheduler));
        violations.extend(self.monitor.object_violations());
        violations.extend(self.monitor.volume_violations(&self.storage));
        if self.programs.runs(Role::Scheduler) && !self.is_scheduler_state_unknown {
            let pending = placement::pending_violations(&self.scheduler_world()).into_iter();
            violations.extend(pending.filter(|it| !self.is_retried(&it.subject)));
        }
        let has_replicas = self.plan.publisher.replicas.is_some();
        // None if there are several replicas, because it is unknown which replica leads.
        let instance = |client: &str| (!has_replicas).then(|| self.programs.instance(client));
        let readings = self.program_metrics.readings_with_activity(instance);
        violations.extend(readings.flat_map(|reading| metrics::judge(self.world(), &reading)));
        self.without_excused(violations)
    }

    /// Whether the programs of the role must exit because their settings are invalid.
    pub(crate) fn must_end(&self, role: Role) -> bool {
        match role {
            Role::Publisher => {
                let publisher = self.programs.settings(&self.programs.instance_on(None));
                settings::publisher_error(&publisher).is_some()
            }
            Role::Scheduler => settings::scheduler_error(&self.world().scheduler).is_some(),
            Role::Cleaner | Role::Driver => false,
        }
    }

    pub(crate) fn must_call_get_capacity(&self) -> bool {
        let world = self.world();
        let must_call = |(instance, publisher): (&Instance, &Publisher)| {
            publisher.publishes
                && DesiredObjects::of(world, instance, publisher)
                    .all()
                    .next()
                    .is_some()
        };
        self.plan.driver.get_capacity
            && world.api.version().is_some()
            && world.publishers.iter().any(must_call)
    }

    /// Whether the subject of a violation is a pod that the scheduler keeps retrying.
    fn is_retried(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Pod(pod) if self.deselected.contains(pod))
    }

    /// The cluster state according to the scheduler's cache. While the API server does not serve CSIStorageCapacity, the cache contains the
    /// objects that were last served, or none if the scheduler never listed them.
    fn scheduler_world(&self) -> Cow<'_, World> {
        let world = self.world();
        match world.api.version() {
            None if self.scheduler_has_no_objects => {
                let world = match world.api.release.has_storage_capacity() {
                    true => world.clone(),
                    false => world.without_storage_capacity(),
                };
                Cow::Owned(World {
                    objects: Objects::new(),
                    ..world
                })
            }
            None if self.lacks_maximum => Cow::Owned(world.without_maxima()),
            _ => Cow::Borrowed(world),
        }
    }

    fn world(&self) -> &World {
        self.monitor.world()
    }
}

/// Whether a fact may change objects, running programs or the driver's storage, even if it results in no event.
fn may_change_requirements(what: &Observation) -> bool {
    match what {
        Observation::StepStarted(_)
        | Observation::Action(_)
        | Observation::Process(_)
        | Observation::Commit(_) => true,
        Observation::Call(call) => call.method != Method::GetCapacity,
        _ => false,
    }
}
