//! Health indicators: whether CSIStorageCapacity objects cause more load on the API server than polling explains.

use super::{Indicator, ObservedCluster, Question, Requests, State, bad_if};

/// Tolerated changes per object and minute: one for polling, because external-provisioner polls once a minute, and one for created and
/// deleted volumes.
const CHANGES: f64 = 2.0;

/// Tolerated creations per object and minute, not counting an object's first creation. Polling updates objects instead of creating them
/// again, so creations after the first are tolerated only for added and removed nodes.
const REPLACEMENTS: f64 = 0.2;

/// Tolerated fraction of requests for CSIStorageCapacity objects that fail.
const FAILURES: f64 = 0.05;

/// Indicators for changes per object, recreated objects and failed requests.
pub(super) fn indicators(observed: &ObservedCluster<'_>) -> Vec<Indicator> {
    let indicator = |(state, message)| Indicator::new(Question::Load, "API server", state, message);
    let Some(requests) = observed.reported.requests else {
        let message = "the metrics of the API server were not read".to_owned();
        return vec![indicator((State::Unknown, message))];
    };
    let objects = observed.inventory.snapshot.capacities.len();
    // The first creation of each existing object is no replacement. The counters include requests for deleted objects, so the divisor is
    // at least one object.
    let replaced = (requests.creations - f64::from(u32::try_from(objects).unwrap_or(u32::MAX))).max(0.0);
    let per_object_and_minute = |number: f64| {
        let minutes = requests.over.filter(|over| !over.is_zero())?.as_secs_f64() / 60.0;
        Some(number / minutes / u32::try_from(objects.max(1)).map_or(f64::INFINITY, f64::from))
    };
    let rate_indicator = |what: String, number: f64, limit: f64| match per_object_and_minute(number) {
        Some(rate) => {
            let message = format!(
                "{rate:.2} {what} per object and minute ({objects} objects); more than {limit} are unusual"
            );
            (bad_if(rate > limit), message)
        }
        None => {
            let message = format!("{number} {what} of {objects} capacity objects in an unknown period");
            (State::Unknown, message)
        }
    };
    let deleted = format!(
        "replacements ({} created, {} deleted)",
        requests.creations, requests.deletions
    );
    vec![
        indicator(rate_indicator(
            "changes".to_owned(),
            requests.updates + requests.deletions + replaced,
            CHANGES,
        )),
        indicator(rate_indicator(deleted, replaced, REPLACEMENTS)),
        indicator(failure_indicator(requests)),
    ]
}

fn failure_indicator(requests: Requests) -> (State, String) {
    let message = format!(
        "{} of {} requests failed with status 429 or 5xx",
        requests.failed, requests.all
    );
    (bad_if(requests.failed > requests.all * FAILURES), message)
}
