//! The oracle: follows the specification's cluster state through a run, checks the rules for every moment, and computes the objects and
//! nodes that are required once everything is quiet.
//!
//! ```text
//! follow    converts facts into events of the specification; CSI calls in `calls`
//! storage   capacity that the driver must report       programs, owners   settings of publishers, cleaner and scheduler
//! heard     revisions that programs have observed      told  metrics of programs
//! orders    capacity requests of the case to the API server
//! demands   requirements of the specification, as rows and nodes of explicit expectations
//! ```
//!
//! Does not know rules, which [`capacity_spec`] owns, or verdicts.

mod calls;
mod change;
mod demands;
mod follow;
mod heard;
mod orders;
mod owners;
mod programs;
mod storage;
mod told;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use capacity_spec::always::{Event, Monitor};
use capacity_spec::objects::Wanted;
use capacity_spec::world::{Instance, NamespacedName, Objects, Publisher};
use capacity_spec::{Subject, Violation, World, metrics, placement, settings};
use fake_apiserver::Effect as FaultEffect;
use fake_csi::Method;

use crate::journal::{Fact, What, micros};
use crate::plan::{Action, Plan};
use crate::scenario::Role;
use heard::Heard;
use programs::Programs;
use storage::Storage;
use told::Told;

pub(crate) use change::change;
pub use demands::{Demands, demands};

/// The specification's view of a run.
pub(crate) struct Oracle<'p> {
    plan: &'p Plan,
    monitor: Monitor,
    storage: Storage<'p>,
    programs: Programs<'p>,
    heard: Heard,
    told: Told,
    /// The running step, and the index of its next action.
    next: (usize, usize),
    /// Whether the harness itself is calling the driver.
    is_asking: bool,
    /// Whether the scheduler started while capacity objects were not served, or had not listed them before they became unserved.
    is_blind: bool,
    /// Whether the last version in which capacity objects were served lacks `maximumVolumeSize`.
    hides_maxima: bool,
    /// Whether the scheduler's knowledge is unknown: it missed objects before they became unserved, or still has a storageCapacity field
    /// that is no longer served.
    is_uninformed: bool,
    /// Nodes that pods were allowed to use when a node was selected.
    allowed: BTreeMap<NamespacedName, BTreeSet<String>>,
    /// Pods that lost their selected node in this step, as provisioning failed there; the scheduler retries them.
    given_back: BTreeSet<NamespacedName>,
    /// Whether a fault serves old state to programs.
    has_stale_reads: bool,
    /// Maximum duration of a CSI call, in journal time; the journal contains a call only once it ends.
    longest_delay_us: u64,
    /// Whether CSI calls may be delayed, so that their start is unknown.
    has_late_answers: bool,
    /// Journal time of the last fact, and of the last one that changes what programs must do.
    now_us: u64,
    changed_us: u64,
    /// Cached result of `is_settled`, reset by facts that may change it.
    is_settled: OnceLock<bool>,
}

