//! What a fact is: one kind for each thing that can be observed of a case. Knows no journal, no observer and no judge.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{AppliedFault, Verb};
use fake_csi::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::services::{AnswerFact, CallFact, DiscoveryFact, ExtenderFact, MetricsFact, RefusalFact};
use crate::client_name::HARNESS;
use crate::scenario::Role;

/// One observed thing.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fact {
    /// Place in the journal, from 0.
    pub seq: u64,
    /// Microseconds since the journal was opened.
    pub at_us: u64,
    /// What was observed.
    pub what: What,
}

impl Fact {
    /// Time since the journal was opened.
    pub fn at(&self) -> Duration {
        Duration::from_micros(self.at_us)
    }
}

/// What was observed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fact")]
pub enum What {
    /// The case begins, with the settings that bounds are computed from.
    Begin(Begin),
    /// A step begins: its actions follow.
    StepStarted(StepMark),
    /// All actions of the step are done: its bounds start here.
    StepActed(StepMark),
    /// The harness did something.
    Action(ActionFact),
    /// A bound was reached: the time that an expectation had, that it had to hold, or that systems had that say nothing.
    Bound(BoundFact),
    /// Nothing was in flight and nothing had changed for a while.
    Quiet,
    /// The harness itself had to wait for its turn.
    Lag(LagFact),
    /// The API server answered a request.
    Request(RequestFact),
    /// The API server committed a change.
    Commit(CommitFact),
    /// The API server handed an event to a watcher.
    Delivery(DeliveryFact),
    /// A request or watch met a fault of the API server.
    Fault(AppliedFault),
    /// The driver answered a call.
    Call(CallFact),
    /// The driver's socket refused what a client sent: it never was a call.
    Refused(RefusalFact),
    /// The harness has called the driver, and this is the answer.
    Answer(AnswerFact),
    /// An extender answered the scheduler.
    Extender(ExtenderFact),
    /// The harness has asked the API server what it serves.
    Discovery(DiscoveryFact),
    /// The harness has read metrics.
    Metrics(MetricsFact),
    /// A system under test started or ended.
    Process(ProcessFact),
    /// A system under test logged a line that the case asks for.
    Log(LogFact),
}

impl What {
    /// Whether it is one of those that metrics may count.
    pub(crate) fn may_be_counted(&self) -> bool {
        match self {
            What::Request(request) => *request.client != *HARNESS,
            What::Commit(_)
            | What::Delivery(_)
            | What::Fault(_)
            | What::Call(_)
            | What::Extender(_)
            | What::Process(_)
            | What::StepActed(_) => true,
            _ => false,
        }
    }

    /// Whether it shows that something in the cluster moves; polls that change nothing do not.
    pub(crate) fn is_motion(&self) -> bool {
        match self {
            What::Commit(_) | What::Delivery(_) | What::Process(_) => true,
            What::Request(request) => !request.verb.only_reads(),
            What::Call(call) => call.method != Method::GetCapacity,
            _ => false,
        }
    }
}

/// Settings of the run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// The case.
    pub case: String,
    /// The publisher's poll interval.
    pub refresh_us: u64,
    /// The longest time that a system waits after an error before it tries again.
    #[serde(default = "retry_interval_max_us")]
    pub retry_interval_max_us: u64,
    /// Multiplies every bound.
    pub patience: f64,
    /// Version of this format.
    pub format: u32,
}

/// The longest wait after an error, where nothing else is said: client-go's, after some errors.
pub(crate) const RETRY_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// How long a program may take from its start to its first request, before patience.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// What a journal that does not say it was judged with.
fn retry_interval_max_us() -> u64 {
    micros(RETRY_INTERVAL_MAX)
}

/// A time as facts have it.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A line of a system's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogFact {
    /// The system's client name.
    pub client: Arc<str>,
    /// The line, without what would confuse a terminal.
    pub line: String,
}

/// A step, by its place in the plan.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StepMark {
    /// Index into the plan's steps.
    pub step: usize,
}

