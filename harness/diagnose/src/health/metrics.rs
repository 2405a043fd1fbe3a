//! Reads values for the health indicators from the metrics of external-provisioner, the CSI sidecars and the API server. Owns the names of
//! these metrics.

use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::exposition::{Sample, Series, samples};

use super::{Calls, ReportedValues, Requests};

/// Metric of external-provisioner: number of CSIStorageCapacity objects that should exist.
const GOAL: &str = "csistoragecapacities_desired_goal";
/// Metric of the CSI sidecars: number of CSI calls by result.
const CALLS: &str = "csi_sidecar_operations_seconds_count";
const REQUESTS: &str = "apiserver_request_total";
const STARTED: &str = "process_start_time_seconds";

impl ReportedValues {
    /// Reads the values from metrics texts, one per program. `now`: time since the Unix epoch.
    pub fn of_metrics(texts: &[String], now: Duration) -> Self {
        let mut reported = ReportedValues::default();
        let read: Vec<Sample> = texts.iter().flat_map(|text| samples(text)).collect();
        let of = |name: &str| -> Vec<&Sample> { read.iter().filter(|it| it.series.name == name).collect() };
        let goals = of(GOAL);
        if !goals.is_empty() {
            reported.goal = Some(sum(&goals, |_| true));
        }
        let is_capacity = |series: &Series| has(series, "method_name", |it| it.ends_with("/GetCapacity"));
        let calls: Vec<&Sample> = of(CALLS)
            .into_iter()
            .filter(|it| is_capacity(&it.series))
            .collect();
        if !calls.is_empty() {
            reported.calls = Some(Calls {
                all: sum(&calls, |_| true),
                failed: sum(&calls, |series| has(series, "grpc_status_code", |it| it != "OK")),
            });
        }
        let requests = of(REQUESTS);
        if !requests.is_empty() {
            reported.requests = Some(Requests {
                over: texts.iter().find_map(|text| uptime(text, now)),
                ..sum_requests(&requests)
            });
        }
        reported
    }
}

impl Requests {
    /// The counter of requests with a write verb, spelled as in the journal or in API server metrics. `None` for read verbs.
    pub fn write_counter(&mut self, verb: &str) -> Option<&mut f64> {
        match verb {
            "create" | "post" => Some(&mut self.creations),
            "update" | "patch" | "apply" | "put" => Some(&mut self.updates),
            "delete" | "deletecollection" => Some(&mut self.deletions),
            _ => None,
        }
    }
}

/// Whether an HTTP status code counts as a failure of the API server: 429 (Too Many Requests) or a server error.
pub fn is_failure(code: u16) -> bool {
    code == 429 || code >= 500
}

fn sum_requests(requests: &[&Sample]) -> Requests {
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
            .and_then(|verb| counted.write_counter(&verb))
            .filter(|_| is_done)
        {
            *number += sample.value;
        }
    }
    counted
}

/// How long the API server with these metrics has been running.
fn uptime(text: &str, now: Duration) -> Option<Duration> {
    let read: Vec<Sample> = samples(text).collect();
    read.iter().find(|it| it.series.name == REQUESTS)?;
    let started = read.iter().find(|it| it.series.name == STARTED)?.value;
    now.checked_sub(Duration::try_from_secs_f64(started).ok()?)
}

fn has(series: &Series, label: &str, matches: impl FnOnce(&str) -> bool) -> bool {
    series.labels.get(label).is_some_and(|value| matches(value))
}

fn sum(samples: &[&Sample], matches: impl Fn(&Series) -> bool) -> f64 {
    let matching = samples.iter().filter(|sample| matches(&sample.series));
    matching.fold(0.0, |sum, sample| sum + sample.value)
}
