//! Required metric values at quiescence (KEP-1472 and KEP-4049, "Monitoring Requirements").

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;

use crate::objects::{Demand, Demanded, Pairs, Wanted};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{Instance, Publisher, World};

const GOAL: &str = "csistoragecapacities_desired_goal";
const CURRENT: &str = "csistoragecapacities_desired_current";
const OBSOLETE: &str = "csistoragecapacities_obsolete";
const DEPTH: &str = "workqueue_depth";
const CALLS: &str = "csi_sidecar_operations_seconds_count";
const SECONDS: &str = "csi_sidecar_operations_seconds_sum";
const ATTEMPTS: &str = "scheduler_schedule_attempts_total";
const PLUGINS: &str = "scheduler_plugin_execution_duration_seconds_count";
const REQUESTS: &str = "apiserver_request_total";
const DURATIONS: &str = "apiserver_request_duration_seconds_sum";

/// The names of all series that rules check.
pub const NAMES: [&str; 10] = [
    GOAL, CURRENT, OBSOLETE, DEPTH, CALLS, SECONDS, ATTEMPTS, PLUGINS, REQUESTS, DURATIONS,
];

/// Name of the publisher's workqueue.
const QUEUE: &str = "csistoragecapacity";

/// One time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The metric name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The value.
    pub value: f64,
}

impl Sample {
    fn has(&self, label: &str, value: &str) -> bool {
        self.labels.get(label).is_some_and(|it| it == value)
    }
}

/// One scrape of a program, and the program's actions up to then.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// The name of its API client.
    pub client: String,
    /// Which program it is.
    pub of: Speaker,
    /// All series whose names are in [`NAMES`].
    pub samples: Vec<Sample>,
}

/// A program with metrics.
#[derive(Clone, Debug, PartialEq)]
pub enum Speaker {
    /// A publisher.
    Publisher {
        /// The instance.
        instance: Instance,
        /// Number of GetCapacity calls that the driver has answered since the program started.
        answered: u64,
        /// Minimum total duration of these calls in seconds.
        waited: f64,
    },
    /// A scheduler.
    Scheduler {
        /// Number of pods with PVCs that it has bound since it started.
        placed: u64,
    },
    /// The API server.
    Server,
}

/// Checks a scrape at quiescence.
pub fn judge(world: &World, reading: &Reading) -> Vec<Violation> {
    let mut check = Check {
        reading,
        wrong: Vec::new(),
    };
    match &reading.of {
        Speaker::Publisher {
            instance,
            answered,
            waited,
        } => {
            if let Some(publisher) = world.publishers.get(instance).filter(|it| it.publishes) {
                check.objects(world, instance, publisher);
                check.calls(instance, *answered, *waited);
            }
        }
        Speaker::Scheduler { placed } if *placed > 0 => check.scheduler(*placed),
        Speaker::Scheduler { .. } => {}
        Speaker::Server => check.server(),
    }
    check.wrong
}

/// Allowed range of a number of objects.
#[derive(Clone, Copy, Default)]
struct Bounds {
    from: u32,
    to: u32,
}

impl Bounds {
    /// Adds one object. `is_open`: it may be absent.
    fn add(&mut self, is_open: bool) {
        self.to += 1;
        self.from += u32::from(!is_open);
    }
}

struct Check<'r> {
    reading: &'r Reading,
    wrong: Vec<Violation>,
}

