//! Findings: violations by a program under test that the case does not test. Checked in every case, reported once per cause, never part of
//! the verdict.
//!
//! The built-in driver and API server tolerate such violations, because rejecting them would fail every case at its first step and hide
//! other failures. Only the key `driver.strict` of a case makes the driver reject them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::Verb;
use fake_apiserver::{ApiServer, Release};
use fake_csi::Method;

use super::duplicates::{Duplicates, UncountedWrite};
use crate::cluster_state::call_key;
use crate::expectation::is_labelled;
use crate::journal::{CallFact, Change, CommitFact, Fact, Observation, ProcessEvent, RequestFact};
use crate::plan::{Plan, without_sidecar_parameters};
use crate::scenario::Role;

/// A violation of one of the [`RULES`] by a program under test in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Name of the violated rule, as in manifests.
    pub rule: &'static str,
    /// The role that violated the rule.
    pub role: Role,
    /// The violation in one sentence, without object names, so that it is the same in every case.
    pub text: String,
    /// How often the violation occurred.
    pub count: u64,
    /// Sequence number of the first fact that shows the violation.
    pub first: u64,
    /// Time of the first violation since the start of the case.
    pub at: Duration,
}

/// A rule that is checked in every case.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Name of the rule, as in manifests.
    pub name: &'static str,
    /// The requirement, as one sentence.
    pub text: &'static str,
    /// The document that contains the requirement.
    pub source: &'static str,
}

macro_rules! rules {
    ($($id:ident = $name:literal, $text:literal, $source:literal;)+) => {
        $(const $id: &str = $name;)+

        /// All rules.
        pub const RULES: &[Rule] = &[$(Rule { name: $id, text: $text, source: $source }),+];
    };
}

rules! {
    ARGUMENTS = "csi-arguments", "the arguments of a CSI call are valid according to the CSI spec", "CSI, GetCapacityRequest and CreateVolumeRequest";
    CALLS = "csi-calls", "GetCapacity is called about once per poll interval for each class and segment", "KEP-1472, GetCapacity is called periodically";
    REPEATED_START_CALLS = "csi-calls-at-start", "at the start, before the first poll, the driver is called at most twice for the same class and segment", "KEP-1472, GetCapacity is called periodically";
    VERSION = "api-version", "requests use an API version that the release serves", "Kubernetes, deprecated API migration guide";
    INVALID = "api-invalid", "requests to the API server are well-formed and valid", "Kubernetes API concepts, status codes 400, 415 and 422";
    LABELS = "object-labels", "a published object has labels with its manager and its driver", "KEP-1472, CSIStorageCapacity lifecycle";
    DUPLICATE_OBJECT = "object-twice", "one object is created for each class and segment", "KEP-1472, CSIStorageCapacity lifecycle";
    DUPLICATE_WATCH = "watch-twice", "a client does not watch the same objects twice", "Kubernetes API concepts, efficient detection of changes";
}

/// The findings rule with this name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// Tolerated GetCapacity calls per poll interval, in addition to one per CSI call for a volume. More than one, because failed calls
/// are retried.
const CALLS_PER_INTERVAL: u64 = 3;
/// Additional number of GetCapacity calls that are tolerated in a burst.
const CALLS_BURST: u64 = 20;
/// Tolerated GetCapacity calls per class before the first poll. More than one, because the publisher may learn of class and segment one
/// after the other.
const CALLS_AT_START: u64 = 2;

/// The findings of a case, in the order of their first facts.
pub fn findings(plan: &Plan, facts: &[Fact]) -> Vec<Finding> {
    let mut found = Findings::default();
    let (mut calls, mut start) = (CallCounts::default(), StartCalls::default());
    let limits = CallLimits::of(plan, facts);
    // Cases that set a release check API versions with their own expectations.
    let release = plan.has_default_release().then_some(plan.release);
    // A fault that cuts the connection or kills the client may cause an incomplete request, so clients with such a fault are excluded.
    let mut cut: BTreeSet<&str> = BTreeSet::new();
    let last = last_requests(facts);
    let (mut duplicates, mut watches) = (Duplicates::default(), WatchedRevisions::default());
    for fact in facts {
        if let Some((role, text)) = watches.apply(fact) {
            found.add(DUPLICATE_WATCH, role, text, fact);
        }
        if duplicates.apply(fact) == Some(UncountedWrite::Created) {
            let text = "an object is created twice in the same poll interval";
            found.add(DUPLICATE_OBJECT, Role::Publisher, text.to_owned(), fact);
        }
        match &fact.what {
            Observation::Call(call) => {
                for violation in &call.details.violations {
                    found.add(
                        ARGUMENTS,
                        Role::Publisher,
                        format!("{}: {violation}", call.method),
                        fact,
                    );
                }
                if limits.exceeds_limit(call, fact, &mut calls) {
                    let text = "GetCapacity: the same call is made several times in each poll interval";
                    found.add(CALLS, Role::Publisher, text.to_owned(), fact);
                }
                if start.exceeds_start_limit(call, fact, &limits) {
                    let text = "GetCapacity: the same call is made more than twice before the first poll";
                    found.add(REPEATED_START_CALLS, Role::Publisher, text.to_owned(), fact);
                }
            }
            Observation::Action(_) => start.is_over = true,
            Observation::Fault(fault) => {
                start.is_over = true;
                cut.extend(fault.client.as_deref());
            }
            Observation::Request(request)
                if request.code == 400 && (cut.contains(&*request.client) || last.contains(&fact.seq)) => {}
            Observation::Request(request) => {
                // After a rejected write, the publisher calls GetCapacity and retries. Conflicts (409) do not count, because the
                // publisher's own writes may conflict.
                let is_rejected = matches!(request.code, 403 | 429 | 500..);
                start.is_over |= is_rejected && request.resource == RESOURCE;
                if let Some((rule, role, text)) = request_violation(release, request) {
                    found.add(rule, role, text, fact);
                }
            }
            Observation::Commit(commit) if is_unlabelled(plan, commit) => {
                found.add(
                    LABELS,
                    Role::Publisher,
                    "an object is created without the labels csi.storage.k8s.io/drivername and csi.storage.k8s.io/managed-by"
                        .to_owned(),
                    fact,
                );
            }
            _ => {}
        }
    }
    found.0
}

