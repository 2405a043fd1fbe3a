//! State predicates over a [`ClusterState`]: are they true, and if not, all the differences as rows.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::objects;
use super::rows::{DiffRow, Offer, RowState, Subject, format_offer, format_row, is_managed, row_key};
use crate::cluster_state::ClusterState;
use crate::plan::{Place, Plan, Predicate, Row, Rows, WORKLOADS};
use crate::scenario::ClaimState;

/// Evaluates a state predicate. Returns a row for each thing it speaks about; all [`RowState::Same`] means true.
pub(super) fn evaluate(plan: &Plan, cluster: &ClusterState, predicate: &Predicate) -> Vec<DiffRow> {
    match predicate {
        Predicate::Capacities(rows) => capacities(plan, cluster, rows),
        Predicate::Placement(pods) => pods
            .iter()
            .map(|(pod, place)| placement(cluster, pod, place))
            .collect(),
        Predicate::Claims(claims) => claims
            .iter()
            .map(|(claim, want)| claim_row(cluster, claim, *want))
            .collect(),
        Predicate::Objects(list) => list
            .iter()
            .enumerate()
            .flat_map(|(at, want)| objects::rows(cluster, at, want))
            .collect(),
        Predicate::Answers(wanted) => super::answers::rows(plan, cluster, wanted),
        Predicate::Served(wanted) => super::served::rows(cluster, wanted),
        Predicate::Metrics(list) => super::metrics::rows(cluster, list),
        Predicate::Refusal(pods) => pods
            .iter()
            .map(|(pod, text)| refusal(cluster, pod, text))
            .collect(),
        // What the specification demands is known where its world is followed.
        Predicate::Never { .. }
        | Predicate::Count(_)
        | Predicate::Order(_)
        | Predicate::Ends(_)
        | Predicate::Specification => Vec::new(),
    }
}

/// Whether a state predicate is true.
pub(super) fn is_true(plan: &Plan, cluster: &ClusterState, predicate: &Predicate) -> bool {
    match predicate {
        // A cluster with more objects than can be wanted needs no comparison: there may be thousands.
        Predicate::Capacities(rows) if published(plan, cluster, rows).nth(rows.len()).is_some() => false,
        _ => holds(&evaluate(plan, cluster, predicate)),
    }
}

/// Whether all rows are as wanted.
pub(super) fn holds(rows: &[DiffRow]) -> bool {
    rows.iter().all(|row| row.state == RowState::Same)
}

/// The objects of the case's publisher. KEP-1472 leaves open whether classes with immediate binding have any: theirs count only where the
/// publisher is set to publish them, or the expectation names the class.
fn published<'w>(
    plan: &'w Plan,
    cluster: &'w ClusterState,
    want: &'w Rows,
) -> impl Iterator<Item = &'w Value> {
    let is_open = |class: &str| {
        let class_object = cluster.object("storageclasses", None, class);
        let binding = class_object.and_then(|object| object["volumeBindingMode"].as_str());
        binding == Some("Immediate") && !want.keys().any(|(named, _)| named == class)
    };
    let may_be_open = !plan.publisher.immediate;
    cluster
        .objects("csistoragecapacities")
        .map(|(_, object)| &**object)
        .filter(move |object| {
            is_managed(plan, cluster, object)
                && !(may_be_open && object["storageClassName"].as_str().is_some_and(is_open))
        })
}

fn capacities(plan: &Plan, cluster: &ClusterState, want: &Rows) -> Vec<DiffRow> {
    let mut got: BTreeMap<(String, String), Vec<Offer>> = BTreeMap::new();
    for object in published(plan, cluster, want) {
        got.entry(row_key(plan, object))
            .or_default()
            .push(Offer::of(object));
    }
    let keys: BTreeSet<_> = want.keys().chain(got.keys()).cloned().collect();
    let mut rows = Vec::new();
    for key in keys {
        let offers = got.get(&key).map(Vec::as_slice).unwrap_or_default();
        rows.extend(capacity_rows(key.clone(), want.get(&key), offers));
    }
    rows
}

/// Rows for one class and segment: the first object is compared, each further one is extra.
fn capacity_rows(key: (String, String), want: Option<&Row>, got: &[Offer]) -> Vec<DiffRow> {
    let subject = Subject::Capacity {
        class: key.0,
        segment: key.1,
    };
    let row = |state, want: String, got: String| DiffRow {
        state,
        subject: subject.clone(),
        want,
        got,
    };
    let mut rows = Vec::new();
    match (want, got.first()) {
        (Some(want), None) if *want == Row::Nothing => {
            rows.push(row(RowState::Same, format_row(*want), "-".into()));
        }
        (Some(want), None) => rows.push(row(RowState::Missing, format_row(*want), "-".into())),
        (Some(want), Some(offer)) => {
            let state = if matches(*want, *offer) {
                RowState::Same
            } else {
                RowState::Differs
            };
            rows.push(row(state, format_row(*want), format_offer(*offer)));
        }
        (None, _) => {}
    }
    let surplus = got.iter().skip(usize::from(want.is_some()));
    rows.extend(surplus.map(|offer| row(RowState::Extra, "-".into(), format_offer(*offer))));
    rows
}

