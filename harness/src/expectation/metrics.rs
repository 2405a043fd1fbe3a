//! The `metrics` expectation: sums of series in the metrics of a role or of the API server. Does not know the names of metrics.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::journal::{MetricsFact, Observation, ScrapedMetrics};
use crate::plan::Case;
use crate::scenario::{MetricsSource, Role, Short, SumConditions};
use capacity_types::exposition::Series;

/// The expected sums of metric series. The metrics are scraped once all programs are idle.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<MetricsSource, BTreeMap<Series, Short<SumConditions>>>")]
pub struct Metrics(pub Vec<Metric>);

/// The expected sum of a component's series.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The component that exposes the metrics.
    pub of: MetricsSource,
    /// The series to add up: all series with this name and at least these labels.
    pub series: Series,
    /// Conditions on the sum, of which at least one must hold.
    pub want: SumConditions,
}

impl From<BTreeMap<MetricsSource, BTreeMap<Series, Short<SumConditions>>>> for Metrics {
    fn from(sources: BTreeMap<MetricsSource, BTreeMap<Series, Short<SumConditions>>>) -> Self {
        let list = sources.into_iter().flat_map(|(of, sums)| {
            let metric = move |(series, want): (Series, Short<SumConditions>)| Metric {
                of,
                series,
                want: want.0,
            };
            sums.into_iter().map(metric)
        });
        Metrics(list.collect())
    }
}

impl Metrics {
    pub(super) const EXAMPLE: &str = "metrics: {publisher: {csistoragecapacities_obsolete: 0}}";
    pub(super) const HOLDS: &str =
        "the metrics of a role, or of the API server (`server`), have these values";
}

impl Expectation for Metrics {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("`metrics` names no series, so it could not fail; add a series".to_owned());
        }
        let mut roles = self.0.iter().filter_map(|metric| metric.of.role());
        match roles.find(|role| names.check_runs(*role).is_err()) {
            Some(role) => {
                let role = role.as_str();
                Err(format!(
                    "the expectation reads metrics of the {role}, but no {role} runs in this case; add it to `cluster.roles`"
                ))
            }
            None => Ok(()),
        }
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        self.0.iter().any(|metric| !metric.want.stay_satisfied())
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let metrics = cluster.metrics().map(|(_, metrics)| metrics);
        self.0.iter().map(|metric| row(metrics, metric)).collect()
    }

    fn is_affected_by(&self, what: &Observation) -> bool {
        matches!(what, Observation::Metrics(_))
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::Metric { of, series } = &row.subject else {
            return Chain::default();
        };
        let mut chain = Chain::default();
        let source = of.as_str();
        let metrics = window.cluster.metrics().filter(|(seq, _)| *seq >= window.from);
        let read = metrics.and_then(|(seq, _)| window.fact(*seq));
        if chain.add_link(format!("the metrics of the {source} are read"), read, "never") {
            let note = match metrics {
                Some((_, fact)) if row.state == RowState::Missing => reason_for_no_match(fact, *of),
                _ => format!("it is {}", row.got),
            };
            chain.add_missing_link(format!("{source} {series} is {}", row.want), note);
        }
        chain
    }
}

fn row(metrics: Option<&MetricsFact>, wanted: &Metric) -> DiffRow {
    let of = wanted.of;
    let is_read = metrics.is_some_and(|metrics| {
        let mut readings = readings(metrics, of).peekable();
        readings.peek().is_some() && readings.all(|reading| reading.error.is_none())
    });
    let sum = metrics.and_then(|metrics| sum(metrics, wanted));
    let state = match (is_read && wanted.want.are_satisfied_by(sum), sum) {
        (true, _) => RowState::Same,
        (false, Some(_)) => RowState::Differs,
        (false, None) => RowState::Missing,
    };
    DiffRow {
        state,
        subject: Subject::Metric {
            of,
            series: wanted.series.to_string(),
        },
        want: wanted.want.to_string(),
        got: sum.map_or_else(|| "-".to_owned(), |sum| sum.to_string()),
    }
}

/// Sum of all matching series over all instances of a component. None if no series matches.
fn sum(metrics: &MetricsFact, wanted: &Metric) -> Option<f64> {
    let samples = readings(metrics, wanted.of).flat_map(|reading| &reading.samples);
    let matching = samples.filter(|sample| wanted.series.matches(&sample.series));
    matching
        .map(|sample| sample.value)
        .fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

fn readings(metrics: &MetricsFact, of: MetricsSource) -> impl Iterator<Item = &ScrapedMetrics> {
    let readings = metrics.readings.iter();
    readings.filter(move |reading| Role::of_client(&reading.client) == of.role())
}

fn reason_for_no_match(metrics: &MetricsFact, of: MetricsSource) -> String {
    let readings: Vec<&ScrapedMetrics> = readings(metrics, of).collect();
    let error = readings.iter().find_map(|reading| reading.error.clone());
    let count: usize = readings.iter().map(|reading| reading.series_count).sum();
    match (readings.len(), error) {
        (0, _) => format!("no instance of {} is running", of.as_str()),
        (_, Some(error)) => error,
        (_, None) => format!("none of the {count} series matches"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scenario::FromShort;

    fn wanted(series: &str, want: &str) -> Metric {
        Metric {
            of: MetricsSource::Publisher,
            series: series.to_owned().try_into().expect("valid series"),
            want: SumConditions::from_short(want).expect("valid amount"),
        }
    }

    #[test]
    fn series_of_all_instances_are_summed_and_read_errors_are_not_zero() {
        let mut metrics: MetricsFact = serde_json::from_value(json!({"readings": [
            {"client": "publisher@n1", "told": 9, "samples": [{"series": "goal{node=\"n1\"}", "value": 2.0}]},
            {"client": "publisher@n2", "told": 9, "samples": [{"series": "goal{node=\"n2\"}", "value": 3.0}]},
            {"client": "server", "told": 9, "samples": [{"series": "goal", "value": 100.0}]},
        ]}))
        .expect("valid MetricsFact");
        let state =
            |metrics: &MetricsFact, series: &str, want: &str| row(Some(metrics), &wanted(series, want)).state;
        assert_eq!(state(&metrics, "goal", "5"), RowState::Same);
        assert_eq!(state(&metrics, "goal{node=\"n1\"}", "2"), RowState::Same);
        assert_eq!(state(&metrics, "goal", "6"), RowState::Differs);
        assert_eq!(state(&metrics, "depth", "0"), RowState::Missing);
        assert_eq!(state(&metrics, "depth", "absent"), RowState::Same);
        assert_eq!(
            reason_for_no_match(&metrics, MetricsSource::Publisher),
            "none of the 18 series matches"
        );
        metrics.readings[0].error = Some("refused".to_owned());
        assert_eq!(state(&metrics, "depth", "absent"), RowState::Missing);
        assert_eq!(row(None, &wanted("depth", "absent")).state, RowState::Missing);
        assert_eq!(reason_for_no_match(&metrics, MetricsSource::Publisher), "refused");
    }
}
