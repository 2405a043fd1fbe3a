//! `why health`: health indicators of a cluster, derived from its objects, metrics of its programs, or a stored run.
//!
//! Owns the names of metrics and the sources of data. The crate `diagnose` derives the indicators.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use capacity_diagnose::health::{
    Calls, DriverCapacity, Indicator, ObservedCluster, ReportedValues, Requests, State, is_failure,
};
use capacity_diagnose::snapshot::Snapshot;
use capacity_scheduler::Options;
use capacity_types::capacity_api::RESOURCE;
use serde_json::Value;
use suites::harness::RunOptions;
use suites::harness::journal::{Change, Fact, Observation, RequestFact};
use suites::harness::plan::Plan;
use suites::harness::record;
use suites::harness::scenario::Role;
use suites::harness::standalone::{CsiMethod, Verb};
use suites::report::{IndicatorRecord, IndicatorState};

use crate::Exit;
use crate::config_flags::BoxError;
use crate::out::println;

/// The objects of a cluster, and the metrics of its programs.
pub(crate) struct ClusterHealth {
    cluster: Snapshot,
    reported: ReportedValues,
}

impl ClusterHealth {
    /// The health of a real cluster. `texts`: the metrics of its programs, one text per program.
    pub(crate) fn of_cluster(cluster: Snapshot, texts: &[String], now: Duration) -> Self {
        let reported = ReportedValues::of_metrics(texts, now);
        Self { cluster, reported }
    }

    /// The health of the cluster in a run, whose objects and metrics are computed from the journal.
    pub(crate) fn of_run(plan: &Plan, facts: &[Fact]) -> Result<Self, BoxError> {
        Ok(Self {
            cluster: Snapshot::of_objects(last_objects(facts))?,
            reported: ReportedValues {
                driver_capacities: Some(driver_capacities(plan, facts)),
                calls: Some(calls(facts)),
                goal: None,
                requests: Some(requests(facts)),
            },
        })
    }

    fn indicators(&self) -> Result<Vec<Indicator>, BoxError> {
        let (objects, pods) = self.cluster.non_pods_and_pods();
        let observed = ObservedCluster {
            objects,
            pods,
            inventory: &self.cluster.inventory,
            reported: &self.reported,
        };
        Ok(observed.indicators(&Options::default().rules()?))
    }

    /// Prints every health indicator with the question that it answers. Returns the exit code for failures if an indicator is bad.
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

pub(crate) fn indicators_of_stored_run(folder: &Path) -> Result<Vec<IndicatorRecord>, BoxError> {
    let (plan, facts) = record::load(folder)?;
    let indicators = ClusterHealth::of_run(&plan, &facts)?.indicators()?.into_iter();
    let records = indicators.map(|indicator| IndicatorRecord {
        question: indicator.question.text().to_owned(),
        subject: indicator.subject,
        state: match indicator.state {
            State::Good => IndicatorState::Good,
            State::Bad => IndicatorState::Bad,
            State::Risk => IndicatorState::Risk,
            State::Untidy => IndicatorState::Untidy,
            State::Unknown => IndicatorState::Unknown,
        },
        message: indicator.message,
    });
    Ok(records.collect())
}

fn print(indicators: &[Indicator]) {
    let mut last = None;
    for indicator in indicators {
        if last.replace(indicator.question) != Some(indicator.question) {
            println!("{}", indicator.question.text());
        }
        println!(
            "  {:8} {}: {}",
            indicator.state, indicator.subject, indicator.message
        );
    }
}

/// The objects that exist at the end of the journal.
pub(crate) fn last_objects(facts: &[Fact]) -> Vec<Value> {
    let mut objects = BTreeMap::new();
    for fact in facts {
        let Observation::Commit(commit) = &fact.what else {
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

/// The last capacity that the driver reported for each segment and parameters.
fn driver_capacities(plan: &Plan, facts: &[Fact]) -> Vec<DriverCapacity> {
    let mut last = BTreeMap::new();
    for fact in facts {
        if let Observation::Call(call) = &fact.what
            && call.method == CsiMethod::GetCapacity
            && let (true, Some(available)) = (call.has_received_response(), call.available)
        {
            let bytes = call.maximum.unwrap_or(available);
            last.insert((call.segment.as_deref(), &call.parameters), bytes);
        }
    }
    let capacity =
        |((segment, parameters), bytes): ((Option<&str>, &BTreeMap<String, String>), i64)| DriverCapacity {
            driver: plan.driver.name.clone(),
            segment: segment
                .and_then(|text| plan.segments.parse(text).ok())
                .unwrap_or_default(),
            parameters: parameters.clone(),
            bytes,
        };
    last.into_iter().map(capacity).collect()
}

fn calls(facts: &[Fact]) -> Calls {
    let mut calls = Calls::default();
    for fact in facts {
        if let Observation::Call(call) = &fact.what
            && call.method == CsiMethod::GetCapacity
        {
            calls.all += 1.0;
            calls.failed += f64::from(u8::from(!call.has_received_response()));
        }
    }
    calls
}

/// Counts the requests of the systems under test. Each poll interval of the run counts as one minute, the usual poll interval.
fn requests(facts: &[Fact]) -> Requests {
    let mut counted = Requests::default();
    let own = facts.iter().filter_map(|fact| match &fact.what {
        Observation::Request(request) if is_counted(request) => Some(request),
        _ => None,
    });
    for request in own {
        counted.all += 1.0;
        if let Some(number) = counted
            .write_counter(request.verb.as_str())
            .filter(|_| request.code < 400)
        {
            *number += 1.0;
        }
        counted.failed += f64::from(u8::from(is_failure(request.code)));
    }
    let duration = facts.last().map(Fact::at).unwrap_or_default();
    let minutes = duration.div_duration_f64(RunOptions::default().refresh);
    Requests {
        over: Some(Duration::from_secs_f64(60.0 * minutes)),
        ..counted
    }
}

fn is_counted(request: &RequestFact) -> bool {
    Role::of_client(&request.client).is_some() && request.resource == RESOURCE && request.verb != Verb::Watch
}

/// The metrics of an API server, if the client is allowed to read them.
pub(crate) async fn read_api_server_metrics(client: &kube::Client) -> Option<String> {
    let request = hyper::Request::get("/metrics").body(Vec::new()).ok()?;
    client.request_text(request).await.ok()
}

/// The current time since the Unix epoch, to which start times in metrics refer.
pub(crate) fn unix_time() -> Result<Duration, BoxError> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?)
}

pub(crate) fn read_metrics_files(files: &[PathBuf]) -> Result<Vec<String>, BoxError> {
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
            let what = serde_json::from_value(what).expect("a valid fact");
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
