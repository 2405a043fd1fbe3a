//! What metrics say, against what sums of series must be. Knows no metric by its name.

use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::journal::{MetricsFact, Reading};
use crate::plan::Metric;
use crate::scenario::{Role, Speaker};

/// A row for each sum.
pub(super) fn rows(cluster: &ClusterState, wanted: &[Metric]) -> Vec<DiffRow> {
    let metrics = cluster.metrics().map(|(_, metrics)| metrics);
    wanted.iter().map(|metric| row(metrics, metric)).collect()
}

fn row(metrics: Option<&MetricsFact>, wanted: &Metric) -> DiffRow {
    let of = wanted.of;
    let is_read = metrics.is_some_and(|metrics| {
        let mut readings = readings(metrics, of).peekable();
        readings.peek().is_some() && readings.all(|reading| reading.error.is_none())
    });
    let sum = metrics.and_then(|metrics| sum(metrics, wanted));
    let state = match (is_read && wanted.want.hold(sum), sum) {
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

/// The sum over all series that are meant, of all instances; none: there is none.
fn sum(metrics: &MetricsFact, wanted: &Metric) -> Option<f64> {
    let samples = readings(metrics, wanted.of).flat_map(|reading| &reading.samples);
    let meant = samples.filter(|sample| wanted.series.means(&sample.series));
    meant
        .map(|sample| sample.value)
        .fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

fn readings(metrics: &MetricsFact, of: Speaker) -> impl Iterator<Item = &Reading> {
    let readings = metrics.readings.iter();
    readings.filter(move |reading| Role::of_client(&reading.client) == of.role())
}

/// Why a series is not there, as far as the reading shows.
pub(super) fn instead(metrics: &MetricsFact, of: Speaker) -> String {
    let readings: Vec<&Reading> = readings(metrics, of).collect();
    let error = readings.iter().find_map(|reading| reading.error.clone());
    let told: usize = readings.iter().map(|reading| reading.told).sum();
    match (readings.len(), error) {
        (0, _) => "nobody runs who could be asked".to_owned(),
        (_, Some(error)) => error,
        (_, None) => format!("none of the {told} series that it tells is meant"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::scenario::{Amounts, FromShort};

    fn wanted(series: &str, want: &str) -> Metric {
        Metric {
            of: Speaker::Publisher,
            series: series.to_owned().try_into().expect("a series"),
            want: Amounts::from_short(want).expect("an amount"),
        }
    }

    #[test]
    fn series_and_instances_are_added_up_and_an_error_is_no_zero() {
        let mut metrics: MetricsFact = serde_json::from_value(json!({"readings": [
            {"client": "publisher@n1", "told": 9, "samples": [{"series": "goal{node=\"n1\"}", "value": 2.0}]},
            {"client": "publisher@n2", "told": 9, "samples": [{"series": "goal{node=\"n2\"}", "value": 3.0}]},
            {"client": "server", "told": 9, "samples": [{"series": "goal", "value": 100.0}]},
        ]}))
        .expect("it is a fact");
        let state =
            |metrics: &MetricsFact, series: &str, want: &str| row(Some(metrics), &wanted(series, want)).state;
        assert_eq!(state(&metrics, "goal", "5"), RowState::Same);
        assert_eq!(state(&metrics, "goal{node=\"n1\"}", "2"), RowState::Same);
        assert_eq!(state(&metrics, "goal", "6"), RowState::Differs);
        assert_eq!(state(&metrics, "depth", "0"), RowState::Missing);
        assert_eq!(state(&metrics, "depth", "absent"), RowState::Same);
        assert_eq!(
            instead(&metrics, Speaker::Publisher),
            "none of the 18 series that it tells is meant"
        );
        metrics.readings[0].error = Some("refused".to_owned());
        assert_eq!(state(&metrics, "depth", "absent"), RowState::Missing);
        assert_eq!(row(None, &wanted("depth", "absent")).state, RowState::Missing);
        assert_eq!(instead(&metrics, Speaker::Publisher), "refused");
    }
}
