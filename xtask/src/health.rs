//! `why health`: the indicators of a cluster, from its objects, from what programs tell in their metrics, or from a run.
//!
//! Knows the names of metrics and where everything is read. What follows from it is the scheduler library's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use capacity_diagnose::health::{Answer, Calls, Indicator, Observed, Requests, State, Told};
use capacity_scheduler::Options;
use capacity_types::capacity_api::RESOURCE;
use serde_json::Value;
use suites::harness::RunOptions;
use suites::harness::exposition::{Sample, Series, samples};
use suites::harness::journal::{Change, Fact, RequestFact, What};
use suites::harness::plan::Plan;
use suites::harness::record;
use suites::harness::scenario::Role;
use suites::harness::standalone::{CsiMethod, Verb};
use suites::report::{IndicatorRecord, IndicatorState};

use crate::Exit;
use crate::out::println;
use crate::reach::BoxError;
use crate::snapshot::Snapshot;

/// A metric of external-provisioner: how many objects it wants.
const GOAL: &str = "csistoragecapacities_desired_goal";
/// A metric of the CSI sidecars: how their calls end.
const CALLS: &str = "csi_sidecar_operations_seconds_count";
/// A metric of the API server: how requests are answered.
const REQUESTS: &str = "apiserver_request_total";
/// A metric of every program that is written in Go: when it started, in seconds since 1970.
const STARTED: &str = "process_start_time_seconds";

/// A cluster, and what programs tell.
pub(crate) struct Known {
    cluster: Snapshot,
    told: Told,
}

impl Known {
    /// A cluster whose programs, which may be several, tell these metrics.
    pub(crate) fn of_cluster(cluster: Snapshot, texts: &[String], now: Duration) -> Self {
        let mut told = Told::default();
        let read: Vec<Sample> = texts.iter().flat_map(|text| samples(text)).collect();
        let of = |name: &str| -> Vec<&Sample> { read.iter().filter(|it| it.series.name == name).collect() };
        let goals = of(GOAL);
        if !goals.is_empty() {
            told.goal = Some(sum(&goals, |_| true));
        }
        let is_capacity = |series: &Series| has(series, "method_name", |it| it.ends_with("/GetCapacity"));
        let calls: Vec<&Sample> = of(CALLS)
            .into_iter()
            .filter(|it| is_capacity(&it.series))
            .collect();
        if !calls.is_empty() {
            told.calls = Some(Calls {
                all: sum(&calls, |_| true),
                failed: sum(&calls, |series| has(series, "grpc_status_code", |it| it != "OK")),
            });
        }
        let requests = of(REQUESTS);
        if !requests.is_empty() {
            told.requests = Some(Requests {
                over: texts.iter().find_map(|text| uptime(text, now)),
                ..counted(&requests)
            });
        }
        Self { cluster, told }
    }

    /// What a run showed.
    pub(crate) fn of_run(plan: &Plan, facts: &[Fact]) -> Result<Self, BoxError> {
        Ok(Self {
            cluster: Snapshot::of_objects(last_objects(facts))?,
            told: Told {
                answers: Some(answers(plan, facts)),
                calls: Some(calls(facts)),
                goal: None,
                requests: Some(requests(facts)),
            },
        })
    }

    fn indicators(&self) -> Result<Vec<Indicator>, BoxError> {
        let (objects, pods) = self.cluster.parts();
        let observed = Observed {
            objects,
            pods,
            inventory: &self.cluster.inventory,
            told: &self.told,
        };
        Ok(observed.indicators(&Options::default().rules()?))
    }

    /// Prints every indicator by its question. Fails where one of them is bad.
    pub(crate) fn report(&self, json: bool) -> Result<Exit, BoxError> {
        let indicators = self.indicators()?;
        match json {
            true => println!("{}", serde_json::to_string_pretty(&indicators)?),
            false => print(&indicators),
        }
        let is_bad = |it: &Indicator| matches!(it.state, State::Bad | State::Risk);
        let is_bad = indicators.iter().any(is_bad);
        Ok(if is_bad { Exit::Failed } else { Exit::Passed })
    }
}

