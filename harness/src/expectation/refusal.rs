//! The `refusal` expectation: the message with which the scheduler rejects a pod.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::placement::node_of;
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::plan::Case;

/// Text that the scheduler's rejection message must contain, by pod name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Refusal(pub BTreeMap<String, String>);

impl Refusal {
    pub(super) const EXAMPLE: &str = "refusal: {POD: TEXT}";
    pub(super) const HOLDS: &str =
        "the pod is unschedulable, and the message of its condition contains the text";
}

impl Expectation for Refusal {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        self.0.keys().try_for_each(|pod| names.check_pod(pod))
    }

    /// The scheduler may reject a pod first and assign it later.
    fn is_negative(&self, _: bool) -> bool {
        true
    }

    fn negative_pods(&self, _: &ClusterState) -> Option<Vec<String>> {
        Some(self.0.keys().cloned().collect())
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let rows = self.0.iter().map(|(pod, text)| row(cluster, pod, text));
        rows.collect()
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::Pod(pod) = &row.subject else {
            return Chain::default();
        };
        window.refusal_chain(pod, &row.want, &row.got)
    }
}

fn row(cluster: &ClusterState, pod: &str, want: &str) -> DiffRow {
    let text = cluster
        .scheduling_failure(pod)
        .map(|refusal| refusal.text.clone());
    let (state, got) = match (node_of(cluster, pod), text) {
        // A rejection no longer counts after the pod got a node.
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
