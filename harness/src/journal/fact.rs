//! The types of facts: one for each kind of observation of a case. Does not know the journal, observers or the judge.

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

/// One observation.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fact {
    /// Sequence number in the journal, from 0.
    pub seq: u64,
    /// Microseconds since the journal was opened.
    pub at_us: u64,
    /// The observation.
    pub what: What,
}

impl Fact {
    /// Time from the opening of the journal to this fact.
    pub fn at(&self) -> Duration {
        Duration::from_micros(self.at_us)
    }
}

/// An observation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fact")]
pub enum What {
    /// The case starts; contains the settings from which bounds are computed.
    Begin(Begin),
    /// A step starts: its actions follow.
    StepStarted(StepMark),
    /// All actions of the step were executed: its bounds start here.
    StepActed(StepMark),
    /// The harness executed an action.
    Action(ActionFact),
    /// A bound was reached: the `within` or `hold` time of an expectation, or the time after which a silent system counts as inactive.
    Bound(BoundFact),
    /// No request was in flight, and nothing had changed for a while.
    Quiet,
    /// The harness itself was delayed because the host was busy.
    Lag(LagFact),
    /// The API server answered a request.
    Request(RequestFact),
    /// The API server committed a change.
    Commit(CommitFact),
    /// The API server sent a watch event to a watcher's connection.
    Delivery(DeliveryFact),
    /// A fault rule of the API server applied to a request or watch.
    Fault(AppliedFault),
    /// The driver answered a call.
    Call(CallFact),
    /// The driver's socket rejected a request before it became a call.
    Refused(RefusalFact),
    /// The response to a CSI call of the harness.
    Answer(AnswerFact),
    /// A scheduler extender answered a call.
    Extender(ExtenderFact),
    /// The harness has read API discovery.
    Discovery(DiscoveryFact),
    /// The harness has read metrics of programs.
    Metrics(MetricsFact),
    /// A system under test started or ended.
    Process(ProcessFact),
    /// A system under test logged a line that the case refers to.
    Log(LogFact),
}

impl What {
    /// Whether a metric of a program may count this fact.
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

    /// Whether the fact is activity in the cluster; reads and GetCapacity calls are not.
    pub(crate) fn is_activity(&self) -> bool {
        match self {
            What::Commit(_) | What::Delivery(_) | What::Process(_) => true,
            What::Request(request) => !request.verb.only_reads(),
            What::Call(call) => call.method != Method::GetCapacity,
            _ => false,
        }
    }
}

/// Settings of a run, from which bounds are computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Begin {
    /// Id of the case.
    pub case: String,
    /// Poll interval of the publisher, in microseconds.
    pub refresh_us: u64,
    /// Maximum back-off of a system after an error.
    #[serde(default = "retry_interval_max_us")]
    pub retry_interval_max_us: u64,
    /// Factor for every bound.
    pub patience: f64,
    /// Version of the journal format.
    pub format: u32,
}

/// Default maximum back-off after an error: that of client-go after some errors.
pub(crate) const RETRY_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Timeout from the start of a program to its first request, multiplied by `patience`.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Default for journals without this field: the fixed value of the version that wrote them.
fn retry_interval_max_us() -> u64 {
    micros(RETRY_INTERVAL_MAX)
}

/// A duration in microseconds, the unit of facts.
pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A line of a system's log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogFact {
    /// Client name of the system.
    pub client: Arc<str>,
    /// The line, without terminal control characters.
    pub line: String,
}

/// A step, by its index in the plan.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StepMark {
    /// Index into the plan's steps.
    pub step: usize,
}

/// An action of the harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActionFact {
    /// The action as the case file spells it.
    pub text: String,
}

/// A bound of one expectation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BoundFact {
    /// Index into the plan's steps.
    pub step: usize,
    /// Index into the step's expectations.
    pub expect: usize,
    /// The bound that was reached.
    pub bound: BoundKind,
}

/// A delay of the harness, because the host was busy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct LagFact {
    /// Delay in microseconds.
    pub late_us: u64,
}