impl<'p> Oracle<'p> {
    /// State before the run.
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let programs = Programs::of(plan);
        let mut world = World::default();
        programs.at_first().into_iter().for_each(|it| world.apply(it));
        let mut monitor = Monitor::new(world);
        // No violation is possible before the first event.
        monitor.observe(Event::Ordered(orders::at_first(plan)));
        let is_stale = |action: &Action| match action {
            Action::Fault { rule, .. } => matches!(rule.effect, FaultEffect::Stale { .. }),
            _ => false,
        };
        Oracle {
            plan,
            monitor,
            storage: Storage::of(plan),
            programs,
            heard: Heard::new(plan.is_distributed()),
            told: Told::default(),
            next: (0, 0),
            is_asking: false,
            is_blind: false,
            hides_maxima: false,
            is_uninformed: false,
            allowed: BTreeMap::new(),
            given_back: BTreeSet::new(),
            has_stale_reads: plan.actions().any(is_stale),
            longest_delay_us: micros(plan.longest_delay()),
            has_late_answers: plan.has_late_answers(),
            now_us: 0,
            changed_us: 0,
            is_settled: OnceLock::new(),
        }
    }

    /// Processes the next fact. Returns its violations.
    pub(crate) fn observe(&mut self, fact: &Fact) -> Vec<Violation> {
        self.heard.observe(fact);
        match &fact.what {
            What::Metrics(metrics) => {
                self.told.read(metrics);
                self.is_settled = OnceLock::new();
            }
            what if what.may_be_counted() && self.told.is_outdated() => self.is_settled = OnceLock::new(),
            _ => {}
        }
        let mut violations = Vec::new();
        let events = self.events(fact);
        self.now_us = fact.at_us;
        if moves(&fact.what) || events.iter().any(|event| self.monitor.is_news(event)) {
            self.is_settled = OnceLock::new();
            self.changed_us = fact.at_us;
        }
        for event in events {
            let placed = match &event {
                Event::Placed { pod, node } => Some((pod.clone(), node.clone())),
                _ => None,
            };
            let wrong = self.monitor.observe(event);
            if let Some((pod, node)) = placed.filter(|_| wrong.is_empty()) {
                // Correct according to the scheduler's knowledge, even if that is outdated.
                self.allowed.entry(pod).or_default().insert(node);
            }
            violations.extend(wrong);
        }
        self.without_excused(violations)
    }

    /// Removes violations of rules that the case excuses.
    fn without_excused(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        violations.retain(|violation| !self.plan.excused_rules.contains(violation.rule.id));
        violations
    }

    /// Marks everything as quiet: programs have observed all changes. Not yet if a watch lags or restarts, or if a CSI call may have
    /// started before the last change.
    pub(crate) fn settle(&mut self) {
        self.is_settled = OnceLock::new();
        let is_under_way = self.now_us.saturating_sub(self.changed_us) < self.longest_delay_us;
        if !self.has_stale_reads && !self.heard.is_behind() && !is_under_way {
            self.storage.settle();
            self.told.settle();
            self.monitor.observe(Event::Quiet);
        }
    }

    /// Whether there would be no violation if everything were quiet now. Cached, as polling without changes must be cheap.
    pub(crate) fn is_settled(&self) -> bool {
        *self.is_settled.get_or_init(|| self.unsettled().is_empty())
    }

    /// Violations if everything were quiet now.
    pub(crate) fn unsettled(&self) -> Vec<Violation> {
        // Programs with rejected settings have no other obligations.
        let mut violations = settings::judge(self.world(), self.programs.runs(Role::Scheduler));
        violations.extend(self.monitor.unsettled());
        violations.extend(self.monitor.unsettled_volumes(&self.storage));
        if self.programs.runs(Role::Scheduler) && !self.is_uninformed {
            let pending = placement::pending(&self.seen_by_scheduler()).into_iter();
            violations.extend(pending.filter(|it| !self.is_tried(&it.subject)));
        }
        let has_replicas = self.plan.publisher.replicas.is_some();
        // The leading replica is unknown.
        let instance = |client: &str| (!has_replicas).then(|| self.programs.instance(client));
        let readings = self.told.told(instance);
        violations.extend(readings.flat_map(|reading| metrics::judge(self.world(), &reading)));
        self.without_excused(violations)
    }

    /// Whether the role's programs must exit because of their settings.
    pub(crate) fn must_end(&self, role: Role) -> bool {
        match role {
            Role::Publisher => {
                let publisher = self.programs.settings(&self.programs.instance_on(None));
                settings::refused_publisher(&publisher).is_some()
            }
            Role::Scheduler => settings::refused_scheduler(&self.world().scheduler).is_some(),
            Role::Cleaner | Role::Driver => false,
        }
    }

    /// Whether a running publisher must call GetCapacity.
    pub(crate) fn has_questions(&self) -> bool {
        let world = self.world();
        let asks = |(instance, publisher): (&Instance, &Publisher)| {
            publisher.publishes && Wanted::of(world, instance, publisher).demands().next().is_some()
        };
        self.plan.driver.get_capacity && world.api.version().is_some() && world.publishers.iter().any(asks)
    }

    /// Whether the subject is a pod that the scheduler keeps retrying.
    fn is_tried(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Pod(pod) if self.given_back.contains(pod))
    }

    /// The cluster state known to the scheduler. Without served capacity objects, it has none if it never listed them; otherwise it has
    /// them as they were last served.
    fn seen_by_scheduler(&self) -> Cow<'_, World> {
        let world = self.world();
        match world.api.version() {
            None if self.is_blind => {
                let world = match world.api.release.has_flag() {
                    true => world.clone(),
                    false => world.without_flags(),
                };
                Cow::Owned(World {
                    objects: Objects::new(),
                    ..world
                })
            }
            None if self.hides_maxima => Cow::Owned(world.without_maxima()),
            _ => Cow::Borrowed(world),
        }
    }

    fn world(&self) -> &World {
        self.monitor.world()
    }
}

/// Whether a fact may change more than its events contain: objects, running programs or the driver's storage.
fn moves(what: &What) -> bool {
    match what {
        What::StepStarted(_) | What::Action(_) | What::Process(_) | What::Commit(_) => true,
        What::Call(call) => call.method != Method::GetCapacity,
        _ => false,
    }
}
