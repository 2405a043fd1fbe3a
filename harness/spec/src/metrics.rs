//! Required metric values at quiescence (KEP-1472 and KEP-4049, "Monitoring Requirements").

use std::collections::BTreeMap;

use capacity_types::capacity_api::RESOURCE;

use crate::objects::{ByClassAndSegment, DesiredObject, DesiredObjects, DesiredState};
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

/// The names of all metrics that rules check.
pub const NAMES: [&str; 10] = [
    GOAL, CURRENT, OBSOLETE, DEPTH, CALLS, SECONDS, ATTEMPTS, PLUGINS, REQUESTS, DURATIONS,
];

/// Name of the publisher's workqueue.
const QUEUE: &str = "csistoragecapacity";

/// A sample of a time series.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Name of the metric.
    pub name: String,
    /// Labels of the time series.
    pub labels: BTreeMap<String, String>,
    /// Value of the time series when the metrics were scraped.
    pub value: f64,
}

impl Sample {
    fn has_label(&self, label: &str, value: &str) -> bool {
        self.labels.get(label).is_some_and(|it| it == value)
    }
}

/// The metrics of a program at one moment, and what the program has done before.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// Client name of the program.
    pub client: String,
    /// The program that served the metrics.
    pub program: Program,
    /// All samples whose metrics are in [`NAMES`].
    pub samples: Vec<Sample>,
}

/// A program that serves metrics, with its actions so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// A publisher.
    Publisher {
        /// The publisher instance.
        instance: Instance,
        /// Number of successful GetCapacity responses that the driver has sent since the program started.
        successful_calls: u64,
        /// Minimum total duration of the successful GetCapacity calls, in seconds.
        min_seconds: f64,
    },
    /// A scheduler.
    Scheduler {
        /// Number of pods with PVCs that the scheduler has bound since it started.
        bound_pods: u64,
    },
    /// The API server.
    ApiServer,
}

/// Checks metrics that were scraped at quiescence.
pub fn judge(world: &World, scrape: &Scrape) -> Vec<Violation> {
    let mut check = MetricsCheck {
        scrape,
        violations: Vec::new(),
    };
    match &scrape.program {
        Program::Publisher {
            instance,
            successful_calls,
            min_seconds,
        } => {
            if let Some(publisher) = world.publishers.get(instance).filter(|it| it.publishes) {
                check.check_objects(world, instance, publisher);
                check.check_get_capacity_calls(instance, *successful_calls, *min_seconds);
            }
        }
        Program::Scheduler { bound_pods } if *bound_pods > 0 => check.check_scheduler(*bound_pods),
        Program::Scheduler { .. } => {}
        Program::ApiServer => check.check_api_server(),
    }
    check.violations
}

/// The minimum and maximum number of objects that a metric may report.
#[derive(Clone, Copy, Default)]
struct Bounds {
    from: u32,
    to: u32,
}

impl Bounds {
    /// Adds one CSIStorageCapacity object to the bounds. `is_optional`: whether the object may be absent.
    fn add_object(&mut self, is_optional: bool) {
        self.to += 1;
        self.from += u32::from(!is_optional);
    }
}

struct MetricsCheck<'r> {
    scrape: &'r Scrape,
    violations: Vec<Violation>,
}

