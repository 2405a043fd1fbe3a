//! Findings: what a system does wrong beside the point of a case. Looked for in every case, once per cause, and never a verdict.
//!
//! A driver or an API server that refused such things would fail every case at its first step and hide everything else, so the
//! harness's own go on, and the journal shows it. Cases that are about strictness switch it on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::Verb;
use fake_apiserver::{ApiServer, Release};
use fake_csi::Method;

use super::duplicates::{Duplicates, Surplus};
use crate::cluster_state::call_key;
use crate::expectation::is_labelled;
use crate::journal::{CallFact, Change, CommitFact, Fact, ProcessEvent, RequestFact, What};
use crate::plan::{Plan, without_sidecars};
use crate::scenario::Role;

/// One kind of thing that a system did wrong in a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule, as manifests name it.
    pub rule: &'static str,
    /// Who broke it.
    pub role: Role,
    /// What was wrong, in one sentence without the names of objects, so that it is the same in every case.
    pub text: String,
    /// How often.
    pub count: u64,
    /// The first fact that shows it.
    pub first: u64,
    /// When that was, since the case began.
    pub at: Duration,
}

/// A rule that is looked at in every case.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its name.
    pub name: &'static str,
    /// What it requires.
    pub text: &'static str,
    /// Where that is said.
    pub source: &'static str,
}

const ARGUMENTS: &str = "csi-arguments";
const CALLS: &str = "csi-calls";
const CALLS_TWICE: &str = "csi-calls-at-start";
const VERSION: &str = "api-version";
const INVALID: &str = "api-invalid";
const LABELS: &str = "object-labels";
const TWICE: &str = "object-twice";
const WATCHED_TWICE: &str = "watch-twice";

/// All rules.
pub const RULES: [Rule; 8] = [
    Rule {
        name: ARGUMENTS,
        text: "the arguments of a CSI call are what the specification allows",
        source: "CSI, GetCapacityRequest and CreateVolumeRequest",
    },
    Rule {
        name: CALLS,
        text: "the driver is asked for a figure about once in each poll interval",
        source: "KEP-1472, GetCapacity is called periodically",
    },
    Rule {
        name: CALLS_TWICE,
        text: "at the start, before the first poll, the driver is called at most twice for the same class and segment",
        source: "KEP-1472, GetCapacity is called periodically",
    },
    Rule {
        name: VERSION,
        text: "requests speak a version of the API that the release serves",
        source: "Kubernetes, deprecated API migration guide",
    },
    Rule {
        name: INVALID,
        text: "what is sent to the API server is well-formed and valid",
        source: "Kubernetes API concepts, status codes 400, 415 and 422",
    },
    Rule {
        name: LABELS,
        text: "a published object says by its labels who manages it, for which driver",
        source: "KEP-1472, CSIStorageCapacity lifecycle",
    },
    Rule {
        name: TWICE,
        text: "one object is made for each class and segment",
        source: "KEP-1472, CSIStorageCapacity lifecycle",
    },
    Rule {
        name: WATCHED_TWICE,
        text: "a client has one watch for the same objects",
        source: "Kubernetes API concepts, efficient detection of changes",
    },
];

/// The rule of that name.
pub fn rule(name: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.name == name)
}

/// So many calls in each poll interval are no mistake, and one more for each volume that is to come or go: failures are retried.
const CALLS_ALLOWED: u64 = 3;
/// So many more may come at once.
const CALLS_AT_ONCE: u64 = 20;
/// So many calls for each class are no mistake before the first poll: the class and the segment may be seen one after the other.
const CALLS_AT_START: u64 = 2;

