//! Choices that KEP-1472, KEP-4049 and the CSI specification leave to publisher, cleaner, scheduler and driver, as options of the
//! references. No case may fail because of a choice. Runs nothing.

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

/// A choice that the specifications leave open, other than the default of the reference.
pub struct Choice {
    /// Name of the behaviour, such as `update`.
    pub name: &'static str,
    /// The alternative, such as `patch`.
    pub value: &'static str,
    /// The document that leaves the choice.
    pub source: &'static str,
    change: Change,
}

/// How the choice changes the options of a reference.
#[derive(Clone, Copy)]
enum Change {
    Publisher(fn(&mut publisher::Options)),
    Scheduler(fn(&mut scheduler::Options)),
    Cleaner(fn(&mut publisher::Options)),
    /// Changes the driver, in driver cases.
    Driver(fn(&mut Plan)),
}

/// All alternatives. Choices of the same behaviour must be adjacent.
pub const CHOICES: &[Choice] = &[
    Choice {
        name: "update",
        value: "patch",
        source: "KEP-1472 names no verb for updating an object",
        change: Change::Publisher(|it| {
            it.dialect.update = UpdateVerb::MergePatch;
        }),
    },
    Choice {
        name: "update",
        value: "apply",
        source: "KEP-1472 names no verb for updating an object",
        change: Change::Publisher(|it| {
            it.dialect.update = UpdateVerb::Apply;
        }),
    },
    Choice {
        name: "sizes",
        value: "bytes",
        source: "CSIStorageCapacity.capacity is a resource.Quantity in bytes",
        change: Change::Publisher(|it| {
            it.dialect.sizes = SizeForm::Bytes;
        }),
    },
    Choice {
        name: "selector",
        value: "expressions",
        source: "nodeTopology is a LabelSelector; the examples of KEP-1472 have matchExpressions",
        change: Change::Publisher(|it| {
            it.dialect.selector = SelectorForm::Expressions;
        }),
    },
    Choice {
        name: "names",
        value: "uuid",
        source: "KEP-1472, CSIStorageCapacity: csisc-<uuid> is recommended",
        change: Change::Publisher(|it| {
            it.dialect.names = NameForm::Uuid;
        }),
    },
    Choice {
        name: "names",
        value: "reverse-domain",
        source: "KEP-1472, CSIStorageCapacity: a reverse-domain name that ends with the driver name is recommended",
        change: Change::Publisher(|it| {
            it.dialect.names = NameForm::ReverseDomain;
        }),
    },
    Choice {
        name: "owner",
        value: "plain",
        source: "KEP-1472, CSIStorageCapacity lifecycle: objects should have an owner reference",
        change: Change::Publisher(|it| {
            it.dialect.plain_owner = true;
        }),
    },
    Choice {
        name: "capabilities",
        value: "mount",
        source: "CSI, GetCapacityRequest.volume_capabilities is optional",
        change: Change::Publisher(|it| {
            it.dialect.capabilities = true;
        }),
    },
    Choice {
        name: "own-topology",
        value: "csi-node",
        source: "KEP-1472, Without central controller, names no source of the node's topology",
        change: Change::Publisher(|it| {
            it.dialect.topology_of_csi_node = true;
        }),
    },
    Choice {
        name: "long-label",
        value: "hash",
        source: "KEP-1472 does not say how a managed-by label is shortened",
        change: Change::Publisher(|it| {
            it.dialect.hashed_instance = true;
        }),
    },
    Choice {
        name: "discovery",
        value: "cached",
        source: "KEP-1472 does not say when API versions are discovered",
        change: Change::Publisher(|it| {
            it.dialect.cached_discovery = true;
        }),
    },
    Choice {
        name: "start",
        value: "slow",
        source: "a program may need time before its first request",
        change: Change::Publisher(start_slowly),
    },
    Choice {
        name: "retry",
        value: "slow",
        source: "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it",
        change: Change::Publisher(retry_slowly),
    },
    Choice {
        name: "workers",
        value: "one",
        source: "KEP-1472 names no number of workers",
        change: Change::Publisher(|it| {
            it.capacity_threads = 1;
        }),
    },
    Choice {
        name: "workers",
        value: "two",
        source: "KEP-1472 names no number of workers",
        change: Change::Publisher(|it| {
            it.capacity_threads = 2;
        }),
    },
    Choice {
        name: "immediate",
        value: "published",
        source: "KEP-1472, With central controller: all classes that reference the driver",
        change: Change::Publisher(|it| {
            it.capacity_for_immediate_binding = true;
        }),
    },
    Choice {
        name: "zero",
        value: "published",
        source: "KEP-1472, CSIStorageCapacity: no object and zero mean the same",
        change: Change::Publisher(|it| {
            it.publish_zero = Some(true);
        }),
    },
    Choice {
        name: "unregistered",
        value: "at-once",
        source: "KEP-1472 does not say for how long the objects of an unregistered driver are retained",
        change: Change::Publisher(|it| {
            it.unregistration_grace = Some(Duration::ZERO);
        }),
    },
    Choice {
        name: "ties",
        value: "first",
        source: "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one",
        change: Change::Scheduler(|it| {
            it.ties = Ties::First;
        }),
    },
    Choice {
        name: "ties",
        value: "last",
        source: "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one",
        change: Change::Scheduler(|it| {
            it.ties = Ties::Last;
        }),
    },
    Choice {
        name: "refusals",
        value: "plain",
        source: "KEP-1472, Rollout, Upgrade and Rollback Planning, quotes the reason and no text around it",
        change: Change::Scheduler(|it| {
            it.message_style = MessageStyle::Plain;
        }),
    },
    Choice {
        name: "backoff",
        value: "slow",
        source: "no document says how soon a scheduler tries a pod again",
        change: Change::Scheduler(|it| {
            it.initial_backoff = Duration::from_secs(1);
            it.max_backoff = Duration::from_secs(2);
        }),
    },
    Choice {
        name: "start",
        value: "slow",
        source: "a program may need time before its first request",
        change: Change::Cleaner(start_slowly),
    },
    Choice {
        name: "retry",
        value: "slow",
        source: "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it",
        change: Change::Cleaner(retry_slowly),
    },
    Choice {
        name: "checks",
        value: "regular",
        source: "KEP-1472, CSIStorageCapacity lifecycle: objects go after a certain amount of time",
        change: Change::Cleaner(|it| {
            it.dialect.regular_checks = true;
        }),
    },
    Choice {
        name: "nodes",
        value: "csi-node",
        source: "KEP-1472, CSIStorageCapacity lifecycle: it watches CSINode objects",
        change: Change::Cleaner(|it| {
            it.dialect.csi_nodes_alone = true;
        }),
    },
    Choice {
        name: "figures",
        value: "vary",
        source: "CSI, GetCapacity, does not exclude other writers to the storage",
        change: Change::Driver(|it| {
            it.driver.varies_by = 8192;
        }),
    },
    Choice {
        name: "volume-size",
        value: "left-out",
        source: "CSI, Volume.capacity_bytes is optional: 0 means that it is unknown",
        change: Change::Driver(|it| {
            it.driver.returns_volume_size = false;
        }),
    },
    Choice {
        name: "unknown-parameter",
        value: "refused",
        source: "CSI, error scheme: INVALID_ARGUMENT where a field is invalid",
        change: Change::Driver(|it| {
            let parameters = [("unheard-of".to_owned(), "1".to_owned())];
            reject_get_capacity(it, None, parameters.into());
        }),
    },
    Choice {
        name: "unknown-segment",
        value: "refused",
        source: "CSI, error scheme: INVALID_ARGUMENT where a field is invalid",
        change: Change::Driver(|it| {
            let segment = it.segments.usual("nowhere");
            reject_get_capacity(it, Some(segment), [].into());
        }),
    },
];

fn start_slowly(options: &mut publisher::Options) {
    options.dialect.start_delay = Duration::from_secs(2);
}

fn retry_slowly(options: &mut publisher::Options) {
    options.retry_interval_start = Duration::from_secs(1);
    options.retry_interval_max = Duration::from_secs(5);
}

/// Makes the driver reject GetCapacity for a segment, or for these parameters.
fn reject_get_capacity(plan: &mut Plan, segment: Option<Segment>, parameters: BTreeMap<String, String>) {
    let rule = CsiRule {
        method: CsiMethod::GetCapacity,
        segment,
        parameters,
        skip: 0,
        times: None,
        effect: CsiEffect::Code(CsiCode::InvalidArgument, "scripted by the case".to_owned()),
    };
    plan.begin_with(
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
    /// Creates a dialect from these choices.
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
            // Value 0 is the default, for which no choice exists.
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
                    "unknown choice `{name}`{}; `{program} list --dialects` prints all",
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