impl MetricsCheck<'_> {
    fn check_objects(&mut self, world: &World, instance: &Instance, publisher: &Publisher) {
        // If the API server does not serve CSIStorageCapacity, or if the driver lacks GET_CAPACITY, there are no objects to count.
        let desired = DesiredObjects::of(world, instance, publisher);
        if world.api.version().is_none() || desired.lacks_get_capacity() {
            return;
        }
        let existing = ByClassAndSegment::of(world, instance, publisher);
        let (mut goal, mut current) = (Bounds::default(), Bounds::default());
        for DesiredObject {
            class,
            segment,
            state,
        } in desired.all()
        {
            let is_optional = matches!(state, DesiredState::Optional { .. });
            goal.add_object(is_optional);
            if existing.get(class, segment).is_some() {
                current.add_object(is_optional);
            }
        }
        self.check_bounds(GOAL, rules::WRONG_GOAL_METRIC, goal);
        self.check_bounds(CURRENT, rules::WRONG_CURRENT_METRIC, current);
        self.check_bounds(OBSOLETE, rules::WRONG_OBSOLETE_METRIC, Bounds::default());
        self.check_labels(instance);
        if !self.has_sample(DEPTH, &[("name", QUEUE)]) {
            self.add_violation(
                rules::WRONG_QUEUE_METRIC,
                format!("there is no {DEPTH}{{name=\"{QUEUE}\"}}"),
            );
        }
    }

    /// Checks the driver and node labels of every metric about CSIStorageCapacity objects.
    fn check_labels(&mut self, instance: &Instance) {
        let samples = &self.scrape.samples;
        let mut about = samples.iter().filter(|it| it.name.starts_with(RESOURCE));
        let is_wrong = about.any(|sample| {
            let has_node = instance
                .node
                .as_ref()
                .is_none_or(|node| sample.has_label("node", node));
            !sample.has_label("driver_name", &instance.driver) || !has_node
        });
        if is_wrong {
            let detail = format!("the labels driver_name and node of a metric do not identify {instance}");
            self.add_violation(rules::WRONG_METRIC_LABELS, detail);
        }
    }

    fn check_get_capacity_calls(&mut self, instance: &Instance, successful_calls: u64, min_seconds: f64) {
        if successful_calls == 0 {
            return;
        }
        let is_call = |sample: &Sample| {
            sample.has_label("driver_name", &instance.driver)
                && sample.has_label("grpc_status_code", "OK")
                && sample
                    .labels
                    .get("method_name")
                    .is_some_and(|method| method.ends_with("/GetCapacity"))
        };
        let [count, seconds] = [CALLS, SECONDS].map(|name| self.sum(name, is_call).unwrap_or_default());
        if count < 1.0 || seconds < min_seconds {
            let detail = format!(
                "the driver responded to {successful_calls} GetCapacity calls, but the metrics count {count} successful calls with a total of {seconds} s"
            );
            self.add_violation(rules::WRONG_CALLS_METRIC, detail);
        }
    }

    fn check_scheduler(&mut self, bound_pods: u64) {
        if !self.has_sample(ATTEMPTS, &[("result", "scheduled")]) {
            let detail = format!(
                "the scheduler bound {bound_pods} pods, but no {ATTEMPTS} series has result=\"scheduled\""
            );
            self.add_violation(rules::WRONG_ATTEMPTS_METRIC, detail);
        }
        if !self.has_sample(
            PLUGINS,
            &[("plugin", "VolumeBinding"), ("extension_point", "Filter")],
        ) {
            let detail = format!(
                "the scheduler bound {bound_pods} pods, but no {PLUGINS} series has plugin=\"VolumeBinding\""
            );
            self.add_violation(rules::WRONG_PLUGINS_METRIC, detail);
        }
    }

    fn check_api_server(&mut self) {
        for (name, rule) in [
            (REQUESTS, rules::WRONG_REQUESTS_METRIC),
            (DURATIONS, rules::WRONG_DURATIONS_METRIC),
        ] {
            if !self.has_sample(name, &[]) {
                self.add_violation(rule, format!("{name} is missing"));
            }
        }
    }

    fn has_sample(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        let mut samples = self.scrape.samples.iter();
        samples.any(|sample| {
            let mut labels = labels.iter();
            sample.name == name && labels.all(|(label, value)| sample.has_label(label, value))
        })
    }

    /// The sum of the selected samples of a metric. `None` if no sample is selected.
    fn sum(&self, name: &str, is_selected: impl Fn(&Sample) -> bool) -> Option<f64> {
        let samples = self.scrape.samples.iter();
        let selected = samples.filter(|sample| sample.name == name && is_selected(sample));
        selected
            .map(|sample| sample.value)
            .reduce(|sum, value| sum + value)
    }

    fn check_bounds(&mut self, name: &str, rule: &'static Rule, Bounds { from, to }: Bounds) {
        let sum = self.sum(name, |_| true);
        if sum.is_none_or(|sum| sum < f64::from(from) || sum > f64::from(to)) {
            let actual = sum.map_or_else(|| "missing".to_owned(), |sum| sum.to_string());
            self.add_violation(rule, format!("{name} is {actual}, and should be {from} to {to}"));
        }
    }

    fn add_violation(&mut self, rule: &'static Rule, detail: String) {
        self.violations.push(Violation {
            rule,
            subject: Subject::Program(self.scrape.client.clone()),
            detail,
        });
    }
}