/// What the systems of a case did wrong beside its point, in the order of the first facts.
pub fn findings(plan: &Plan, facts: &[Fact]) -> Vec<Finding> {
    let mut found = Found::default();
    let (mut calls, mut start) = (Calls::default(), Start::default());
    let refreshes = Refreshes::of(plan, facts);
    // Where the release is what the case is about, it judges versions itself.
    let release = plan.has_usual_release().then_some(plan.release);
    // What a client sends half may be the work of a fault that cuts it off, or kills it.
    let mut cut: BTreeSet<&str> = BTreeSet::new();
    let last = last_requests(facts);
    let (mut duplicates, mut watches) = (Duplicates::default(), Watches::default());
    for fact in facts {
        if let Some((role, text)) = watches.apply(fact) {
            found.add(WATCHED_TWICE, role, text, fact);
        }
        if duplicates.apply(fact) == Some(Surplus::Made) {
            let text = "an object is made again in the refresh in which it was made";
            found.add(TWICE, Role::Publisher, text.to_owned(), fact);
        }
        match &fact.what {
            What::Call(call) => {
                for violation in &call.details.violations {
                    found.add(
                        ARGUMENTS,
                        Role::Publisher,
                        format!("{}: {violation}", call.method),
                        fact,
                    );
                }
                if refreshes.is_too_often(call, fact, &mut calls) {
                    let text =
                        "GetCapacity: the same figure is asked for several times in each poll interval";
                    found.add(CALLS, Role::Publisher, text.to_owned(), fact);
                }
                if start.is_repeated(call, fact, &refreshes) {
                    let text = "GetCapacity: the same call is made more than twice before the first poll";
                    found.add(CALLS_TWICE, Role::Publisher, text.to_owned(), fact);
                }
            }
            What::Action(_) => start.is_over = true,
            What::Fault(fault) => {
                start.is_over = true;
                cut.extend(fault.client.as_deref());
            }
            What::Request(request)
                if request.code == 400 && (cut.contains(&*request.client) || last.contains(&fact.seq)) => {}
            What::Request(request) => {
                // A write that the server did not allow is tried again, after another GetCapacity. A conflict may be of two writes of its own.
                let is_refused = matches!(request.code, 403 | 429 | 500..);
                start.is_over |= is_refused && request.resource == RESOURCE;
                if let Some((rule, role, text)) = of_request(release, request) {
                    found.add(rule, role, text, fact);
                }
            }
            What::Commit(commit) if is_unlabelled(plan, commit) => {
                found.add(
                    LABELS,
                    Role::Publisher,
                    "an object is made without the labels csi.storage.k8s.io/drivername and csi.storage.k8s.io/managed-by"
                        .to_owned(),
                    fact,
                );
            }
            _ => {}
        }
    }
    found.0
}

/// The last request of each program before it ended, which its end may have cut off.
fn last_requests(facts: &[Fact]) -> BTreeSet<u64> {
    let (mut last, mut of_ended) = (BTreeMap::new(), BTreeSet::new());
    for fact in facts {
        match &fact.what {
            What::Request(request) => drop(last.insert(&*request.client, fact.seq)),
            What::Process(process) if !matches!(process.event, ProcessEvent::Started) => {
                of_ended.extend(last.remove(&*process.client));
            }
            _ => {}
        }
    }
    of_ended
}

#[derive(Default)]
struct Found(Vec<Finding>);

impl Found {
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

/// Watch events by client and resource: the revisions that the client has received since its last watch request, and how many it has
/// received again.
///
/// One watch never sends a revision twice; a new watch may repeat events of an earlier one.
#[derive(Default)]
struct Watches<'f>(BTreeMap<(&'f str, &'f str), (BTreeSet<u64>, u64)>);

/// Repeated events of one resource that are tolerated: the previous watch may not have ended yet when the next begins.
const EVENTS_TWICE: u64 = 1;

impl<'f> Watches<'f> {
    /// Adds a fact. Returns the client's role and the text of the finding, once per client and resource.
    fn apply(&mut self, fact: &'f Fact) -> Option<(Role, String)> {
        match &fact.what {
            What::Process(process) => self.0.retain(|(client, _), _| *client != &*process.client),
            What::Request(request) if request.verb == Verb::Watch => {
                let of_watch = self.0.get_mut(&(&*request.client, request.resource.as_str()))?;
                *of_watch = Default::default();
            }
            What::Delivery(delivery) => {
                let key = (&*delivery.client, &*delivery.resource);
                let (revisions, twice) = self.0.entry(key).or_default();
                if !revisions.insert(delivery.revision) {
                    *twice += 1;
                    let role = Role::of_client(&delivery.client)?;
                    let text = format!("{} are watched twice by one client", delivery.resource);
                    return (*twice == EVENTS_TWICE + 1).then_some((role, text));
                }
            }
            _ => {}
        }
        None
    }
}

/// Calls of the driver so far.
#[derive(Default)]
struct Calls {
    /// For each figure, as often as it was asked for.
    figures: BTreeMap<String, u64>,
    /// About volumes.
    volumes: u64,
}

/// Calls of GetCapacity before the first poll, and before anything happens that leads to others.
#[derive(Default)]
struct Start {
    /// Journal time of the first call. The first poll is a poll interval after the start of the program, which is some time before.
    first: Option<Duration>,
    figures: BTreeMap<String, u64>,
    is_over: bool,
}

impl Start {
    fn is_repeated(&mut self, call: &CallFact, fact: &Fact, refreshes: &Refreshes) -> bool {
        self.is_over |= call.volume.is_some();
        let Some(refresh) = refreshes.interval.filter(|_| call.method == Method::GetCapacity) else {
            return false;
        };
        let first = *self.first.get_or_insert(fact.at());
        self.is_over |= call.code != "OK" || fact.at() >= first + refresh / 2;
        if self.is_over {
            return false;
        }
        let count = self.figures.entry(call_key(call)).or_default();
        *count += 1;
        *count > CALLS_AT_START * refreshes.classes_like(call)
    }
}

/// How often GetCapacity may be called.
struct Refreshes {
    /// Each class with the parameters that the driver gets of it; a class that was created again has several.
    parameters: BTreeSet<(String, BTreeMap<String, String>)>,
    /// None: the case says that itself, or not only refreshes ask.
    interval: Option<Duration>,
}

impl Refreshes {
    fn of(plan: &Plan, facts: &[Fact]) -> Self {
        let refresh = facts.iter().find_map(|fact| match &fact.what {
            What::Begin(begin) => Some(Duration::from_micros(begin.refresh_us)),
            _ => None,
        });
        let classes = plan.class_parameters.keys();
        let of_plan = classes.map(|class| (class.clone(), plan.driver_parameters(class)));
        let in_cluster = facts.iter().filter_map(|fact| match &fact.what {
            What::Commit(commit) if *commit.resource == *"storageclasses" => {
                let parameters = commit.object["parameters"].as_object().into_iter().flatten();
                let texts = parameters.filter_map(|(key, value)| Some((key, value.as_str()?)));
                Some((commit.name.to_string(), without_sidecars(texts)))
            }
            _ => None,
        });
        Refreshes {
            parameters: of_plan.chain(in_cluster).collect(),
            interval: refresh.filter(|_| plan.publisher.polls && !asks_for_claims(plan, facts)),
        }
    }

