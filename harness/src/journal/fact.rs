//! The types of facts: one type for each kind of observation. Does not know the journal, observers or the judge.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{AppliedFault, Verb};
use fake_csi::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::services::{CallFact, DiscoveryFact, ExtenderFact, HarnessCallFact, MetricsFact, RefusalFact};
use crate::client_name::HARNESS;
use crate::scenario::Role;

/// An observed event, with its position and time in the journal.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Fact {
    /// Sequence number in the journal, from 0.
    pub seq: u64,
    /// Microseconds since the journal was opened.
    pub at_us: u64,
    /// The observed event.
    pub what: Observation,
}

impl Fact {
    /// Time from the opening of the journal to this fact.
    pub fn at(&self) -> Duration {
        Duration::from_micros(self.at_us)
    }
}

/// An observed event.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "fact")]
pub enum Observation {
    /// The case starts. Contains the settings from which timeouts are computed.
    Begin(BeginFact),
    /// A step starts. The actions of the step follow.
    StepStarted(StepMark),
    /// All actions of the step were executed. The timeouts of the step start here.
    StepActed(StepMark),
    /// The harness executed an action.
    Action(ActionFact),
    /// A deadline was reached: the `within` or `stays` time of an expectation, or the time after which a silent program counts as idle.
    Bound(BoundFact),
    /// No request or call was in flight, and nothing had changed for a while.
    Quiet,
    /// The harness was delayed because the host was busy.
    Lag(LagFact),
    /// The API server has responded to a request.
    Request(RequestFact),
    /// The API server committed a change.
    Commit(CommitFact),
    /// The API server wrote a watch event to a client's connection.
    Delivery(DeliveryFact),
    /// A fault rule of the API server applied to a request or watch.
    Fault(AppliedFault),
    /// The driver has responded to a CSI call of a program.
    Call(CallFact),
    /// The driver's socket rejected a connection or request, so no CSI call took place.
    Refused(RefusalFact),
    /// The driver's response to a CSI call of the harness.
    Answer(HarnessCallFact),
    /// A scheduler extender has responded to a call of the scheduler.
    Extender(ExtenderFact),
    /// The harness has read the API discovery of a resource.
    Discovery(DiscoveryFact),
    /// The harness has scraped the metrics of programs.
    Metrics(MetricsFact),
    /// A program under test started or ended.
    Process(ProcessFact),
    /// A program under test logged a line that matches a text in the case.
    Log(LogFact),
}

impl Observation {
    /// Whether the observed event may change a metric of a program or of the API server.
    pub(crate) fn may_be_counted(&self) -> bool {
        match self {
            Observation::Request(request) => *request.client != *HARNESS,
            Observation::Commit(_)
            | Observation::Delivery(_)
            | Observation::Fault(_)
            | Observation::Call(_)
            | Observation::Extender(_)
            | Observation::Process(_)
            | Observation::StepActed(_) => true,
            _ => false,
        }
    }

    /// Whether the fact counts as activity in the cluster. Reads and GetCapacity calls do not.
    pub(crate) fn is_activity(&self) -> bool {
        match self {
            Observation::Commit(_) | Observation::Delivery(_) | Observation::Process(_) => true,
            Observation::Request(request) => !request.verb.only_reads(),
            Observation::Call(call) => call.method != Method::GetCapacity,
            _ => false,
        }
    }
}

/// Settings of a run from which timeouts are computed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BeginFact {
    /// Id of the case.
    pub case: String,
    /// Poll interval of the publisher, in microseconds.
    pub refresh_us: u64,
    /// Maximum back-off of a program under test after an error, in microseconds.
    #[serde(default = "retry_interval_max_us")]
    pub retry_interval_max_us: u64,
    /// Factor of every timeout.
    pub patience: f64,
    /// Version of the journal format.
    pub format: u32,
}

/// Default of the maximum back-off after an error, equal to the longest back-off of client-go after a few errors.
pub(crate) const RETRY_INTERVAL_MAX: Duration = Duration::from_secs(10);

/// Timeout between the start of a program and its first request, multiplied by `patience`.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Default for a stored journal without `retryIntervalMaxUs`: the harness versions that wrote such journals used a constant.
fn retry_interval_max_us() -> u64 {
    to_micros(RETRY_INTERVAL_MAX)
}

/// Converts a duration to microseconds, the unit of times in facts.
pub(crate) fn to_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// A log line of a program under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogFact {
    /// Client name of the program.
    pub client: Arc<str>,
    /// The log line, without terminal control characters.
    pub line: String,
}

