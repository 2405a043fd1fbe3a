//! The `served` expectation: the API versions in which the API server serves resources.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::plan::{Case, GroupResource};

/// Expected API versions by resource, the preferred one first. An empty list means that the server does not serve the resource.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Served(pub BTreeMap<GroupResource, Vec<String>>);

impl Served {
    pub(super) const EXAMPLE: &str = "served: {csistoragecapacities.storage.k8s.io: [v1]}";
    pub(super) const HOLDS: &str =
        "a `discover` action of the step found these API versions, the preferred one first";
}

impl Expectation for Served {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        if self.0.is_empty() {
            return Err("`served` names no resource, so it could not fail; add a resource".to_owned());
        }
        match self.0.keys().find(|resource| !names.discovers(resource)) {
            Some(resource) => Err(format!(
                "the step has no `discover` action for `{resource}`; add `discover: {resource}` to its actions"
            )),
            None => Ok(()),
        }
    }

    fn may_be_always(&self) -> bool {
        false
    }

    fn is_negative(&self, _: bool) -> bool {
        false
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let rows = self
            .0
            .iter()
            .map(|(resource, versions)| row(cluster, resource, versions));
        rows.collect()
    }

    fn is_decided_by_actions(&self) -> bool {
        true
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        let Subject::Resource(resource) = &row.subject else {
            return Chain::default();
        };
        let mut chain = Chain::default();
        let discovery = window.cluster.served(resource);
        let discovery = discovery.and_then(|(seq, _)| window.fact(*seq));
        if chain.add_link(format!("discovery of {resource}"), discovery, "never") {
            chain.add_missing_link(
                format!("{resource} is served as {}", row.want),
                format!("it is {}", row.got),
            );
        }
        chain
    }
}

fn row(cluster: &ClusterState, resource: &GroupResource, wanted: &[String]) -> DiffRow {
    let name = resource.to_string();
    let discovery = cluster.served(&name).map(|(_, discovery)| discovery);
    let got = discovery.and_then(|discovery| match &discovery.error {
        Some(_) => None,
        None => Some(discovery.versions.as_slice()),
    });
    DiffRow {
        state: match got {
            Some(versions) if versions == wanted => RowState::Same,
            Some(_) => RowState::Differs,
            None => RowState::Missing,
        },
        subject: Subject::Resource(name),
        want: format_versions(wanted),
        got: match (got, discovery.and_then(|discovery| discovery.error.as_ref())) {
            (Some(versions), _) => format_versions(versions),
            (None, Some(error)) => error.clone(),
            (None, None) => "-".to_owned(),
        },
    }
}

fn format_versions(versions: &[String]) -> String {
    match versions {
        [] => "none".to_owned(),
        _ => versions.join(", "),
    }
}
