//! An operator's questions about storage capacity tracking: is it in use, is it healthy, are pods rejected although there is capacity, and
//! does it overload the API server (KEP-1472, Production Readiness Review).
//!
//! Pure: computes indicators from objects and metric values. Does not know metric names or where data was read. Missing data is reported as
//! unknown, never as good.

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

/// The known state of a cluster at one moment.
pub struct Observed<'a> {
    /// Every object, unmodified.
    pub objects: &'a [Value],
    /// Pods that are not among the objects, as JSON text: parsed `Value`s would take ten times the memory.
    pub pods: &'a [Box<str>],
    /// All objects, parsed into the scheduler's types.
    pub inventory: &'a Inventory,
    /// Values reported by programs.
    pub reported: &'a ReportedValues,
}

/// Values reported by programs. `None`: not reported.
#[derive(Clone, Debug, Default)]
pub struct ReportedValues {
    /// The drivers' last GetCapacity values.
    pub driver_capacities: Option<Vec<DriverCapacity>>,
    /// Statistics of GetCapacity calls.
    pub calls: Option<Calls>,
    /// Number of objects that publishers desire.
    pub goal: Option<f64>,
    /// Requests for CSIStorageCapacity objects, from the API server's counters.
    pub requests: Option<Requests>,
}

/// The last value that a driver returned for a segment and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverCapacity {
    /// The driver.
    pub driver: String,
    /// The segment. Empty: the whole cluster.
    pub segment: Segment,
    /// The class's parameters without those of the sidecars.
    pub parameters: Labels,
    /// The largest volume in bytes: maximum_volume_size, else available_capacity.
    pub bytes: i64,
}

/// Statistics of GetCapacity calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Number of calls.
    pub all: f64,
    /// Calls with a result other than OK.
    pub failed: f64,
}

/// Requests for CSIStorageCapacity objects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// All requests except watches.
    pub all: f64,
    /// Successful creations.
    pub creations: f64,
    /// Successful updates and patches.
    pub updates: f64,
    /// Successful deletions.
    pub deletions: f64,
    /// Responses with status 429, or 500 and above.
    pub failed: f64,
    /// The period in which these were counted. `None`: unknown.
    pub over: Option<Duration>,
}

/// The question that an indicator answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Whether the feature is in use, from objects and metrics, not from workloads.
    InUse,
    /// Whether drivers and publishers work.
    Health,
    /// Whether pods are rejected although there is capacity.
    Refusals,
    /// Whether the objects overload the API server.
    Load,
}

/// The state of an indicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Good,
    /// Pods are pending because of it now.
    Bad,
    /// Pods will be pending because of it.
    Risk,
    /// Something to clean up that blocks no pod.
    Untidy,
    /// No data.
    Unknown,
}

/// One indicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Indicator {
    /// The question that it answers.
    pub question: Question,
    /// The object concerned.
    pub subject: String,
    /// The state.
    pub state: State,
    /// The observation and its consequence.
    #[serde(rename = "told")]
    pub message: String,
}

impl<'a> Observed<'a> {
    /// All indicators, by question. `rules`: the scheduler's settings.
    pub fn indicators(&self, rules: &Rules) -> Vec<Indicator> {
        let mut all = drivers::indicators(self);
        all.extend(refusals::indicators(self, rules));
        all.extend(load::indicators(self));
        all.sort_by_key(|indicator| indicator.question);
        all
    }

    /// Every pod; those stored as text are parsed one at a time.
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
    /// The question as text.
    pub fn text(self) -> &'static str {
        match self {
            Question::InUse => "Is storage capacity tracking in use?",
            Question::Health => "Is it healthy?",
            Question::Refusals => "Are pods unschedulable although there is capacity?",
            Question::Load => "Does it overload the API server?",
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

/// Good, or bad if `is_wrong`.
fn good_unless(is_wrong: bool) -> State {
    if is_wrong { State::Bad } else { State::Good }
}