/// The step that starts, or whose actions were executed.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct StepMark {
    /// Index of the step in the plan.
    pub step: usize,
}

/// An executed action of the harness.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ActionFact {
    /// The action, spelled as in the case file.
    pub text: String,
}

/// A reached deadline of one expectation.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct BoundFact {
    /// Index of the step in the plan.
    pub step: usize,
    /// Index of the expectation in the step.
    pub expect: usize,
    /// The kind of deadline that was reached.
    pub bound: DeadlineKind,
}

/// A delay of the harness because the host was busy.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct LagFact {
    /// Length of the delay in microseconds.
    pub late_us: u64,
}

/// What a reached deadline limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DeadlineKind {
    /// The time (`within`) in which the condition had to become true.
    Within,
    /// The time (`stays`) for which the condition had to remain true.
    Hold,
    /// The time after which a publisher that has not called GetCapacity is considered idle.
    #[serde(rename = "unasked")]
    PublisherIdle,
    /// The time after which a scheduler that has not retried a pod is considered idle.
    #[serde(rename = "undecided")]
    SchedulerIdle,
}

/// An API request with its response. A watch is recorded when the server accepts the watch.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestFact {
    /// Client name, derived from the bearer token of the request.
    pub client: Arc<str>,
    /// Verb of the request, as in RBAC.
    pub verb: Verb,
    /// Plural resource name, including a subresource as in `pods/binding`. Empty for non-resource paths.
    pub resource: String,
    /// API version in the request path, such as `storage.k8s.io/v1`; unset for non-resource paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Namespace of the object; unset for cluster-scoped resources and non-resource paths.
    pub namespace: Option<String>,
    /// Name of the API object; unset for collections and non-resource paths.
    pub name: Option<String>,
    /// HTTP status code of the response.
    pub code: u16,
    /// `Status.message` of an error response.
    pub message: Option<String>,
    /// `resourceVersion` of the response.
    pub revision: Option<u64>,
    /// Whether a fault rule of the case caused the error, independently of the content of the request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub injected: bool,
}

/// Type of an object change.
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
    /// The verb of the change in case files, such as `create`.
    pub fn verb(self) -> &'static str {
        match self {
            Change::Added => "create",
            Change::Modified => "update",
            Change::Deleted => "delete",
        }
    }
}

/// An object change that the API server committed.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommitFact {
    /// Client name of the request that caused the change.
    pub client: Arc<str>,
    /// Whether the object was created, updated or deleted.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace of the object; unset for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// `resourceVersion` of the object after the change.
    pub revision: u64,
    /// The object after the change; for a deletion, its last state.
    pub object: Arc<Value>,
}

/// A watch event that the API server wrote to a client's connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryFact {
    /// Name of the client that watches.
    pub client: Arc<str>,
    /// Type of the watch event.
    pub change: Change,
    /// Plural resource name.
    pub resource: Arc<str>,
    /// Namespace of the object; unset for cluster-scoped resources.
    pub namespace: Option<String>,
    /// Name of the object.
    pub name: String,
    /// `resourceVersion` of the object in the event.
    pub revision: u64,
}

/// A program under test started or ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessFact {
    /// Client name of the program, such as `publisher` or `publisher@n1`.
    pub client: Arc<str>,
    /// Role of the program.
    pub role: Role,
    /// Whether the program started, ended or failed.
    pub event: ProcessEvent,
}

/// A start, an end or a failure of a program under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProcessEvent {
    /// The harness started the program.
    Started,
    /// The harness stopped the program.
    Stopped,
    /// A fault rule of the case killed the program.
    Killed,
    /// The program exited although the harness neither stopped nor killed the program.
    Exited(Exit),
    /// The program sent no list, watch or Lease request within the start timeout, or a driver's Probe response was not ready. The text
    /// contains details.
    NotReady(String),
    /// The program exceeded the activity limit that the text names. The journal does not contain later facts of the program.
    Flooded(String),
}

/// How a program under test exited that the harness neither stopped nor killed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exit {
    /// Exit status, error or panic of the program.
    pub how: String,
    /// Last log output of the program; unset for a program that runs as a task of this process.
    #[serde(rename = "lastWords", default, skip_serializing_if = "Option::is_none")]
    pub last_output: Option<LastOutput>,
}

/// The last log output of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LastOutput {
    /// Whether `lines` contain the reason for the exit. Otherwise `lines` are the end of the log.
    pub is_reason: bool,
    /// The log lines; empty if the program logged nothing.
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