fn matches(want: Row, got: Offer) -> bool {
    match want {
        Row::Nothing => got.is_nothing(),
        Row::Values { capacity, maximum } => (capacity, maximum) == (got.capacity, got.maximum),
    }
}

/// The node a pod is on.
pub(super) fn node_of(cluster: &ClusterState, pod: &str) -> Option<String> {
    let node = cluster.object("pods", Some(WORKLOADS), pod)?["spec"]["nodeName"].as_str()?;
    (!node.is_empty()).then(|| node.to_owned())
}

fn placement(cluster: &ClusterState, pod: &str, want: &Place) -> DiffRow {
    let node = node_of(cluster, pod);
    let refusal = cluster.refusal(pod);
    let got = match (&node, refusal) {
        (Some(node), _) => node.clone(),
        (None, Some(_)) => "refused".to_owned(),
        (None, None) => "undecided".to_owned(),
    };
    let holds = match want {
        Place::Refused => node.is_none() && refusal.is_some(),
        Place::On(_) | Place::Anywhere => node.as_ref().is_some_and(|node| want.allows(node)),
    };
    let state = match (holds, node.is_some() || refusal.is_some()) {
        (true, _) => RowState::Same,
        (false, true) => RowState::Differs,
        (false, false) => RowState::Missing,
    };
    DiffRow {
        state,
        subject: Subject::Pod(pod.to_owned()),
        want: format_place(want),
        got,
    }
}

/// Where a pod is wanted, in words.
pub(super) fn format_place(want: &Place) -> String {
    match want {
        Place::On(nodes) => nodes.join(" or "),
        Place::Anywhere => "any node".to_owned(),
        Place::Refused => "refused".to_owned(),
    }
}

fn claim_row(cluster: &ClusterState, name: &str, want: ClaimState) -> DiffRow {
    let got = match cluster.object("persistentvolumeclaims", Some(WORKLOADS), name) {
        None => ClaimState::Absent,
        Some(claim) if claim["status"]["phase"] == "Bound" => ClaimState::Bound,
        Some(_) => ClaimState::Pending,
    };
    let format = |state: ClaimState| format!("{state:?}").to_lowercase();
    let state = if got == want {
        RowState::Same
    } else {
        RowState::Differs
    };
    DiffRow {
        state,
        subject: Subject::Claim(name.to_owned()),
        want: format(want),
        got: format(got),
    }
}

fn refusal(cluster: &ClusterState, pod: &str, want: &str) -> DiffRow {
    let said = cluster.refusal(pod).map(|refusal| refusal.text.clone());
    let (state, got) = match (node_of(cluster, pod), said) {
        // What was said before is history.
        (Some(node), _) => (RowState::Differs, format!("placed on {node}")),
        (None, Some(text)) if text.contains(want) => (RowState::Same, text),
        (None, Some(text)) => (RowState::Differs, text),
        (None, None) => (RowState::Missing, "no refusal".to_owned()),
    };
    DiffRow {
        state,
        subject: Subject::Pod(pod.to_owned()),
        want: want.to_owned(),
        got,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_absent_unset_or_zero() {
        let key = ("c".to_owned(), "n1".to_owned());
        let row = |offers: &[Offer]| capacity_rows(key.clone(), Some(&Row::Nothing), offers)[0].state;
        assert_eq!(row(&[]), RowState::Same);
        assert_eq!(
            row(&[Offer {
                capacity: None,
                maximum: None
            }]),
            RowState::Same
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(0),
                maximum: None
            }]),
            RowState::Same
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(1),
                maximum: None
            }]),
            RowState::Differs
        );
        assert_eq!(
            row(&[Offer {
                capacity: Some(0),
                maximum: Some(1)
            }]),
            RowState::Differs
        );
    }

    #[test]
    fn a_second_object_for_a_row_is_extra() {
        let offer = Offer {
            capacity: Some(5),
            maximum: None,
        };
        let want = Row::Values {
            capacity: Some(5),
            maximum: None,
        };
        let rows = capacity_rows(("c".to_owned(), "n1".to_owned()), Some(&want), &[offer, offer]);
        assert_eq!(
            rows.iter().map(|row| row.state).collect::<Vec<_>>(),
            [RowState::Same, RowState::Extra]
        );
    }
}