/// Something the harness did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActionFact {
    /// In the case's own words.
    pub text: String,
}

/// A bound of one expectation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BoundFact {
    /// Index into the plan's steps.
    pub step: usize,
    /// Index into the step's expectations.
    pub expect: usize,
    /// Which bound.
    pub bound: BoundKind,
}

/// The machine was too busy for the harness.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct LagFact {
    /// Microseconds by which it was late.
    pub late_us: u64,
}

/// Which bound of an expectation was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BoundKind {
    /// The time by which it had to become true.
    Within,
    /// The time for which it had to stay true.
    Hold,
    /// The time after which a publisher without a GetCapacity call counts as one that makes none.
    Unasked,
    /// The time after which a scheduler that has not tried a pod again is taken not to try.
    Undecided,
}

/// An answered API request; a watch is answered when it is accepted.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestFact {
    /// Whose token it carried.
    pub client: Arc<str>,
    /// As RBAC names it.
    pub verb: Verb,
    /// Plural resource name; with a subresource `pods/binding`. Empty for paths without a resource.
    pub resource: String,
    /// The version that it speaks, such as `storage.k8s.io/v1`; none for paths without a resource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Namespace, where there is one.
    pub namespace: Option<String>,
    /// Name, where there is one.
    pub name: Option<String>,
    /// HTTP status.
    pub code: u16,
    /// Status.message of a refusal.
    pub message: Option<String>,
    /// resourceVersion of the answer.
    pub revision: Option<u64>,
    /// Whether it was refused by a fault of the case, and not for what it says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub injected: bool,
}

/// How an object changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// It is new.
    Added,
    /// It was changed.
    Modified,
    /// It is gone.
    Deleted,
}

impl Change {
    /// The verb that case files use for the write.
    pub fn verb(self) -> &'static str {
        match self {
            Change::Added => "create",
            Change::Modified => "update",
            Change::Deleted => "delete",
        }
    }
}

/// A committed change.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitFact {
    /// Whose request it was.
    pub client: Arc<str>,
    /// How the object changed.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace, where there is one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// resourceVersion of the change.
    pub revision: u64,
    /// The object after the change; before it for a deletion.
    pub object: Arc<Value>,
}

/// An event handed to a watcher's connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFact {
    /// Whose watch it is.
    pub client: Arc<str>,
    /// How the object changed, as the watcher sees it.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace, where there is one.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
    /// resourceVersion of the event.
    pub revision: u64,
}

/// A system under test started or ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFact {
    /// Its client name, such as `publisher` or `publisher@n1`.
    pub client: Arc<str>,
    /// The role it plays.
    pub role: Role,
    /// What happened.
    pub event: ProcessEvent,
}

/// What happened to a system under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessEvent {
    /// It was started.
    Started,
    /// The harness stopped it.
    Stopped,
    /// It met a fault of the case that kills.
    Killed,
    /// It ended by itself.
    Exited(Exit),
    /// It has sent no request to the API server in the time that it had; the text says what it did instead.
    NotReady(String),
    /// It does so much that it cannot be judged; the text says what. What it does after that is not in the journal.
    Flooded(String),
}

/// How a system under test ended by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Its exit status, its error or its panic.
    pub how: String,
    /// What it said before; none for a system in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<LastWords>,
}

/// The last that a program said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastWords {
    /// Whether they are the reason that it gave, and not just its last lines.
    pub is_reason: bool,
    /// Line by line; none: it had said nothing.
    pub lines: Vec<String>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)?;
        let Some(words) = &self.last_words else {
            return Ok(());
        };
        match (words.lines.is_empty(), words.is_reason) {
            (true, _) => f.write_str(", and it had said nothing")?,
            (false, true) => f.write_str("; the reason that it gave:")?,
            (false, false) => f.write_str("; its last lines:")?,
        }
        words
            .lines
            .iter()
            .try_for_each(|line| write!(f, "\n    | {line}"))
    }
}