/// The indicators of a run that is kept in a folder, for its record.
pub(crate) fn of_kept(folder: &Path) -> Result<Vec<IndicatorRecord>, BoxError> {
    let (plan, facts) = record::load(folder)?;
    let indicators = Known::of_run(&plan, &facts)?.indicators()?.into_iter();
    let records = indicators.map(|indicator| IndicatorRecord {
        question: indicator.question.words().to_owned(),
        subject: indicator.subject,
        state: match indicator.state {
            State::Good => IndicatorState::Good,
            State::Bad => IndicatorState::Bad,
            State::Risk => IndicatorState::Risk,
            State::Untidy => IndicatorState::Untidy,
            State::Unknown => IndicatorState::Unknown,
        },
        told: indicator.told,
    });
    Ok(records.collect())
}

fn print(indicators: &[Indicator]) {
    let mut last = None;
    for indicator in indicators {
        if last.replace(indicator.question) != Some(indicator.question) {
            println!("{}", indicator.question.words());
        }
        println!(
            "  {:8} {}: {}",
            indicator.state, indicator.subject, indicator.told
        );
    }
}

/// The objects that existed when the last fact was written down.
pub(crate) fn last_objects(facts: &[Fact]) -> Vec<Value> {
    let mut objects = BTreeMap::new();
    for fact in facts {
        let What::Commit(commit) = &fact.what else {
            continue;
        };
        let key = (&commit.resource, &commit.namespace, &commit.name);
        match commit.change {
            Change::Deleted => drop(objects.remove(&key)),
            Change::Added | Change::Modified => drop(objects.insert(key, &commit.object)),
        }
    }
    objects.into_values().map(|object| (**object).clone()).collect()
}

/// The last figure for each segment and parameters.
fn answers(plan: &Plan, facts: &[Fact]) -> Vec<Answer> {
    let mut last = BTreeMap::new();
    for fact in facts {
        if let What::Call(call) = &fact.what
            && call.method == CsiMethod::GetCapacity
            && let (true, Some(available)) = (call.is_answered(), call.available)
        {
            let bytes = call.maximum.unwrap_or(available);
            last.insert((call.segment.as_deref(), &call.parameters), bytes);
        }
    }
    let answer = |((segment, parameters), bytes): ((Option<&str>, &BTreeMap<String, String>), i64)| Answer {
        driver: plan.driver.name.clone(),
        segment: segment
            .and_then(|text| plan.segments.parse(text).ok())
            .unwrap_or_default(),
        parameters: parameters.clone(),
        bytes,
    };
    last.into_iter().map(answer).collect()
}

fn calls(facts: &[Fact]) -> Calls {
    let mut calls = Calls::default();
    for fact in facts {
        if let What::Call(call) = &fact.what
            && call.method == CsiMethod::GetCapacity
        {
            calls.all += 1.0;
            calls.failed += f64::from(u8::from(!call.is_answered()));
        }
    }
    calls
}

/// The requests of the systems. An interval of a run stands for the minute after which publishers ask elsewhere.
fn requests(facts: &[Fact]) -> Requests {
    let mut counted = Requests::default();
    let own = facts.iter().filter_map(|fact| match &fact.what {
        What::Request(request) if is_counted(request) => Some(request),
        _ => None,
    });
    for request in own {
        counted.all += 1.0;
        if let Some(number) = written(&mut counted, request.verb.as_str()).filter(|_| request.code < 400) {
            *number += 1.0;
        }
        counted.failed += f64::from(u8::from(is_failure(request.code)));
    }
    let lasted = facts.last().map(Fact::at).unwrap_or_default();
    let minutes = lasted.div_duration_f64(RunOptions::default().refresh);
    Requests {
        over: Some(Duration::from_secs_f64(60.0 * minutes)),
        ..counted
    }
}