    fn is_too_often(&self, call: &CallFact, fact: &Fact, calls: &mut Calls) -> bool {
        calls.volumes += u64::from(call.volume.is_some());
        let Some(refresh) = self.interval.filter(|_| call.method == Method::GetCapacity) else {
            return false;
        };
        let count = calls.figures.entry(call_key(call)).or_default();
        *count += 1;
        let intervals = fact.at().as_micros() / refresh.as_micros().max(1);
        let each = intervals * u128::from(CALLS_ALLOWED) + u128::from(CALLS_AT_ONCE + calls.volumes);
        u128::from(*count) > each * u128::from(self.classes_like(call))
    }

    /// The classes with the parameters of a call: each of them may lead to the same call.
    fn classes_like(&self, call: &CallFact) -> u64 {
        let classes = self.parameters.iter();
        let alike = classes.filter(|(_, parameters)| *parameters == call.parameters);
        alike.count().max(1) as u64
    }
}

/// Whether the instances on nodes ask before they take a claim: one that waits for no consumer, and may find no room again and again.
fn asks_for_claims(plan: &Plan, facts: &[Fact]) -> bool {
    let is_immediate = |fact: &Fact| match &fact.what {
        What::Commit(commit) => {
            *commit.resource == *"storageclasses" && commit.object["volumeBindingMode"] == "Immediate"
        }
        _ => false,
    };
    plan.is_distributed() && facts.iter().any(is_immediate)
}

fn of_request(release: Option<Release>, request: &RequestFact) -> Option<(&'static str, Role, String)> {
    let role = Role::of_client(&request.client)?;
    let resource = &request.resource;
    if let (400 | 415 | 422, Some(message), false) = (request.code, &request.message, request.injected) {
        // Clients send metadata.uid in a patch as a precondition, so that it does not change a recreated object of the same name.
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
        let text = format!("{version} {plural} is asked for, which Kubernetes {release} does not serve");
        (VERSION, role, text)
    })
}

/// The field that a message of the API server names first, such as `metadata.name`.
fn field_of(message: &str) -> Option<&str> {
    let (_, errors) = message.split_once(" is invalid: ")?;
    let field = errors.trim_start_matches('[').split(": ").next()?;
    field
        .starts_with(|c: char| c.is_ascii_lowercase())
        .then_some(field)
}

/// Whether a publisher has made an object that does not say whose it is.
fn is_unlabelled(plan: &Plan, commit: &CommitFact) -> bool {
    *commit.resource == *RESOURCE
        && commit.change == Change::Added
        && Role::of_client(&commit.client) == Some(Role::Publisher)
        && !plan.publisher.by_owner
        && !is_labelled(plan, &commit.object)
}
