//! Whether CSIStorageCapacity objects keep the API server busy beyond what polling explains.

use super::{Indicator, Observed, Question, Requests, State, good_unless};

/// Changes of each object in a minute. external-provisioner polls once a minute, so that polling alone changes an object once at most; the
/// other one is for volumes that come and go.
const CHANGES: f64 = 2.0;

/// So many failures of all requests are taken for bad luck.
const FAILURES: f64 = 0.05;

/// How many changes there are for each object, and how many requests fail.
pub(super) fn indicators(observed: &Observed<'_>) -> Vec<Indicator> {
    let indicator = |(state, told)| Indicator::new(Question::Load, "API server", state, told);
    let Some(requests) = observed.told.requests else {
        let told = "the server's metrics were not read".to_owned();
        return vec![indicator((State::Unknown, told))];
    };
    let objects = observed.inventory.snapshot.capacities.len();
    vec![
        indicator(changes(requests, objects)),
        indicator(failures(requests)),
    ]
}

fn changes(requests: Requests, objects: usize) -> (State, String) {
    let Some(over) = requests.over.filter(|over| !over.is_zero()) else {
        let told = format!(
            "{} changes of {objects} objects; in which time is not told",
            requests.changes
        );
        return (State::Unknown, told);
    };
    // Of objects that are gone the changes are left, so one is counted where there is none.
    let count = u32::try_from(objects.max(1)).map_or(f64::INFINITY, f64::from);
    let rate = requests.changes * 60.0 / over.as_secs_f64() / count;
    let told = format!(
        "{rate:.2} changes of each of {objects} objects in a minute; more than {CHANGES} are unusual"
    );
    (good_unless(rate > CHANGES), told)
}

fn failures(requests: Requests) -> (State, String) {
    let told = format!(
        "{} of {} requests were answered 429, or 500 and more",
        requests.failed, requests.all
    );
    (good_unless(requests.failed > requests.all * FAILURES), told)
}
