//! Which metrics a case reads, over all its steps.

use std::collections::BTreeSet;

use super::{Plan, Step};
use crate::expectation::{Metric, Predicate};
use crate::scenario::{ClusterSpec, MetricsSource};

pub(super) fn specified_metrics(cluster: &ClusterSpec) -> BTreeSet<&'static str> {
    let names = capacity_spec::metrics::NAMES.into_iter();
    names.filter(|_| cluster.metrics).collect()
}

fn metrics_of(step: &Step) -> impl Iterator<Item = &Metric> {
    let lists = step.expect.iter().filter_map(|expect| match &expect.predicate {
        Predicate::Metrics(metrics) => Some(&metrics.0),
        _ => None,
    });
    lists.flatten()
}

impl Plan {
    /// Expectations about metrics in all steps of the case.
    pub fn metrics(&self) -> impl Iterator<Item = &Metric> {
        self.steps.iter().flat_map(metrics_of)
    }

    /// Whether the case reads the metrics of this component.
    pub fn reads_metrics_of(&self, source: MetricsSource) -> bool {
        self.metrics_sources().contains(&source)
    }

    pub(crate) fn metrics_sources(&self) -> BTreeSet<MetricsSource> {
        let is_specified = |source: &MetricsSource| {
            !self.specified_metrics.is_empty() && source.role().is_none_or(|role| self.roles.contains(&role))
        };
        let specified = [
            MetricsSource::Publisher,
            MetricsSource::Scheduler,
            MetricsSource::Server,
        ]
        .into_iter();
        let named = self.metrics().map(|metric| metric.of);
        specified.filter(is_specified).chain(named).collect()
    }

    /// Names of the metrics that the case reads. Other metrics are not stored.
    pub(crate) fn metric_names(&self) -> BTreeSet<&str> {
        let named = self.metrics().map(|metric| metric.series.name.as_str());
        named.chain(self.specified_metrics.iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::plan::resolve;
    use crate::scenario::parse;

    #[test]
    fn unreadable_metrics_are_rejected_with_their_file_position() {
        let error = |metrics: Value| {
            let expect = json!([{"metrics": metrics, "why": "w"}]);
            let text = json!({"id": "publisher/b", "title": "t", "steps": [{"id": "s", "expect": expect}]});
            let cases = parse("f.yaml", &text.to_string());
            let error = cases
                .and_then(|cases| resolve(&cases[0]))
                .expect_err("unreadable metrics");
            error.to_string()
        };
        for (metrics, words) in [
            (json!({"scheduler": {"a": 1}}), "add it to `cluster.roles`"),
            (json!({"publisher": {}}), "names no series"),
            (json!({"publisher": {"a{b}": 1}}), "names no series; write a name"),
            (
                json!({"publisher": {"a": "lots"}}),
                "is not a number or comparison; write a number",
            ),
            (json!({"driver": {"a": 1}}), "cleaner, server"),
        ] {
            let error = error(metrics);
            assert!(error.starts_with("f.yaml:1:") && error.contains(words), "{error}");
        }
    }
}
