//! What metrics must say once everything is quiet (KEP-1472 and KEP-4049, "Monitoring Requirements").

use std::collections::BTreeMap;

use crate::objects::{Demand, Wanted};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, Instance, NamespacedName, Publisher, World};

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

/// The names of all series that rules speak of.
pub const NAMES: [&str; 10] = [
    GOAL, CURRENT, OBSOLETE, DEPTH, CALLS, SECONDS, ATTEMPTS, PLUGINS, REQUESTS, DURATIONS,
];

/// The queue of a publisher's work.
const QUEUE: &str = "csistoragecapacity";

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its value.
    pub value: f64,
}

impl Sample {
    fn has(&self, label: &str, value: &str) -> bool {
        self.labels.get(label).is_some_and(|it| it == value)
    }
}

/// What a program has told of itself, and what it has done by then.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    /// Its name for the API server.
    pub client: String,
    /// Who that is.
    pub of: Speaker,
    /// All series whose names are in [`NAMES`].
    pub samples: Vec<Sample>,
}

/// Who tells metrics.
#[derive(Clone, Debug, PartialEq)]
pub enum Speaker {
    /// A publisher, to which the driver has given these answers since it began to run, by gRPC code as `Ok` or `UNAVAILABLE`, and which had
    /// to wait for them so long at least.
    Publisher {
        /// Which.
        instance: Instance,
        /// Answers to GetCapacity.
        answered: u64,
        /// Seconds.
        waited: f64,
    },
    /// A scheduler that has bound so many pods since it began to run.
    Scheduler {
        /// How many of them have claims.
        placed: u64,
    },
    /// The API server.
    Server,
}

/// What is wrong with a reading if everything is quiet.
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

struct Check<'r> {
    reading: &'r Reading,
    wrong: Vec<Violation>,
}

impl Check<'_> {
    fn objects(&mut self, world: &World, instance: &Instance, publisher: &Publisher) {
        // Without the type, or with a driver that tells nothing, there is nothing to be counted.
        let wanted = Wanted::of(world, instance, publisher);
        if world.api.version().is_none() || wanted.is_mute() {
            return;
        }
        let is_own =
            |(key, object): &(&NamespacedName, &CapacityObject)| publisher.owns(instance, key, object);
        let own: Vec<&CapacityObject> = world
            .objects
            .iter()
            .filter(is_own)
            .map(|(_, object)| object)
            .collect();
        let (mut must, mut may) = ([0_u32; 2], [0_u32; 2]);
        for demanded in wanted.demands() {
            let is_there = own.iter().any(|object| {
                object.class == demanded.class && object.segment().as_ref() == Some(demanded.segment)
            });
            let counted = [1, u32::from(is_there)];
            let is_open = matches!(demanded.demand, Demand::Optional { .. });
            for (at, count) in counted.into_iter().enumerate() {
                may[at] += count;
                must[at] += if is_open { 0 } else { count };
            }
        }
        for (at, (name, rule)) in [(GOAL, rules::GOAL_UNTOLD), (CURRENT, rules::CURRENT_UNTOLD)]
            .into_iter()
            .enumerate()
        {
            self.within(name, rule, must[at], may[at]);
        }
        self.within(OBSOLETE, rules::OBSOLETE_UNTOLD, 0, 0);
        self.labelled(instance);
        if !self.any(DEPTH, &[("name", QUEUE)]) {
            self.break_rule(rules::QUEUE_UNTOLD, format!("no {DEPTH}{{name=\"{QUEUE}\"}}"));
        }
    }

    /// Whether each series about objects says whose they are.
    fn labelled(&mut self, instance: &Instance) {
        let samples = &self.reading.samples;
        let mut about = samples
            .iter()
            .filter(|it| it.name.starts_with("csistoragecapacities"));
        let is_wrong = about.any(|sample| {
            let is_near = instance.node.as_ref().is_none_or(|node| sample.has("node", node));
            !sample.has("driver_name", &instance.driver) || !is_near
        });
        if is_wrong {
            let detail = format!("they do not name {instance:?}");
            self.break_rule(rules::PLACE_UNTOLD, detail);
        }
    }

    fn calls(&mut self, instance: &Instance, answered: u64, waited: f64) {
        if answered == 0 {
            return;
        }
        let is_call = |sample: &&Sample| {
            sample.has("driver_name", &instance.driver)
                && sample.has("grpc_status_code", "OK")
                && sample
                    .labels
                    .get("method_name")
                    .is_some_and(|method| method.ends_with("GetCapacity"))
        };
        let samples = || self.reading.samples.iter().filter(is_call);
        let sum = |name: &str| -> f64 {
            let named = samples().filter(|sample| sample.name == name);
            named.map(|sample| sample.value).sum()
        };
        let (count, seconds) = (sum(CALLS), sum(SECONDS));
        if count < 1.0 || seconds < waited {
            let detail =
                format!("{answered} were answered, and it tells of {count} with OK, and of {seconds} s");
            self.break_rule(rules::CALLS_UNTOLD, detail);
        }
    }

    fn scheduler(&mut self, placed: u64) {
        if !self.any(ATTEMPTS, &[("result", "scheduled")]) {
            let detail = format!("it has placed {placed} pods, and no {ATTEMPTS} has this result");
            self.break_rule(rules::ATTEMPTS_UNTOLD, detail);
        }
        if !self.any(
            PLUGINS,
            &[("plugin", "VolumeBinding"), ("extension_point", "Filter")],
        ) {
            let detail = format!("it has placed {placed} pods, and no {PLUGINS} has this plugin");
            self.break_rule(rules::PLUGINS_UNTOLD, detail);
        }
    }

    fn server(&mut self) {
        for (name, rule) in [
            (REQUESTS, rules::REQUESTS_UNTOLD),
            (DURATIONS, rules::DURATIONS_UNTOLD),
        ] {
            if !self.any(name, &[]) {
                self.break_rule(rule, format!("it tells no {name}"));
            }
        }
    }

    /// Whether there is a series with these labels.
    fn any(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let mut samples = self.reading.samples.iter();
        samples.any(|sample| {
            let mut labels = labels.iter();
            sample.name == name && labels.all(|(label, value)| sample.has(label, value))
        })
    }

    /// Whether a series is a number of objects between two.
    fn within(&mut self, name: &str, rule: &'static Rule, from: u32, to: u32) {
        let samples = self.reading.samples.iter().filter(|sample| sample.name == name);
        let sum = samples
            .map(|sample| sample.value)
            .fold(None, |sum: Option<f64>, value| Some(sum.unwrap_or(0.0) + value));
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
