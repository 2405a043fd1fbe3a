//! What the specification says of a run: it follows the world that a plan and a journal make, watches what must hold at every moment, and
//! says what objects and places there must be once everything is quiet.
//!
//! ```text
//! follow    a fact → what happens in the world of the specification; calls of the driver in `calls`
//! storage   what the driver has to answer          programs, owners   how publishers, cleaner and scheduler are set
//! heard     what programs have heard of            told  what they tell of themselves
//! orders    what the case asks of the API server
//! demands   what the specification demands, as rows and places of explicit expectations
//! ```
//!
//! Deliberately absent: rules, which are those of [`capacity_spec`], and verdicts.

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

/// Follows one run.
pub(crate) struct Oracle<'p> {
    plan: &'p Plan,
    monitor: Monitor,
    storage: Storage<'p>,
    programs: Programs<'p>,
    heard: Heard,
    told: Told,
    /// The step that runs, and its first action that is not done yet.
    next: (usize, usize),
    /// Whether the harness itself is calling the driver.
    is_asking: bool,
    /// Whether the type was not served when the scheduler began, or no longer when it could read for the first time.
    is_blind: bool,
    /// Whether no maxima were shown by the last server that served the type.
    hides_maxima: bool,
    /// Whether the scheduler had not heard of all objects when they ceased to be served, or knows of a flag that is served no longer: what it
    /// goes by is unknown, and stays.
    is_uninformed: bool,
    /// Where pods were allowed to go when a node was chosen for them.
    allowed: BTreeMap<NamespacedName, BTreeSet<String>>,
    /// Pods that were sent to a node in this step where their volumes could not be made: they are tried again and again.
    given_back: BTreeSet<NamespacedName>,
    /// Programs may act on what was long ago, as they are shown it.
    has_stale_reads: bool,
    /// How long a call of the driver may be on its way, in journal time; the journal has it only when it ends.
    longest_delay_us: u64,
    /// Whether calls of the driver may wait, so that it is not known when one began.
    has_late_answers: bool,
    /// Journal time of the last fact, and of the last one after which programs may act otherwise.
    now_us: u64,
    changed_us: u64,
    /// Whether nothing would be wrong, since the last fact that may have changed that.
    is_settled: OnceLock<bool>,
}

impl<'p> Oracle<'p> {
    /// For a run that has not begun.
    pub(crate) fn new(plan: &'p Plan) -> Self {
        let programs = Programs::of(plan);
        let mut world = World::default();
        programs.at_first().into_iter().for_each(|it| world.apply(it));
        let mut monitor = Monitor::new(world);
        // Nothing is wrong before anything has happened.
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

    /// Takes the next fact, and says what must not have happened.
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
                // It was right in what the scheduler knew, if not in what is so.
                self.allowed.entry(pod).or_default().insert(node);
            }
            violations.extend(wrong);
        }
        self.without_excused(violations)
    }

    /// Leaves out violations of the rules that the case excuses.
    fn without_excused(&self, mut violations: Vec<Violation>) -> Vec<Violation> {
        violations.retain(|violation| !self.plan.excused_rules.contains(violation.rule.id));
        violations
    }

    /// Everything is quiet: programs know all that has happened, and act on nothing older. Where a watch is held or begins again, that is
    /// not so yet, nor where a call of the driver may have begun before the last change.
    pub(crate) fn settle(&mut self) {
        self.is_settled = OnceLock::new();
        let is_under_way = self.now_us.saturating_sub(self.changed_us) < self.longest_delay_us;
        if !self.has_stale_reads && !self.heard.is_behind() && !is_under_way {
            self.storage.settle();
            self.told.settle();
            self.monitor.observe(Event::Quiet);
        }
    }

    /// Whether nothing would be wrong if everything were quiet now. Programs that ask and are told the same again and again make it no work.
    pub(crate) fn is_settled(&self) -> bool {
        *self.is_settled.get_or_init(|| self.unsettled().is_empty())
    }

    /// What would be wrong if everything were quiet now.
    pub(crate) fn unsettled(&self) -> Vec<Violation> {
        // What must not run has no other duty.
        let mut violations = settings::judge(self.world(), self.programs.runs(Role::Scheduler));
        violations.extend(self.monitor.unsettled());
        violations.extend(self.monitor.unsettled_volumes(&self.storage));
        if self.programs.runs(Role::Scheduler) && !self.is_uninformed {
            let pending = placement::pending(&self.seen_by_scheduler()).into_iter();
            violations.extend(pending.filter(|it| !self.is_tried(&it.subject)));
        }
        let has_replicas = self.plan.publisher.replicas.is_some();
        // Which of several replicas leads is not told.
        let instance = |client: &str| (!has_replicas).then(|| self.programs.instance(client));
        let readings = self.told.told(instance);
        violations.extend(readings.flat_map(|reading| metrics::judge(self.world(), &reading)));
        self.without_excused(violations)
    }

    /// Whether the programs of a role must end by themselves, as they are set.
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

    /// Whether a publisher that runs has anything to ask the driver.
    pub(crate) fn has_questions(&self) -> bool {
        let world = self.world();
        let asks = |(instance, publisher): (&Instance, &Publisher)| {
            publisher.publishes && Wanted::of(world, instance, publisher).demands().next().is_some()
        };
        self.plan.driver.get_capacity && world.api.version().is_some() && world.publishers.iter().any(asks)
    }

    /// Whether it is a pod that is tried again and again.
    fn is_tried(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Pod(pod) if self.given_back.contains(pod))
    }

    /// The world as the scheduler knows it: one that has begun while the type was not served knows no capacity object. One that has read
    /// objects knows them as they were shown while they were served.
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

/// Whether a fact may change more than its events say: the objects that there are, the programs that run, what the driver has.
fn moves(what: &What) -> bool {
    match what {
        What::StepStarted(_) | What::Action(_) | What::Process(_) | What::Commit(_) => true,
        What::Call(call) => call.method != Method::GetCapacity,
        _ => false,
    }
}
