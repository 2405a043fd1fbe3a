//! In which versions the API server serves resources, against those in which it must.

use std::collections::BTreeMap;

use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::plan::GroupResource;

/// A row for each resource.
pub(super) fn rows(cluster: &ClusterState, wanted: &BTreeMap<GroupResource, Vec<String>>) -> Vec<DiffRow> {
    wanted
        .iter()
        .map(|(resource, versions)| row(cluster, resource, versions))
        .collect()
}

fn row(cluster: &ClusterState, resource: &GroupResource, wanted: &[String]) -> DiffRow {
    let name = resource.to_string();
    let said = cluster.served(&name).map(|(_, said)| said);
    let got = said.and_then(|said| match &said.error {
        Some(_) => None,
        None => Some(said.versions.as_slice()),
    });
    DiffRow {
        state: match got {
            Some(versions) if versions == wanted => RowState::Same,
            Some(_) => RowState::Differs,
            None => RowState::Missing,
        },
        subject: Subject::Resource(name),
        want: words(wanted),
        got: match (got, said.and_then(|said| said.error.as_ref())) {
            (Some(versions), _) => words(versions),
            (None, Some(error)) => error.clone(),
            (None, None) => "-".to_owned(),
        },
    }
}

fn words(versions: &[String]) -> String {
    match versions {
        [] => "none".to_owned(),
        _ => versions.join(", "),
    }
}
