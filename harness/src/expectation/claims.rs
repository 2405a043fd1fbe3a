//! The `claims` expectation: the phase of PersistentVolumeClaims.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::plan::{Case, WORKLOADS};
use capacity_types::pod::claims_of;

/// Expected PVC states, by PVC name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Claims(pub BTreeMap<String, ClaimState>);

/// Expected state of a PVC: bound, not bound, or absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ClaimState {
    /// `status.phase` is `Bound`.
    Bound,
    /// The PVC exists and is not bound.
    Pending,
    /// The PVC does not exist.
    Absent,
}

impl Claims {
    pub(super) const EXAMPLE: &str = "claims: {CLAIM: bound}";
    pub(super) const HOLDS: &str =
        "the PVC is `bound`, is `pending` (it exists and is not bound), or is `absent`";
}

impl Expectation for Claims {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        self.0.keys().try_for_each(|claim| names.check_claim(claim))
    }

    fn is_negative(&self, _: bool) -> bool {
        self.0.values().any(|state| *state != ClaimState::Bound)
    }

    fn negative_pods(&self, cluster: &ClusterState) -> Option<Vec<String>> {
        let is_unbound = |name: &String| self.0.get(name).is_some_and(|want| *want != ClaimState::Bound);
        let pods = cluster.objects("pods");
        let about = pods.filter(|(_, pod)| claims_of(pod).iter().any(is_unbound));
        Some(about.map(|((_, name), _)| name.clone()).collect())
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let rows = self.0.iter().map(|(claim, want)| row(cluster, claim, *want));
        rows.collect()
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        match &row.subject {
            Subject::Claim(claim) => self
                .0
                .get(claim)
                .map_or_else(Chain::default, |want| window.claim_chain(claim, *want, row)),
            _ => Chain::default(),
        }
    }
}

fn row(cluster: &ClusterState, name: &str, want: ClaimState) -> DiffRow {
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
