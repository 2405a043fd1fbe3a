//! The freedoms that KEP-1472, KEP-4049 and the CSI specification leave to a publisher, a cleaner, a scheduler and a driver, as choices of
//! the references. No case may fail for any of them. Does not run anything.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use capacity_types::Segment;
use publisher::{NameForm, SelectorForm, SizeForm, UpdateVerb};
use scheduler::{Refusals, Ties};
use suites::harness::alike::did_you_mean;
use suites::harness::invocation::program;
use suites::harness::plan::{Action, Plan};
use suites::harness::scenario::Role;
use suites::harness::scenario::pairs;
use suites::harness::standalone::{CsiCode, CsiEffect, CsiMethod, CsiRule};

use crate::systems::Adjustments;
use crate::{publisher, scheduler};

/// One way to use a freedom, other than the reference does by default.
pub struct Freedom {
    /// What is chosen, such as `update`.
    pub name: &'static str,
    /// The choice, such as `patch`.
    pub value: &'static str,
    /// The text that leaves the choice.
    pub source: &'static str,
    change: Change,
}

/// How the options of a reference change.
#[derive(Clone, Copy)]
enum Change {
    Publisher(fn(&mut publisher::Options)),
    Scheduler(fn(&mut scheduler::Options)),
    Cleaner(fn(&mut publisher::Options)),
    /// The driver of a case, in cases that are about the driver.
    Driver(fn(&mut Plan)),
}