/// Kind of a bound that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BoundKind {
    /// The time within which the condition had to become true.
    Within,
    /// The time for which the condition had to stay true.
    Hold,
    /// The time after which a publisher that has not called GetCapacity is considered idle.
    #[serde(rename = "unasked")]
    PublisherIdle,
    /// The time after which a scheduler that has not retried a pod is considered idle.
    #[serde(rename = "undecided")]
    SchedulerIdle,
}

/// A completed API request; a watch counts as completed when the server accepts it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestFact {
    /// Client of the token that it carried.
    pub client: Arc<str>,
    /// Verb, as in RBAC.
    pub verb: Verb,
    /// Plural resource name; with a subresource `pods/binding`. Empty for non-resource paths.
    pub resource: String,
    /// API version of the path, such as `storage.k8s.io/v1`; unset for non-resource paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Namespace of the object; unset for cluster-scoped resources and non-resource paths.
    pub namespace: Option<String>,
    /// Name of the object; unset for collections and non-resource paths.
    pub name: Option<String>,
    /// HTTP status.
    pub code: u16,
    /// `Status.message` of an error.
    pub message: Option<String>,
    /// `resourceVersion` of the response.
    pub revision: Option<u64>,
    /// Whether a fault of the case caused the error, rather than the request itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub injected: bool,
}

/// Type of a change of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Change {
    /// The object was created.
    Added,
    /// The object was updated.
    Modified,
    /// The object was deleted.
    Deleted,
}

impl Change {
    /// The verb of the write in case files.
    pub fn verb(self) -> &'static str {
        match self {
            Change::Added => "create",
            Change::Modified => "update",
            Change::Deleted => "delete",
        }
    }
}

/// A change of an object that the API server committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitFact {
    /// Client whose request caused it.
    pub client: Arc<str>,
    /// Type of the change.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace of the object; unset for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// `resourceVersion` of the change.
    pub revision: u64,
    /// The object after the change; for a deletion, its last state.
    pub object: Arc<Value>,
}

/// A watch event that was sent to a watcher's connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFact {
    /// Client of the watch.
    pub client: Arc<str>,
    /// Type of the watch event.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace of the object; unset for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// `resourceVersion` of the event.
    pub revision: u64,
}

/// A system under test started or ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFact {
    /// Client name of the system, such as `publisher` or `publisher@n1`.
    pub client: Arc<str>,
    /// Role of the system.
    pub role: Role,
    /// The event.
    pub event: ProcessEvent,
}

/// Event in the life of a system under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessEvent {
    /// The harness started the system.
    Started,
    /// The harness stopped the system.
    Stopped,
    /// A fault of the case killed the system.
    Killed,
    /// The system exited by itself.
    Exited(Exit),
    /// The system sent no list, watch or Lease request within the start timeout, or the Probe response of a driver was not ready. The text
    /// has the details.
    NotReady(String),
    /// The system exceeded an activity limit, which the text names. The journal does not contain its later activity.
    Flooded(String),
}

/// How a system under test exited by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Exit status, error or panic of the system.
    pub how: String,
    /// Last log output of the system; unset for a system in this process.
    #[serde(rename = "lastWords", default, skip_serializing_if = "Option::is_none")]
    pub last_output: Option<LastOutput>,
}

/// The last log output of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastOutput {
    /// Whether `lines` contain the reason of the exit; otherwise they are the last lines of the log.
    pub is_reason: bool,
    /// The lines; empty if the program logged nothing.
    pub lines: Vec<String>,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.how)?;
        let Some(output) = &self.last_output else {
            return Ok(());
        };
        match (output.lines.is_empty(), output.is_reason) {
            (true, _) => f.write_str(", without any log output")?,
            (false, true) => f.write_str("; the logged reason:")?,
            (false, false) => f.write_str("; its last lines:")?,
        }
        output
            .lines
            .iter()
            .try_for_each(|line| write!(f, "\n    | {line}"))
    }
}
