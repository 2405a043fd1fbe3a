//! Answers an operator's questions about storage capacity tracking: is it in use, is it healthy, are pods rejected although there is
//! capacity, and does it overload the API server (KEP-1472, Production Readiness Review).
//!
//! Performs no I/O: computes indicators from objects and metric values. Does not know the names of metrics or where data was read. If data
//! is missing, the state of an indicator is `Unknown`, never `Good`.

mod drivers;
mod load;
mod metrics;
mod refusals;

pub use metrics::is_failure;

use std::fmt;
use std::time::Duration;

use capacity_types::{Labels, Segment};
use serde::Serialize;
use serde_json::Value;

use crate::inventory::Inventory;
use capacity_scheduler::rules::Rules;

/// The objects of a cluster and the metric values at one moment.
pub struct ObservedCluster<'a> {
    /// All API objects except those in `pods`, as JSON.
    pub objects: &'a [Value],
    /// Pods that are not in `objects`, as JSON text. Parsed `Value`s would take ten times the memory.
    pub pods: &'a [Box<str>],
    /// All API objects, parsed into the scheduler's types.
    pub inventory: &'a Inventory,
    /// Values from metrics of programs.
    pub reported: &'a ReportedValues,
}

/// Values from metrics of programs. `None`: no program has reported the value.
#[derive(Clone, Debug, Default)]
pub struct ReportedValues {
    /// The capacity in the drivers' last GetCapacity responses.
    pub driver_capacities: Option<Vec<DriverCapacity>>,
    /// Number of GetCapacity calls.
    pub calls: Option<Calls>,
    /// Number of CSIStorageCapacity objects that publishers want to exist, according to their metrics.
    pub goal: Option<f64>,
    /// Number of requests for CSIStorageCapacity objects, from the counters of the API server.
    pub requests: Option<Requests>,
}

/// The last capacity that a driver returned for a segment and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCapacity {
    /// Name of the driver.
    pub driver: String,
    /// Topology segment of the capacity; empty for the whole cluster.
    pub segment: Segment,
    /// Parameters of the StorageClass, without the parameters for sidecars.
    pub parameters: Labels,
    /// Size of the largest possible volume in bytes: maximum_volume_size or, if unset, available_capacity.
    pub bytes: i64,
}

/// Number of GetCapacity calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Number of all GetCapacity calls.
    pub all: f64,
    /// Number of calls with a result other than OK.
    pub failed: f64,
}

/// Number of requests for CSIStorageCapacity objects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// Number of all requests except watches.
    pub all: f64,
    /// Number of successful creations.
    pub creations: f64,
    /// Number of successful updates and patches.
    pub updates: f64,
    /// Number of successful deletions.
    pub deletions: f64,
    /// Number of responses with status 429, or 500 and above.
    pub failed: f64,
    /// The period in which the requests were counted. `None`: unknown.
    pub over: Option<Duration>,
}

/// The operator's question that an indicator answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Whether storage capacity tracking is in use, according to objects and metrics, not to workloads.
    InUse,
    /// Whether the pods of drivers and publishers are ready and GetCapacity calls succeed.
    Health,
    /// Whether pods are rejected although there is capacity.
    Refusals,
    /// Whether CSIStorageCapacity objects overload the API server.
    Load,
}

/// The state of a health indicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// No problem.
    Good,
    /// A problem that leaves pods pending now.
    Bad,
    /// A problem that will leave pods pending.
    Risk,
    /// A problem that leaves no pod pending and should be cleaned up.
    Untidy,
    /// There is no data for the indicator.
    Unknown,
}

/// One indicator of the health report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Indicator {
    /// The question that the indicator answers.
    pub question: Question,
    /// The driver, pod or program that the indicator describes.
    pub subject: String,
    /// Whether the indicator shows a problem, and how severe the problem is.
    pub state: State,
    /// What was observed, and its consequence.
    #[serde(rename = "told")]
    pub message: String,
}

impl<'a> ObservedCluster<'a> {
    /// All health indicators, grouped by question. `rules`: the settings of the scheduler.
    pub fn indicators(&self, rules: &Rules) -> Vec<Indicator> {
        let mut all = drivers::indicators(self);
        all.extend(refusals::indicators(self, rules));
        all.extend(load::indicators(self));
        all.sort_by_key(|indicator| indicator.question);
        all
    }

    /// All pods of the cluster. Pods that are stored as text are parsed one at a time.
    fn pods(&self) -> impl Iterator<Item = Value> {
        let texts = self
            .pods
            .iter()
            .filter_map(|text| serde_json::from_str(text).ok());
        let values = self.objects.iter().filter(|object| object["kind"] == "Pod");
        values.cloned().chain(texts)
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = &'a Value> {
        self.objects.iter().filter(move |object| object["kind"] == kind)
    }
}

impl Indicator {
    fn new(question: Question, subject: &str, state: State, message: String) -> Self {
        Self {
            question,
            subject: subject.to_owned(),
            state,
            message,
        }
    }
}

impl Question {
    /// The question as a text for users.
    pub fn text(self) -> &'static str {
        match self {
            Question::InUse => "Is storage capacity tracking in use?",
            Question::Health => "Is storage capacity tracking healthy?",
            Question::Refusals => "Are pods unschedulable although there is capacity?",
            Question::Load => "Does storage capacity tracking overload the API server?",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            State::Good => "good",
            State::Bad => "BAD",
            State::Risk => "RISK",
            State::Untidy => "untidy",
            State::Unknown => "unknown",
        })
    }
}

/// The state `Good`, or `Bad` if `is_wrong`.
fn bad_if(is_wrong: bool) -> State {
    if is_wrong { State::Bad } else { State::Good }
}
