//! Behaviour that KEP-1472, KEP-4049 and the CSI specification leave to the publisher, the cleaner, the scheduler and the driver. Each
//! choice sets options of a reference. No case may fail because of a choice. Runs nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use capacity_types::Segment;
use publisher::{NameForm, SelectorForm, SizeForm, UpdateVerb};
use scheduler::{MessageStyle, Ties};
use suites::harness::alike::did_you_mean;
use suites::harness::invocation::program;
use suites::harness::plan::{Action, Plan};
use suites::harness::scenario::Role;
use suites::harness::scenario::pairs;
use suites::harness::standalone::{CsiCode, CsiEffect, CsiMethod, CsiRule};

use crate::systems::Adjustments;
use crate::{publisher, scheduler};

/// A behaviour that the specifications allow and that differs from the default of the reference.
pub struct Choice {
    /// Name of the behaviour, such as `update`: how objects are updated.
    pub name: &'static str,
    /// The implementation's choice instead of the default, such as `patch`.
    pub value: &'static str,
    /// The document that leaves the choice to implementations.
    pub source: &'static str,
    change: Change,
}

/// How the choice changes the options of a reference.
#[derive(Clone, Copy)]
enum Change {
    Publisher(fn(&mut publisher::Options)),
    Scheduler(fn(&mut scheduler::Options)),
    Cleaner(fn(&mut publisher::Options)),
    /// Changes the built-in driver, in cases that test a driver.
    Driver(fn(&mut Plan)),
}

macro_rules! choices {
    ($($role:ident $name:literal = $value:literal, $source:literal: $change:expr;)+) => {
        /// All choices other than the defaults. Choices with the same name must be adjacent.
        pub const CHOICES: &[Choice] = &[
            $(Choice { name: $name, value: $value, source: $source, change: Change::$role($change) }),+
        ];
    };
}

choices! {
    Publisher "update" = "patch", "KEP-1472 names no verb for updating an object":
        |it| it.dialect.update = UpdateVerb::MergePatch;
    Publisher "update" = "apply", "KEP-1472 names no verb for updating an object":
        |it| it.dialect.update = UpdateVerb::Apply;
    Publisher "sizes" = "bytes", "CSIStorageCapacity.capacity is a resource.Quantity in bytes":
        |it| it.dialect.sizes = SizeForm::Bytes;
    Publisher "selector" = "expressions", "nodeTopology is a LabelSelector; the examples of KEP-1472 have matchExpressions":
        |it| it.dialect.selector = SelectorForm::Expressions;
    Publisher "names" = "uuid", "KEP-1472, CSIStorageCapacity: csisc-<uuid> is recommended":
        |it| it.dialect.names = NameForm::Uuid;
    Publisher "names" = "reverse-domain", "KEP-1472, CSIStorageCapacity: a reverse-domain name that ends with the driver name is recommended":
        |it| it.dialect.names = NameForm::ReverseDomain;
    Publisher "owner" = "plain", "KEP-1472, CSIStorageCapacity lifecycle: objects should have an owner reference":
        |it| it.dialect.plain_owner = true;
    Publisher "capabilities" = "mount", "CSI, GetCapacityRequest.volume_capabilities is optional":
        |it| it.dialect.capabilities = true;
    Publisher "own-topology" = "csi-node", "KEP-1472, Without central controller, names no source of the node's topology":
        |it| it.dialect.topology_of_csi_node = true;
    Publisher "long-label" = "hash", "KEP-1472 does not say how a managed-by label is shortened":
        |it| it.dialect.hashed_instance = true;
    Publisher "discovery" = "cached", "KEP-1472 does not say when API versions are discovered":
        |it| it.dialect.cached_discovery = true;
    Publisher "start" = "slow", "a program may need time before its first request":
        start_slowly;
    Publisher "retry" = "slow", "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it":
        retry_slowly;
    Publisher "workers" = "one", "KEP-1472 names no number of workers":
        |it| it.capacity_threads = 1;
    Publisher "workers" = "two", "KEP-1472 names no number of workers":
        |it| it.capacity_threads = 2;
    Publisher "immediate" = "published", "KEP-1472, With central controller: all classes that reference the driver":
        |it| it.capacity_for_immediate_binding = true;
    Publisher "zero" = "published", "KEP-1472, CSIStorageCapacity: no object and zero mean the same":
        |it| it.publish_zero = Some(true);
    Publisher "unregistered" = "at-once", "KEP-1472 does not say for how long the objects of an unregistered driver are retained":
        |it| it.unregistration_grace = Some(Duration::ZERO);
    Scheduler "ties" = "first", "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one":
        |it| it.ties = Ties::First;
    Scheduler "ties" = "last", "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one":
        |it| it.ties = Ties::Last;
    Scheduler "refusals" = "plain", "KEP-1472, Rollout, Upgrade and Rollback Planning, quotes the reason and no text around it":
        |it| it.message_style = MessageStyle::Plain;
    Scheduler "backoff" = "slow", "no document says how soon a scheduler tries a pod again":
        |it| {
            it.initial_backoff = Duration::from_secs(1);
            it.max_backoff = Duration::from_secs(2);
        };
    Cleaner "start" = "slow", "a program may need time before its first request":
        start_slowly;
    Cleaner "retry" = "slow", "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it":
        retry_slowly;
    Cleaner "checks" = "regular", "KEP-1472, CSIStorageCapacity lifecycle: orphaned objects are deleted after a certain amount of time":
        |it| it.dialect.regular_checks = true;
    Cleaner "nodes" = "csi-node", "KEP-1472, CSIStorageCapacity lifecycle: the cleaner watches CSINode objects":
        |it| it.dialect.csi_nodes_alone = true;
    Driver "figures" = "vary", "CSI, GetCapacity, does not exclude other writers to the storage":
        |it| it.driver.varies_by = 8192;
    Driver "volume-size" = "left-out", "CSI, Volume.capacity_bytes is optional: 0 means that it is unknown":
        |it| it.driver.returns_volume_size = false;
    Driver "unknown-parameter" = "refused", "CSI, error scheme: INVALID_ARGUMENT where a field is invalid":
        |it| reject_get_capacity(it, None, [("unheard-of".to_owned(), "1".to_owned())].into());
    Driver "unknown-segment" = "refused", "CSI, error scheme: INVALID_ARGUMENT where a field is invalid":
        |it| {
            let segment = it.segments.default_segment("nowhere");
            reject_get_capacity(it, Some(segment), [].into());
        };
}