impl Check<'_> {
    fn objects(&mut self, world: &World, instance: &Instance, publisher: &Publisher) {
        // Without the type, or if the driver lacks GET_CAPACITY, there are no objects to count.
        let wanted = Wanted::of(world, instance, publisher);
        if world.api.version().is_none() || wanted.is_mute() {
            return;
        }
        let there = Pairs::of(world, instance, publisher);
        let (mut goal, mut current) = (Bounds::default(), Bounds::default());
        for Demanded {
            class,
            segment,
            demand,
        } in wanted.demands()
        {
            let is_open = matches!(demand, Demand::Optional { .. });
            goal.add(is_open);
            if there.get(class, segment).is_some() {
                current.add(is_open);
            }
        }
        self.within(GOAL, rules::WRONG_GOAL_METRIC, goal);
        self.within(CURRENT, rules::WRONG_CURRENT_METRIC, current);
        self.within(OBSOLETE, rules::WRONG_OBSOLETE_METRIC, Bounds::default());
        self.labelled(instance);
        if !self.any(DEPTH, &[("name", QUEUE)]) {
            self.break_rule(
                rules::WRONG_QUEUE_METRIC,
                format!("no {DEPTH}{{name=\"{QUEUE}\"}}"),
            );
        }
    }

    /// Checks the driver and node labels of every series about objects.
    fn labelled(&mut self, instance: &Instance) {
        let samples = &self.reading.samples;
        let mut about = samples.iter().filter(|it| it.name.starts_with(RESOURCE));
        let is_wrong = about.any(|sample| {
            let is_near = instance.node.as_ref().is_none_or(|node| sample.has("node", node));
            !sample.has("driver_name", &instance.driver) || !is_near
        });
        if is_wrong {
            let detail = format!("they do not name {instance:?}");
            self.break_rule(rules::WRONG_METRIC_LABELS, detail);
        }
    }

    fn calls(&mut self, instance: &Instance, answered: u64, waited: f64) {
        if answered == 0 {
            return;
        }
        let is_call = |sample: &Sample| {
            sample.has("driver_name", &instance.driver)
                && sample.has("grpc_status_code", "OK")
                && sample
                    .labels
                    .get("method_name")
                    .is_some_and(|method| method.ends_with("/GetCapacity"))
        };
        let [count, seconds] = [CALLS, SECONDS].map(|name| self.sum(name, is_call).unwrap_or_default());
        if count < 1.0 || seconds < waited {
            let detail =
                format!("{answered} were answered, and it tells of {count} with OK, and of {seconds} s");
            self.break_rule(rules::WRONG_CALLS_METRIC, detail);
        }
    }

    fn scheduler(&mut self, placed: u64) {
        if !self.any(ATTEMPTS, &[("result", "scheduled")]) {
            let detail = format!("it has placed {placed} pods, and no {ATTEMPTS} has this result");
            self.break_rule(rules::WRONG_ATTEMPTS_METRIC, detail);
        }
        if !self.any(
            PLUGINS,
            &[("plugin", "VolumeBinding"), ("extension_point", "Filter")],
        ) {
            let detail = format!("it has placed {placed} pods, and no {PLUGINS} has this plugin");
            self.break_rule(rules::WRONG_PLUGINS_METRIC, detail);
        }
    }

    fn server(&mut self) {
        for (name, rule) in [
            (REQUESTS, rules::WRONG_REQUESTS_METRIC),
            (DURATIONS, rules::WRONG_DURATIONS_METRIC),
        ] {
            if !self.any(name, &[]) {
                self.break_rule(rule, format!("it tells no {name}"));
            }
        }
    }

    /// Whether a series with these labels exists.
    fn any(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let mut samples = self.reading.samples.iter();
        samples.any(|sample| {
            let mut labels = labels.iter();
            sample.name == name && labels.all(|(label, value)| sample.has(label, value))
        })
    }

    /// The sum of the matching series with this name. `None` if there is none.
    fn sum(&self, name: &str, is_meant: impl Fn(&Sample) -> bool) -> Option<f64> {
        let samples = self.reading.samples.iter();
        let meant = samples.filter(|sample| sample.name == name && is_meant(sample));
        meant.map(|sample| sample.value).reduce(|sum, value| sum + value)
    }

    /// Checks that a number of objects is within bounds.
    fn within(&mut self, name: &str, rule: &'static Rule, Bounds { from, to }: Bounds) {
        let sum = self.sum(name, |_| true);
        if sum.is_none_or(|sum| sum < f64::from(from) || sum > f64::from(to)) {
            let told = sum.map_or_else(|| "nothing".to_owned(), |sum| sum.to_string());
            self.break_rule(rule, format!("{name} is {told}, and should be {from} to {to}"));
        }
    }

    fn break_rule(&mut self, rule: &'static Rule, detail: String) {
        self.wrong.push(Violation {
            rule,
            subject: Subject::Program(self.reading.client.clone()),
            detail,
        });
    }
}
