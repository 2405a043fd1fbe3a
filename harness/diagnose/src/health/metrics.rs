//! The figures of an operator from the metrics of programs: external-provisioner, the CSI sidecars and the API server. Owns the names of
//! those metrics.

use std::time::Duration;

use capacity_types::capacity_api::RESOURCE;
use capacity_types::exposition::{Sample, Series, samples};

use super::{Calls, Requests, Told};

/// A metric of external-provisioner: how many objects it wants.
const GOAL: &str = "csistoragecapacities_desired_goal";
/// A metric of the CSI sidecars: how their calls end.
const CALLS: &str = "csi_sidecar_operations_seconds_count";
/// A metric of the API server: how requests are answered.
const REQUESTS: &str = "apiserver_request_total";
/// A metric of every program that is written in Go: when it started, in seconds since 1970.
const STARTED: &str = "process_start_time_seconds";

impl Told {
    /// The figures in these exposition texts, of one program each. `now`: since the Unix epoch.
    pub fn of_metrics(texts: &[String], now: Duration) -> Self {
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
        told
    }
}

impl Requests {
    /// The counter of writes with this verb, as the journal or the metrics of an API server spell it; None for verbs that read.
    pub fn writes(&mut self, verb: &str) -> Option<&mut f64> {
        match verb {
            "create" | "post" => Some(&mut self.creations),
            "update" | "patch" | "apply" | "put" => Some(&mut self.updates),
            "delete" | "deletecollection" => Some(&mut self.deletions),
            _ => None,
        }
    }
}

/// Whether an HTTP status counts as a failure of the API server: too many requests, or a server error.
pub fn is_failure(code: u16) -> bool {
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
        if let Some(number) = verb.and_then(|verb| counted.writes(&verb)).filter(|_| is_done) {
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