fn start_slowly(options: &mut publisher::Options) {
    options.dialect.start_delay = Duration::from_secs(2);
}

fn retry_slowly(options: &mut publisher::Options) {
    options.retry_interval_start = Duration::from_secs(1);
    options.retry_interval_max = Duration::from_secs(5);
}

/// Makes the driver reject GetCapacity for a segment, or for these StorageClass parameters.
fn reject_get_capacity(plan: &mut Plan, segment: Option<Segment>, parameters: BTreeMap<String, String>) {
    let rule = CsiRule {
        method: CsiMethod::GetCapacity,
        segment,
        parameters,
        skip: 0,
        times: None,
        effect: CsiEffect::Code(CsiCode::InvalidArgument, "scripted by the case".to_owned()),
    };
    plan.prepend_actions(
        [Action::DriverFault { id: None, rule }],
        "a choice of the dialect",
    );
}

impl Choice {
    /// The role whose program makes the choice.
    pub fn role(&self) -> Role {
        match self.change {
            Change::Publisher(_) => Role::Publisher,
            Change::Scheduler(_) => Role::Scheduler,
            Change::Cleaner(_) => Role::Cleaner,
            Change::Driver(_) => Role::Driver,
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// A set of choices for the references, at most one per behaviour and role.
#[derive(Clone)]
pub struct Dialect(Vec<&'static Choice>);

impl Dialect {
    /// Creates a dialect (set of choices) from these choices.
    pub fn new(choices: impl IntoIterator<Item = &'static Choice>) -> Self {
        Dialect(choices.into_iter().collect())
    }

    /// The dialects in which the cases of a role must pass: each choice alone, and a pairwise covering set of combinations, which include
    /// the default of each behaviour.
    pub fn all(role: Role) -> Vec<Self> {
        let of_role = || CHOICES.iter().filter(|choice| choice.role() == role);
        let mut choices: BTreeMap<&str, Vec<&'static Choice>> = BTreeMap::new();
        for choice in of_role() {
            choices.entry(choice.name).or_default().push(choice);
        }
        let choices: Vec<_> = choices.into_values().collect();
        let sizes: Vec<usize> = choices.iter().map(|values| values.len() + 1).collect();
        let combined = pairs(&sizes).into_iter().map(|row| {
            // Value 0 of a behaviour is the default, which needs no choice.
            let chosen = row.into_iter().zip(&choices);
            Dialect::new(chosen.filter_map(|(value, values)| values.get(value.checked_sub(1)?).copied()))
        });
        let alone = of_role().map(|choice| Dialect::new([choice]));
        alone
            .chain(combined.filter(|dialect| dialect.0.len() > 1))
            .collect()
    }

    /// Parses `NAME=VALUE,…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut chosen = Vec::new();
        for name in text.split(',') {
            // Several roles may have a choice of this name.
            let known = chosen.len();
            chosen.extend(CHOICES.iter().filter(|choice| choice.to_string() == name));
            if chosen.len() == known {
                let names: Vec<String> = CHOICES.iter().map(Choice::to_string).collect();
                return Err(format!(
                    "unknown choice `{name}`{}; `{program} list --dialects` prints all choices",
                    did_you_mean(name, names.iter().map(String::as_str)),
                    program = program()
                ));
            }
        }
        Ok(Dialect(chosen))
    }

    pub(crate) fn adjustments(&self) -> Adjustments {
        let mut adjustments = Adjustments::default();
        for choice in &self.0 {
            match choice.change {
                Change::Publisher(change) => adjustments.publisher.push(change),
                Change::Scheduler(change) => adjustments.scheduler.push(change),
                Change::Cleaner(change) => adjustments.cleaner.push(change),
                Change::Driver(_) => {}
            }
        }
        adjustments
    }

    /// Applies the choices to the driver of a driver case.
    pub fn change_driver(&self, plan: &mut Plan) {
        let is_driver_case = plan.roles.contains(&Role::Driver);
        for choice in self.0.iter().filter(|_| is_driver_case) {
            if let Change::Driver(change) = choice.change {
                change(plan);
            }
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut choices: Vec<String> = self.0.iter().map(|choice| choice.to_string()).collect();
        // A choice that several roles share is printed once.
        choices.dedup();
        f.write_str(&choices.join(","))
    }
}