/// Sequence number of each program's last request before its end. The program's end may interrupt the request, which is then incomplete.
fn last_requests(facts: &[Fact]) -> BTreeSet<u64> {
    let (mut last, mut cut_off) = (BTreeMap::new(), BTreeSet::new());
    for fact in facts {
        match &fact.what {
            Observation::Request(request) => drop(last.insert(&*request.client, fact.seq)),
            Observation::Process(process) if !matches!(process.event, ProcessEvent::Started) => {
                cut_off.extend(last.remove(&*process.client));
            }
            _ => {}
        }
    }
    cut_off
}

#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(&mut self, rule: &'static str, role: Role, text: String, fact: &Fact) {
        let same = |known: &&mut Finding| known.rule == rule && known.role == role && known.text == text;
        if let Some(known) = self.0.iter_mut().find(same) {
            known.count += 1;
            return;
        }
        self.0.push(Finding {
            rule,
            role,
            text,
            count: 1,
            first: fact.seq,
            at: fact.at(),
        });
    }
}

/// For each client and resource, the revisions received since the client's last watch request, and how many of them were received again.
///
/// A watch never sends a revision twice, but a new watch may send events of an earlier watch again.
#[derive(Default)]
struct WatchedRevisions<'f>(BTreeMap<(&'f str, &'f str), (BTreeSet<u64>, u64)>);

/// Number of repeated events of one resource that are tolerated, because the previous watch may not have ended yet when the next one
/// begins.
const REPEATED_EVENTS_MAX: u64 = 1;

impl<'f> WatchedRevisions<'f> {
    /// Processes a fact. Returns the client's role and the text of the finding, at most once per client and resource.
    fn apply(&mut self, fact: &'f Fact) -> Option<(Role, String)> {
        match &fact.what {
            Observation::Process(process) => self.0.retain(|(client, _), _| *client != &*process.client),
            Observation::Request(request) if request.verb == Verb::Watch => {
                let of_watch = self.0.get_mut(&(&*request.client, request.resource.as_str()))?;
                *of_watch = Default::default();
            }
            Observation::Delivery(delivery) => {
                let key = (&*delivery.client, &*delivery.resource);
                let (revisions, repeated) = self.0.entry(key).or_default();
                if !revisions.insert(delivery.revision) {
                    *repeated += 1;
                    let role = Role::of_client(&delivery.client)?;
                    let text = format!("{} are watched twice by one client", delivery.resource);
                    return (*repeated == REPEATED_EVENTS_MAX + 1).then_some((role, text));
                }
            }
            _ => {}
        }
        None
    }
}

#[derive(Default)]
struct CallCounts {
    /// Number of GetCapacity calls, by parameters and segment.
    get_capacity: BTreeMap<String, u64>,
    /// Number of CSI calls for a volume, such as CreateVolume.
    volumes: u64,
}

/// The publisher's GetCapacity calls between its start and the first poll, or until an event that causes further calls.
#[derive(Default)]
struct StartCalls {
    /// Journal time of the first call. The first poll follows within one poll interval, which began when the program started.
    first: Option<Duration>,
    get_capacity: BTreeMap<String, u64>,
    is_over: bool,
}

impl StartCalls {
    fn exceeds_start_limit(&mut self, call: &CallFact, fact: &Fact, limits: &CallLimits) -> bool {
        self.is_over |= call.volume.is_some();
        let Some(refresh) = limits.interval.filter(|_| call.method == Method::GetCapacity) else {
            return false;
        };
        let first = *self.first.get_or_insert(fact.at());
        self.is_over |= call.code != "OK" || fact.at() >= first + refresh / 2;
        if self.is_over {
            return false;
        }
        let count = self.get_capacity.entry(call_key(call)).or_default();
        *count += 1;
        *count > CALLS_AT_START * limits.count_classes_of_call(call)
    }
}

