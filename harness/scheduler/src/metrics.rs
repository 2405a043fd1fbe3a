//! Metrics with the names, labels and types of kube-scheduler. Does not decide when to record a value.
//!
//! kube-scheduler times the plugins in one of ten attempts. This scheduler times every attempt, so that a single pod shows whether scoring
//! is enabled.

use std::sync::Arc;
use std::time::Duration;

use capacity_client::{Connections, OPENMETRICS_TYPE};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::listen;

/// The plugin whose calls are timed.
const PLUGIN: &str = "VolumeBinding";

type Durations<L> = Family<L, Histogram, fn() -> Histogram>;

/// Result of a scheduling attempt (label `result`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AttemptResult {
    Scheduled,
    Unschedulable,
    Error,
}

impl AttemptResult {
    fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::Unschedulable => "unschedulable",
            Self::Error => "error",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ExtensionPoint {
    Filter,
    Score,
}

impl ExtensionPoint {
    fn as_str(self) -> &'static str {
        match self {
            Self::Filter => "Filter",
            Self::Score => "Score",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AttemptLabels {
    profile: String,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PluginLabels {
    plugin: &'static str,
    extension_point: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueueLabels {
    queue: &'static str,
}

/// Numbers of pods in each state of the scheduling queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Pending {
    /// Number of pods that are ready for an attempt.
    pub(crate) active: usize,
    pub(crate) backoff: usize,
    /// Number of pods that are unschedulable until an event requeues them.
    pub(crate) unschedulable: usize,
}

/// All metrics of a scheduler. Clones share the metric values; the schedulers of several profiles may use the same metrics.
#[derive(Clone, Debug)]
pub struct Metrics(Arc<Families>);

#[derive(Debug)]
struct Families {
    registry: Registry,
    attempts: Family<AttemptLabels, Counter>,
    attempt_durations: Durations<AttemptLabels>,
    plugins: Durations<PluginLabels>,
    pending: Family<QueueLabels, Gauge>,
    attempts_per_pod: Histogram,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("scheduler");
        let attempts = Family::default();
        registry.register(
            "schedule_attempts",
            "Number of attempts to schedule pods, by the result",
            attempts.clone(),
        );
        let attempt_durations: Durations<AttemptLabels> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.001, 2.0, 15)));
        registry.register(
            "scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            attempt_durations.clone(),
        );
        let plugins: Durations<PluginLabels> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.000_01, 1.5, 20)));
        registry.register(
            "plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point",
            plugins.clone(),
        );
        let pending = Family::default();
        registry.register(
            "pending_pods",
            "Number of pending pods, by the queue",
            pending.clone(),
        );
        let attempts_per_pod = Histogram::new(exponential_buckets(1.0, 2.0, 5));
        registry.register(
            "pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod",
            attempts_per_pod.clone(),
        );
        Self(Arc::new(Families {
            registry,
            attempts,
            attempt_durations,
            plugins,
            pending,
            attempts_per_pod,
        }))
    }
}

impl Metrics {
    pub(crate) fn record_attempt(&self, profile: &str, result: AttemptResult, duration: Duration) {
        let labels = AttemptLabels {
            profile: profile.to_owned(),
            result: result.as_str(),
        };
        self.0.attempts.get_or_create(&labels).inc();
        let histogram = self.0.attempt_durations.get_or_create(&labels);
        histogram.observe(duration.as_secs_f64());
    }

    pub(crate) fn record_scheduled(&self, attempts: u32) {
        self.0.attempts_per_pod.observe(attempts.into());
    }

    /// Records one call of the VolumeBinding plugin for all nodes of a scheduling attempt.
    pub(crate) fn record_plugin_call(&self, point: ExtensionPoint, succeeded: bool, duration: Duration) {
        let labels = PluginLabels {
            plugin: PLUGIN,
            extension_point: point.as_str(),
            status: if succeeded { "Success" } else { "Unschedulable" },
        };
        self.0
            .plugins
            .get_or_create(&labels)
            .observe(duration.as_secs_f64());
    }

    pub(crate) fn set_pending(&self, pending: Pending) {
        // The number of gated pods is always 0: pods with scheduling gates are not queued.
        let numbers = [
            ("active", pending.active),
            ("backoff", pending.backoff),
            ("unschedulable", pending.unschedulable),
            ("gated", 0),
        ];
        for (queue, number) in numbers {
            let gauge = self.0.pending.get_or_create_owned(&QueueLabels { queue });
            gauge.set(i64::try_from(number).unwrap_or(i64::MAX));
        }
    }

    /// All metrics in OpenMetrics text format.
    pub fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.0.registry);
        text
    }

    fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (code, body) = match (request.method(), request.uri().path()) {
            (&Method::GET, "/metrics") => (StatusCode::OK, self.text()),
            (&Method::GET, _) => (StatusCode::NOT_FOUND, "not found: use GET /metrics\n".to_owned()),
            _ => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method not allowed: use GET\n".to_owned(),
            ),
        };
        let mut response = Response::new(Full::from(body));
        *response.status_mut() = code;
        if code == StatusCode::OK {
            response
                .headers_mut()
                .insert(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS_TYPE));
        }
        response
    }
}

/// Serves `/metrics` on every connection until the stream ends.
pub async fn serve_metrics(metrics: Metrics, connections: Connections) {
    let respond = move |request: Request<Incoming>| std::future::ready(metrics.respond(&request));
    listen::serve_connections(connections, respond).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_have_the_names_of_kube_scheduler() {
        let metrics = Metrics::default();
        let duration = Duration::from_millis(3);
        metrics.record_attempt("default-scheduler", AttemptResult::Unschedulable, duration);
        metrics.record_attempt("default-scheduler", AttemptResult::Scheduled, duration);
        metrics.record_scheduled(2);
        metrics.record_plugin_call(ExtensionPoint::Score, true, duration);
        metrics.set_pending(Pending {
            unschedulable: 1,
            ..Pending::default()
        });
        let text = metrics.text();
        for line in [
            "# TYPE scheduler_schedule_attempts counter",
            "scheduler_schedule_attempts_total{profile=\"default-scheduler\",result=\"unschedulable\"} 1",
            "scheduler_scheduling_attempt_duration_seconds_count{profile=\"default-scheduler\",result=\"scheduled\"} 1",
            "scheduler_plugin_execution_duration_seconds_count{plugin=\"VolumeBinding\",extension_point=\"Score\",status=\"Success\"} 1",
            "scheduler_pending_pods{queue=\"unschedulable\"} 1",
            "scheduler_pending_pods{queue=\"gated\"} 0",
            "scheduler_pod_scheduling_attempts_bucket{le=\"2.0\"} 1",
        ] {
            assert!(
                text.lines().any(|found| found == line),
                "{line} is not in\n{text}"
            );
        }
    }
}
