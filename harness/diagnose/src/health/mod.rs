//! What an operator asks of storage capacity tracking in a cluster: is it in use, is it healthy, is a pod refused for storage although there
//! is some, and does it overload the API server (KEP-1472, Production Readiness Review).
//!
//! Pure: from objects, and from what programs tell of themselves, to indicators. Knows no metric by its name, and not where anything was
//! read; what nobody told is unknown, and never taken for good.

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

/// What is known of a cluster at one moment.
pub struct Observed<'a> {
    /// Every object, as it is.
    pub objects: &'a [Value],
    /// Pods that are not among the objects, as JSON text: parsed `Value`s would take ten times the memory.
    pub pods: &'a [Box<str>],
    /// The same as the scheduler's rules take it.
    pub inventory: &'a Inventory,
    /// What programs tell.
    pub told: &'a Told,
}

/// What programs tell of themselves. None: nobody told.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The last figures of the drivers.
    pub answers: Option<Vec<Answer>>,
    /// Calls of GetCapacity.
    pub calls: Option<Calls>,
    /// The number of objects that publishers want.
    pub goal: Option<f64>,
    /// Requests for CSIStorageCapacity objects that the API server counted.
    pub requests: Option<Requests>,
}

/// The last figure that a driver gave for a segment and parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The driver.
    pub driver: String,
    /// The segment; empty: the whole cluster.
    pub segment: Segment,
    /// The class's parameters without those of the sidecars.
    pub parameters: Labels,
    /// The largest volume in bytes: maximum_volume_size, and available_capacity where there is none.
    pub bytes: i64,
}

/// Calls of GetCapacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// All.
    pub all: f64,
    /// Those that were not answered with OK.
    pub failed: f64,
}

/// Requests for CSIStorageCapacity objects.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Requests {
    /// All, watches excepted.
    pub all: f64,
    /// Creations that succeeded.
    pub creations: f64,
    /// Updates and patches that succeeded.
    pub updates: f64,
    /// Deletions that succeeded.
    pub deletions: f64,
    /// Those that were answered 429, or 500 and more.
    pub failed: f64,
    /// The time in which these were counted.
    pub over: Option<Duration>,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Question {
    /// Whether the feature is in use: by objects and metrics, and not by workloads.
    InUse,
    /// Whether drivers and publishers do their part.
    Health,
    /// Whether pods are refused for storage that there is.
    Refusals,
    /// Whether the objects are too much for the API server.
    Load,
}

/// How an indicator stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// As it should be.
    Good,
    /// Pods wait because of it now.
    Bad,
    /// Pods will wait because of it.
    Risk,
    /// It should be tidied up, and keeps no pod waiting.
    Untidy,
    /// Nobody told.
    Unknown,
}

/// One indicator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Indicator {
    /// The question that it helps to answer.
    pub question: Question,
    /// What it is about.
    pub subject: String,
    /// How it stands.
    pub state: State,
    /// What was seen, and what follows from it.
    pub told: String,
}

impl<'a> Observed<'a> {
    /// Every indicator, by question. `rules`: those by which pods are placed.
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
    fn new(question: Question, subject: &str, state: State, told: String) -> Self {
        Self {
            question,
            subject: subject.to_owned(),
            state,
            told,
        }
    }
}

impl Question {
    /// The question as a person asks it.
    pub fn words(self) -> &'static str {
        match self {
            Question::InUse => "Is storage capacity tracking in use?",
            Question::Health => "Is it healthy?",
            Question::Refusals => "Are pods refused for storage that there is?",
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

/// Good, or bad where something is wrong.
fn good_unless(is_wrong: bool) -> State {
    if is_wrong { State::Bad } else { State::Good }
}
