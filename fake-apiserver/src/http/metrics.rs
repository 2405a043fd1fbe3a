//! Metrics of the server, for `/metrics`.
//!
//! Owns names and labels, a subset of kube-apiserver's. All label values come from fixed tables, so that clients cannot increase the number
//! of series. Does not know requests.

use jiff::Timestamp;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The media type of metrics. As in kube-apiserver, the `Accept` header is ignored.
pub(crate) const MEDIA: &str = "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

/// Upper bounds of the histogram buckets in seconds, as in kube-apiserver.
const BUCKETS: [f64; 24] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0, 120.0,
];

/// The labels of a request. All values come from fixed tables, which limits the number of series.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Labels {
    pub(crate) verb: &'static str,
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    pub(crate) resource: &'static str,
    pub(crate) subresource: &'static str,
    /// `resource` for one object, `namespace` or `cluster` for a collection, empty for non-resource paths.
    pub(crate) scope: &'static str,
    pub(crate) dry_run: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    #[prometheus(flatten)]
    request: Labels,
    code: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InFlight {
    request_kind: RequestKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
#[expect(
    non_camel_case_types,
    reason = "label values are spelled as in kube-apiserver"
)]
enum RequestKind {
    mutating,
    readOnly,
}

pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<ResponseLabels, Counter>,
    durations: Family<Labels, Histogram>,
    in_flight: Family<InFlight, Gauge>,
    watches: Family<Labels, Gauge>,
}

pub(crate) struct GaugeGuard(Gauge);

impl Drop for GaugeGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new(started: Timestamp) -> Self {
        let start = Gauge::<f64, AtomicU64>::default();
        start.set(started.as_duration().as_secs_f64());
        let mut registry = Registry::default();
        let requests = Family::default();
        let durations = Family::<Labels, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let (in_flight, watches) = (Family::default(), Family::default());
        registry.register(
            "apiserver_request",
            "Requests by verb, resource, scope and HTTP code",
            requests.clone(),
        );
        registry.register(
            "apiserver_request_duration_seconds",
            "Time from the headers of a request to its response, except watches",
            durations.clone(),
        );
        registry.register(
            "apiserver_current_inflight_requests",
            "Requests in flight",
            in_flight.clone(),
        );
        registry.register("apiserver_longrunning_requests", "Open watches", watches.clone());
        registry.register(
            "process_start_time_seconds",
            "Start time of the server in Unix seconds",
            start,
        );
        Self {
            registry,
            requests,
            durations,
            in_flight,
            watches,
        }
    }

    /// Resets the request counters and durations. Gauges of in-flight requests and open watches retain their values.
    pub(crate) fn reset(&self) {
        self.requests.clear();
        self.durations.clear();
    }

    pub(crate) fn count_in_flight(&self, reads: bool) -> GaugeGuard {
        let request_kind = if reads {
            RequestKind::readOnly
        } else {
            RequestKind::mutating
        };
        let gauge = self.in_flight.get_or_create_owned(&InFlight { request_kind });
        gauge.inc();
        GaugeGuard(gauge)
    }

    pub(crate) fn begin_watch(&self, labels: Labels) -> GaugeGuard {
        let gauge = self.watches.get_or_create_owned(&labels);
        gauge.inc();
        GaugeGuard(gauge)
    }

    /// Counts a response and, unless the request is a watch, records its duration.
    pub(crate) fn record(&self, request: Labels, code: u16, elapsed: Duration) {
        self.requests
            .get_or_create(&ResponseLabels { request, code })
            .inc();
        if request.verb != "WATCH" {
            self.durations
                .get_or_create(&request)
                .observe(elapsed.as_secs_f64());
        }
    }

    /// All metrics in the Prometheus text format.
    pub(crate) fn text(&self) -> String {
        let mut metrics = String::new();
        encode(&mut metrics, &self.registry).expect("writing to a String cannot fail");
        to_prometheus_text(&metrics)
    }
}

/// Converts OpenMetrics to the Prometheus text format: removes `# EOF`, and adds the suffix `_total` to names of counters in `# HELP` and
/// `# TYPE` lines.
fn to_prometheus_text(open: &str) -> String {
    let mut text = String::with_capacity(open.len());
    let mut lines = open.lines().peekable();
    while let Some(line) = lines.next() {
        let about = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' '));
        match about {
            Some((name, help)) if lines.next_if_eq(&format!("# TYPE {name} counter")).is_some() => {
                text.push_str(&format!(
                    "# HELP {name}_total {help}\n# TYPE {name}_total counter\n"
                ));
            }
            _ if line == "# EOF" => {}
            _ => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    text
}
