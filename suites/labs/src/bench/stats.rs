//! Results of a measurement (rates and latencies), and their display. Does not know how to measure.

use std::time::Duration;

use serde::Serialize;

/// Rates and latencies of one kind of request.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestStats {
    pub(super) name: String,
    /// Number of completed requests, or of received events.
    pub(super) count: usize,
    pub(super) per_second: f64,
    /// Median latency of a request.
    pub(super) p50_microseconds: f64,
    /// 99th percentile of the request latency.
    pub(super) p99_microseconds: f64,
    /// CPU time of the server per request, if the process of the server is known. Best suited for comparing runs, because other load on the
    /// machine hardly affects it.
    pub(super) processor_microseconds: Option<f64>,
}

/// All measured values of one API server.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    /// Time from process start to the first response; `None` for a server that was already running.
    pub(super) ready_milliseconds: Option<f64>,
    /// Resident memory of the server before the load, in bytes.
    pub(super) rest_bytes: Option<u64>,
    /// Resident memory of the server after the load, in bytes.
    pub(super) loaded_bytes: Option<u64>,
    /// Resident memory of the server with the API objects and watches of the memory measurement, in bytes.
    pub(super) held_bytes: Option<u64>,
    /// Results of the phases of the load, one for each kind of request.
    #[serde(rename = "figures")]
    pub(super) stats: Vec<RequestStats>,
    /// Event rates with few and with many API objects on the server.
    pub(super) held: Vec<RequestStats>,
}

impl RequestStats {
    /// Computes the statistics of `count` requests that took `elapsed` in total; `took` contains the latency of each.
    pub(super) fn new(name: String, count: usize, elapsed: Duration, mut took: Vec<Duration>) -> Self {
        took.sort_unstable();
        let at = |hundredth: usize| {
            let index = (took.len() * hundredth / 100).min(took.len().saturating_sub(1));
            took.get(index).map_or(0.0, |time| time.as_secs_f64() * 1e6)
        };
        Self {
            name,
            count,
            per_second: count as f64 / elapsed.as_secs_f64(),
            p50_microseconds: at(50),
            p99_microseconds: at(99),
            processor_microseconds: None,
        }
    }
}

impl RequestStats {
    /// Adds the CPU time per request, from two measurements of the server's CPU time.
    pub(super) fn with_cpu_time(
        mut self,
        before: Option<Duration>,
        after: Option<Duration>,
        count: usize,
    ) -> Self {
        let spent = before
            .zip(after)
            .map(|(before, after)| after.saturating_sub(before));
        self.processor_microseconds = spent.map(|spent| spent.as_secs_f64() * 1e6 / count as f64);
        self
    }
}

/// Text in the table for a server whose memory cannot be read.
const UNKNOWN_PROCESS: &str = "unknown: no local process listens on the port; use --against-pid";

/// Formats the results of one server, or of two servers with the speed-up of the first.
pub(super) fn table(ours: &Measured, other: Option<&Measured>) -> String {
    let mut text = String::new();
    let number = |value: Option<f64>, unit: &str| value.map(|value| format!("{value:.1} {unit}"));
    let megabytes = |bytes: Option<u64>| number(bytes.map(|bytes| bytes as f64 / 1e6), "MB");
    let ready = |of: &Measured| number(of.ready_milliseconds, "ms");
    for (name, value, unknown) in [
        (
            "ready",
            &ready as &dyn Fn(&Measured) -> Option<String>,
            "unknown: it ran before",
        ),
        ("memory at rest", &|of| megabytes(of.rest_bytes), UNKNOWN_PROCESS),
        (
            "memory after the load",
            &|of| megabytes(of.loaded_bytes),
            UNKNOWN_PROCESS,
        ),
        (
            "memory with all held",
            &|of| megabytes(of.held_bytes),
            "not measured",
        ),
    ] {
        let of_ours = value(ours).unwrap_or_else(|| "unknown".to_owned());
        let of_other = other.map(|other| {
            let value = value(other).unwrap_or_else(|| unknown.to_owned());
            format!("   other: {value}")
        });
        text.push_str(&format!(
            "{name:<26}{of_ours:>14}{}\n",
            of_other.unwrap_or_default()
        ));
    }
    let against = if other.is_some() {
        "       other/s   ratio"
    } else {
        ""
    };
    text.push_str(&format!(
        "{:<26}{:>14}{:>12}{:>12}{:>12}{against}\n",
        "", "per second", "p50", "p99", "CPU time"
    ));
    for (n, stats) in ours.stats.iter().chain(&ours.held).enumerate() {
        let RequestStats { name, per_second, .. } = stats;
        let milliseconds = |microseconds: f64| format!("{:.2} ms", microseconds / 1e3);
        let (p50, p99) = (
            milliseconds(stats.p50_microseconds),
            milliseconds(stats.p99_microseconds),
        );
        let cpu_time = stats
            .processor_microseconds
            .map_or_else(String::new, |time| format!("{time:.1} µs"));
        text.push_str(&format!(
            "{name:<26}{per_second:>14.0}{p50:>12}{p99:>12}{cpu_time:>12}"
        ));
        if let Some(other) = other.and_then(|other| other.stats.get(n)) {
            let ratio = per_second / other.per_second;
            text.push_str(&format!("{:>14.0}{ratio:>7.1}×", other.per_second));
        }
        text.push('\n');
    }
    text
}