/// The freedoms, one below the other where they are choices of the same thing.
pub const FREEDOMS: &[Freedom] = &[
    Freedom {
        name: "update",
        value: "patch",
        source: "KEP-1472 names no verb for updating an object",
        change: Change::Publisher(|it| {
            it.dialect.update = UpdateVerb::MergePatch;
        }),
    },
    Freedom {
        name: "update",
        value: "apply",
        source: "KEP-1472 names no verb for updating an object",
        change: Change::Publisher(|it| {
            it.dialect.update = UpdateVerb::Apply;
        }),
    },
    Freedom {
        name: "sizes",
        value: "bytes",
        source: "CSIStorageCapacity.capacity is a resource.Quantity in bytes",
        change: Change::Publisher(|it| {
            it.dialect.sizes = SizeForm::Bytes;
        }),
    },
    Freedom {
        name: "selector",
        value: "expressions",
        source: "nodeTopology is a LabelSelector; the examples of KEP-1472 have matchExpressions",
        change: Change::Publisher(|it| {
            it.dialect.selector = SelectorForm::Expressions;
        }),
    },
    Freedom {
        name: "names",
        value: "uuid",
        source: "KEP-1472, CSIStorageCapacity: csisc-<uuid> is recommended",
        change: Change::Publisher(|it| {
            it.dialect.names = NameForm::Uuid;
        }),
    },
    Freedom {
        name: "names",
        value: "reverse-domain",
        source: "KEP-1472, CSIStorageCapacity: a reverse-domain name that ends with the driver name is recommended",
        change: Change::Publisher(|it| {
            it.dialect.names = NameForm::ReverseDomain;
        }),
    },
    Freedom {
        name: "owner",
        value: "plain",
        source: "KEP-1472, CSIStorageCapacity lifecycle: objects should have an owner reference",
        change: Change::Publisher(|it| {
            it.dialect.plain_owner = true;
        }),
    },
    Freedom {
        name: "capabilities",
        value: "mount",
        source: "CSI, GetCapacityRequest.volume_capabilities is optional",
        change: Change::Publisher(|it| {
            it.dialect.capabilities = true;
        }),
    },
    Freedom {
        name: "own-topology",
        value: "csi-node",
        source: "KEP-1472, Without central controller, names no source of the node's topology",
        change: Change::Publisher(|it| {
            it.dialect.topology_of_csi_node = true;
        }),
    },
    Freedom {
        name: "long-label",
        value: "hash",
        source: "KEP-1472 does not say how a managed-by label is shortened",
        change: Change::Publisher(|it| {
            it.dialect.hashed_instance = true;
        }),
    },
    Freedom {
        name: "discovery",
        value: "cached",
        source: "KEP-1472 does not say when API versions are discovered",
        change: Change::Publisher(|it| {
            it.dialect.cached_discovery = true;
        }),
    },
    Freedom {
        name: "start",
        value: "slow",
        source: "a program may need time before its first request",
        change: Change::Publisher(start_slowly),
    },
    Freedom {
        name: "retry",
        value: "slow",
        source: "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it",
        change: Change::Publisher(retry_slowly),
    },
    Freedom {
        name: "workers",
        value: "one",
        source: "KEP-1472 names no number of workers",
        change: Change::Publisher(|it| {
            it.capacity_threads = 1;
        }),
    },
    Freedom {
        name: "workers",
        value: "two",
        source: "KEP-1472 names no number of workers",
        change: Change::Publisher(|it| {
            it.capacity_threads = 2;
        }),
    },
    Freedom {
        name: "immediate",
        value: "published",
        source: "KEP-1472, With central controller: all classes that reference the driver",
        change: Change::Publisher(|it| {
            it.capacity_for_immediate_binding = true;
        }),
    },
    Freedom {
        name: "zero",
        value: "published",
        source: "KEP-1472, CSIStorageCapacity: no object and zero mean the same",
        change: Change::Publisher(|it| {
            it.publish_zero = Some(true);
        }),
    },
    Freedom {
        name: "unregistered",
        value: "at-once",
        source: "KEP-1472 does not say for how long an unregistered driver keeps its objects",
        change: Change::Publisher(|it| {
            it.unregistration_grace = Some(Duration::ZERO);
        }),
    },
    Freedom {
        name: "ties",
        value: "first",
        source: "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one",
        change: Change::Scheduler(|it| {
            it.ties = Ties::First;
        }),
    },
    Freedom {
        name: "ties",
        value: "last",
        source: "KEP-1472 does not say which of several fitting nodes a pod gets; equal pods may get the same one",
        change: Change::Scheduler(|it| {
            it.ties = Ties::Last;
        }),
    },
    Freedom {
        name: "refusals",
        value: "plain",
        source: "KEP-1472, Rollout, Upgrade and Rollback Planning, quotes the reason and no text around it",
        change: Change::Scheduler(|it| {
            it.refusals = Refusals::Plain;
        }),
    },
    Freedom {
        name: "backoff",
        value: "slow",
        source: "no document says how soon a scheduler tries a pod again",
        change: Change::Scheduler(|it| {
            it.initial_backoff = Duration::from_secs(1);
            it.max_backoff = Duration::from_secs(2);
        }),
    },
    Freedom {
        name: "start",
        value: "slow",
        source: "a program may need time before its first request",
        change: Change::Cleaner(start_slowly),
    },
    Freedom {
        name: "retry",
        value: "slow",
        source: "KEP-1472 names no back-off; the manifest's retryIntervalMax bounds it",
        change: Change::Cleaner(retry_slowly),
    },
    Freedom {
        name: "checks",
        value: "regular",
        source: "KEP-1472, CSIStorageCapacity lifecycle: objects go after a certain amount of time",
        change: Change::Cleaner(|it| {
            it.dialect.regular_checks = true;
        }),
    },
    Freedom {
        name: "nodes",
        value: "csi-node",
        source: "KEP-1472, CSIStorageCapacity lifecycle: it watches CSINode objects",
        change: Change::Cleaner(|it| {
            it.dialect.csi_nodes_alone = true;
        }),
    },
    Freedom {
        name: "figures",
        value: "vary",
        source: "CSI, GetCapacity, does not say that nobody else writes to the storage",
        change: Change::Driver(|it| {
            it.driver.varies_by = 8192;
        }),
    },
    Freedom {
        name: "volume-size",
        value: "left-out",
        source: "CSI, Volume.capacity_bytes is optional: 0 means that it is unknown",
        change: Change::Driver(|it| {
            it.driver.tells_volume_size = false;
        }),
    },
    Freedom {
        name: "unknown-parameter",
        value: "refused",
        source: "CSI, error scheme: INVALID_ARGUMENT where a field is invalid",
        change: Change::Driver(|it| {
            let parameters = [("unheard-of".to_owned(), "1".to_owned())];
            refuse_capacity(it, None, parameters.into());
        }),
    },
    Freedom {
        name: "unknown-segment",
        value: "refused",
        source: "CSI, error scheme: INVALID_ARGUMENT where a field is invalid",
        change: Change::Driver(|it| {
            let segment = it.segments.usual("nowhere");
            refuse_capacity(it, Some(segment), [].into());
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

/// Lets the driver refuse GetCapacity for a segment, or with parameters.
fn refuse_capacity(plan: &mut Plan, segment: Option<Segment>, parameters: BTreeMap<String, String>) {
    let rule = CsiRule {
        method: CsiMethod::GetCapacity,
        segment,
        parameters,
        skip: 0,
        times: None,
        effect: CsiEffect::Code(CsiCode::InvalidArgument, "scripted by the case".to_owned()),
    };
    plan.begin_with([Action::Script { id: None, rule }], "a choice of the dialect");
}

impl Freedom {
    /// Whose freedom it is.
    pub fn role(&self) -> Role {
        match self.change {
            Change::Publisher(_) => Role::Publisher,
            Change::Scheduler(_) => Role::Scheduler,
            Change::Cleaner(_) => Role::Cleaner,
            Change::Driver(_) => Role::Driver,
        }
    }
}

impl fmt::Display for Freedom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.name, self.value)
    }
}

/// Choices that the references make, one at most for each freedom of a role.
#[derive(Clone)]
pub struct Dialect(Vec<&'static Freedom>);

impl Dialect {
    /// A dialect with these choices.
    pub fn new(choices: impl IntoIterator<Item = &'static Freedom>) -> Self {
        Dialect(choices.into_iter().collect())
    }

    /// The dialects in which the cases of a role must pass: each choice alone, and pairwise covering combinations of them, in which the
    /// default of each freedom is a choice too.
    pub fn all(role: Role) -> Vec<Self> {
        let of_role = || FREEDOMS.iter().filter(|freedom| freedom.role() == role);
        let mut choices: BTreeMap<&str, Vec<&'static Freedom>> = BTreeMap::new();
        for freedom in of_role() {
            choices.entry(freedom.name).or_default().push(freedom);
        }
        let choices: Vec<_> = choices.into_values().collect();
        let sizes: Vec<usize> = choices.iter().map(|values| values.len() + 1).collect();
        let combined = pairs(&sizes).into_iter().map(|row| {
            // 0 is the default.
            let chosen = row.into_iter().zip(&choices);
            Dialect::new(chosen.filter_map(|(value, values)| values.get(value.checked_sub(1)?).copied()))
        });
        let alone = of_role().map(|freedom| Dialect::new([freedom]));
        alone
            .chain(combined.filter(|dialect| dialect.0.len() > 1))
            .collect()
    }

    /// Reads `NAME=VALUE,…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut chosen = Vec::new();
        for choice in text.split(',') {
            // Several roles may have it.
            let known = chosen.len();
            chosen.extend(FREEDOMS.iter().filter(|freedom| freedom.to_string() == choice));
            if chosen.len() == known {
                let names: Vec<String> = FREEDOMS.iter().map(Freedom::to_string).collect();
                return Err(format!(
                    "unknown choice `{choice}`{}; `{program} list --dialects` prints all",
                    did_you_mean(choice, names.iter().map(String::as_str)),
                    program = program()
                ));
            }
        }
        Ok(Dialect(chosen))
    }

    pub(crate) fn adjustments(&self) -> Adjustments {
        let mut adjustments = Adjustments::default();
        for freedom in &self.0 {
            match freedom.change {
                Change::Publisher(change) => adjustments.publisher.push(change),
                Change::Scheduler(change) => adjustments.scheduler.push(change),
                Change::Cleaner(change) => adjustments.cleaner.push(change),
                Change::Driver(_) => {}
            }
        }
        adjustments
    }

    /// Lets the driver of a case make these choices, if the case is about the driver.
    pub fn change_driver(&self, plan: &mut Plan) {
        let is_about_driver = plan.roles.contains(&Role::Driver);
        for freedom in self.0.iter().filter(|_| is_about_driver) {
            if let Change::Driver(change) = freedom.change {
                change(plan);
            }
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut choices: Vec<String> = self.0.iter().map(|freedom| freedom.to_string()).collect();
        // What several roles have is one choice.
        choices.dedup();
        f.write_str(&choices.join(","))
    }
}