/// Classes and poll interval, which determine how many GetCapacity calls are tolerated.
struct CallLimits {
    /// StorageClasses with their driver parameters. A class that was deleted and created again may have several parameter sets.
    parameters: BTreeSet<(String, BTreeMap<String, String>)>,
    /// Poll interval. None if calls are not limited, because the publisher does not poll or also calls GetCapacity for PVCs.
    interval: Option<Duration>,
}

impl CallLimits {
    fn of(plan: &Plan, facts: &[Fact]) -> Self {
        let refresh = facts.iter().find_map(|fact| match &fact.what {
            Observation::Begin(begin) => Some(Duration::from_micros(begin.refresh_us)),
            _ => None,
        });
        let classes = plan.class_parameters.keys();
        let of_plan = classes.map(|class| (class.clone(), plan.driver_parameters(class)));
        let in_cluster = facts.iter().filter_map(|fact| match &fact.what {
            Observation::Commit(commit) if *commit.resource == *"storageclasses" => {
                let parameters = commit.object["parameters"].as_object().into_iter().flatten();
                let texts = parameters.filter_map(|(key, value)| Some((key, value.as_str()?)));
                Some((commit.name.to_string(), without_sidecar_parameters(texts)))
            }
            _ => None,
        });
        CallLimits {
            parameters: of_plan.chain(in_cluster).collect(),
            interval: refresh.filter(|_| plan.publisher.polls && !calls_for_immediate_claims(plan, facts)),
        }
    }

    fn exceeds_limit(&self, call: &CallFact, fact: &Fact, calls: &mut CallCounts) -> bool {
        calls.volumes += u64::from(call.volume.is_some());
        let Some(refresh) = self.interval.filter(|_| call.method == Method::GetCapacity) else {
            return false;
        };
        let count = calls.get_capacity.entry(call_key(call)).or_default();
        *count += 1;
        let intervals = fact.at().as_micros() / refresh.as_micros().max(1);
        let each = intervals * u128::from(CALLS_PER_INTERVAL) + u128::from(CALLS_BURST + calls.volumes);
        u128::from(*count) > each * u128::from(self.count_classes_of_call(call))
    }

    /// Number of StorageClasses with the same driver parameters as the call. Each of these classes may cause the call.
    fn count_classes_of_call(&self, call: &CallFact) -> u64 {
        let classes = self.parameters.iter();
        let equal = classes.filter(|(_, parameters)| *parameters == call.parameters);
        equal.count().max(1) as u64
    }
}

/// Whether publishers may call GetCapacity many times: distributed publishers do so before they provision a PVC with Immediate binding.
fn calls_for_immediate_claims(plan: &Plan, facts: &[Fact]) -> bool {
    let is_immediate = |fact: &Fact| match &fact.what {
        Observation::Commit(commit) => {
            *commit.resource == *"storageclasses" && commit.object["volumeBindingMode"] == "Immediate"
        }
        _ => false,
    };
    plan.is_distributed() && facts.iter().any(is_immediate)
}

fn request_violation(
    release: Option<Release>,
    request: &RequestFact,
) -> Option<(&'static str, Role, String)> {
    let role = Role::of_client(&request.client)?;
    let resource = &request.resource;
    if let (400 | 415 | 422, Some(message), false) = (request.code, &request.message, request.injected) {
        // Clients send metadata.uid in a patch as a precondition, so that the patch cannot change a new object with the old name.
        if request.verb == Verb::Patch && field_of(message) == Some("metadata.uid") {
            return None;
        }
        let field = field_of(message).map(|field| format!(" ({field})"));
        let text = format!(
            "{} {resource} is refused with {}{}",
            request.verb,
            request.code,
            field.unwrap_or_default()
        );
        return Some((INVALID, role, text));
    }
    let version = request.version.as_ref()?;
    let (group, name) = version.rsplit_once('/').unwrap_or(("", version));
    let plural = resource.split('/').next()?;
    let release = release.filter(|_| request.code < 400)?;
    (!ApiServer::serves(release, group, name, plural)).then(|| {
        let text = format!("{version} {plural} is requested, which Kubernetes {release} does not serve");
        (VERSION, role, text)
    })
}

/// The first field name in an error message of the API server, such as `metadata.name`.
fn field_of(message: &str) -> Option<&str> {
    let (_, errors) = message.split_once(" is invalid: ")?;
    let field = errors.trim_start_matches('[').split(": ").next()?;
    field
        .starts_with(|c: char| c.is_ascii_lowercase())
        .then_some(field)
}

/// Whether a commit shows that a publisher created a CSIStorageCapacity object without the driver and managed-by labels.
fn is_unlabelled(plan: &Plan, commit: &CommitFact) -> bool {
    *commit.resource == *RESOURCE
        && commit.change == Change::Added
        && Role::of_client(&commit.client) == Some(Role::Publisher)
        && !plan.publisher.identify_by_owner
        && !is_labelled(plan, &commit.object)
}