fn is_counted(request: &RequestFact) -> bool {
    Role::of_client(&request.client).is_some() && request.resource == RESOURCE && request.verb != Verb::Watch
}

/// The number of the writes of a verb, as the journal or the metrics of an API server spell it; none: it reads.
fn written<'r>(requests: &'r mut Requests, verb: &str) -> Option<&'r mut f64> {
    match verb {
        "create" | "post" => Some(&mut requests.creations),
        "update" | "patch" | "apply" | "put" => Some(&mut requests.updates),
        "delete" | "deletecollection" => Some(&mut requests.deletions),
        _ => None,
    }
}

fn is_failure(code: u16) -> bool {
    code == 429 || code >= 500
}

/// Requests by the server's counters.
fn counted(requests: &[&Sample]) -> Requests {
    let own = |series: &Series| {
        has(series, "resource", |it| it == RESOURCE) && !has(series, "verb", |it| it == "WATCH")
    };
    let code = |text: &str| text.parse().is_ok_and(is_failure);
    let mut counted = Requests {
        all: sum(requests, own),
        failed: sum(requests, |series| own(series) && has(series, "code", code)),
        ..Requests::default()
    };
    for sample in requests.iter().filter(|sample| own(&sample.series)) {
        let verb = sample
            .series
            .labels
            .get("verb")
            .map(|verb| verb.to_ascii_lowercase());
        let is_done = has(&sample.series, "code", |code| {
            code.parse().is_ok_and(|code: u16| code < 400)
        });
        if let Some(number) = verb
            .and_then(|verb| written(&mut counted, &verb))
            .filter(|_| is_done)
        {
            *number += sample.value;
        }
    }
    counted
}

/// How long the API server runs whose counters these are.
fn uptime(text: &str, now: Duration) -> Option<Duration> {
    let read: Vec<Sample> = samples(text).collect();
    read.iter().find(|it| it.series.name == REQUESTS)?;
    let started = read.iter().find(|it| it.series.name == STARTED)?.value;
    now.checked_sub(Duration::try_from_secs_f64(started).ok()?)
}

fn has(series: &Series, label: &str, is_meant: impl FnOnce(&str) -> bool) -> bool {
    series.labels.get(label).is_some_and(|value| is_meant(value))
}

fn sum(samples: &[&Sample], is_meant: impl Fn(&Series) -> bool) -> f64 {
    let meant = samples.iter().filter(|sample| is_meant(&sample.series));
    meant.fold(0.0, |sum, sample| sum + sample.value)
}

/// The metrics of an API server, where it shows them to whoever asks.
pub(crate) async fn of_server(client: &kube::Client) -> Option<String> {
    let request = hyper::Request::get("/metrics").body(Vec::new()).ok()?;
    client.request_text(request).await.ok()
}

/// The time of day, as metrics tell it.
pub(crate) fn since_1970() -> Result<Duration, BoxError> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}

/// What `--metrics` names.
pub(crate) fn texts(files: &[PathBuf]) -> Result<Vec<String>, BoxError> {
    let read = |file: &PathBuf| {
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()).into())
    };
    files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creations_and_deletions_of_a_run_are_counted() {
        let request = |at: u64, verb: &str, code: u16| -> Fact {
            let what = serde_json::json!({"fact": "request", "client": "publisher", "verb": verb, "resource": RESOURCE,
                "namespace": "csi", "name": null, "code": code, "message": null, "revision": null});
            let what = serde_json::from_value(what).expect("it is a fact");
            Fact {
                seq: at,
                at_us: at * 10_000,
                what,
            }
        };
        let verbs = [
            ("create", 201),
            ("create", 409),
            ("delete", 200),
            ("patch", 200),
            ("list", 200),
        ];
        let facts: Vec<Fact> = (1..)
            .zip(verbs)
            .map(|(at, (verb, code))| request(at, verb, code))
            .collect();
        let counted = requests(&facts);
        assert_eq!(
            (counted.creations, counted.updates, counted.deletions, counted.all),
            (1.0, 1.0, 1.0, 5.0)
        );
    }
}
