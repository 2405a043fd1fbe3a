//! The `objects` expectation: the fields or the number of objects of any resource.

use capacity_types::capacity_api::RESOURCE;
use fake_apiserver::ResourceRef;
use serde::Deserialize;
use serde_json::Value;

use super::chain::{Chain, Window};
use super::difference::first_difference;
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::journal::{Change, CommitFact};
use crate::plan::Case;

/// Objects that must exist, or must not exist.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Objects(pub Vec<ObjectsOfKind>);

/// Objects of one resource that must exist, or must not exist.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectsOfKind {
    /// Plural resource name, such as `csistoragecapacities`.
    pub resource: String,
    /// metadata.name of the object. Unset: any name.
    pub name: Option<String>,
    /// Selects the objects that contain these fields.
    #[serde(default)]
    pub having: Value,
    /// Fields that each selected object must contain.
    #[serde(default)]
    pub fields: Value,
    /// Exact number of selected objects. Unset: at least one.
    pub count: Option<usize>,
}

impl Objects {
    pub(super) const EXAMPLE: &str = "objects: [{resource: pods, count: 1}]";
    pub(super) const HOLDS: &str = "`name` and `having` select objects: there are `count` of them (unset: at least one), and each contains the `fields`";
}

impl Expectation for Objects {
    fn resolve(&mut self, names: &dyn Names, _: bool) -> Result<(), String> {
        for of in &self.0 {
            names.check_resource(&of.resource)?;
            check_fields(&of.resource, "having", &of.having)?;
            check_fields(&of.resource, "fields", &of.fields)?;
            if of.resource == RESOURCE && of.count != Some(0) {
                names.check_can_have_capacities()?;
            }
        }
        Ok(())
    }

    /// An expectation with `count` is negative, because more objects than `count` must not exist.
    fn is_negative(&self, _: bool) -> bool {
        self.0.iter().any(|of| of.count.is_some())
    }

    fn depends_on(&self, resource: &str) -> bool {
        self.0.iter().any(|of| of.resource == resource)
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let list = self.0.iter().enumerate();
        list.flat_map(|(at, want)| rows(cluster, at, want)).collect()
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        match &row.subject {
            Subject::Number { of, selection } => number_chain(window, self.0.get(*of), selection, row),
            Subject::Object { resource, name } => self.object_chain(window, resource, name, row),
            _ => Chain::default(),
        }
    }
}

impl Objects {
    /// Causal chain for one object: which client deleted the object or wrote the differing value.
    fn object_chain(&self, window: &Window<'_>, resource: &str, name: &str, row: &DiffRow) -> Chain {
        let mut chain = Chain::default();
        let subject = format!("{resource} {name}");
        let is_of_object = |commit: &CommitFact| *commit.resource == *resource && commit.name == name;
        let what = if row.state == RowState::Missing {
            "exists"
        } else {
            "has the expected fields"
        };
        let last = window.last_commit(is_of_object);
        if let Some((fact, commit)) = last {
            if commit.change == Change::Deleted {
                chain.add_proven_link(format!("{subject} was deleted by {}", commit.client), fact);
                chain.add_missing_link(
                    format!("{subject} is retained"),
                    format!("deleted by {}", commit.client),
                );
            } else {
                chain.add_proven_link(format!("{subject} was written by {}", commit.client), fact);
                chain.add_missing_link(format!("{subject} {what}"), format!("got {}", row.got));
            }
        } else {
            let number = self.0.iter().filter(|want| want.resource == resource).count();
            let note = format!("got {} ({number} expectation(s) about {resource})", row.got);
            chain.add_missing_link(format!("{subject} {what}"), note);
        }
        chain
    }
}

fn number_chain(window: &Window<'_>, meant: Option<&ObjectsOfKind>, selection: &str, row: &DiffRow) -> Chain {
    let mut chain = Chain::default();
    let names = meant.map_or_else(Vec::new, |want| selected_names(window.cluster, want));
    let note = match names.as_slice() {
        [] => "there is none".to_owned(),
        names => format!("there are {}: {}", names.len(), names.join(", ")),
    };
    chain.add_missing_link(format!("{} × {selection}", row.want), note);
    chain
}

/// The API objects that an expectation selects by resource, name and `having`.
fn selected<'w>(
    cluster: &'w ClusterState,
    want: &ObjectsOfKind,
) -> impl Iterator<Item = (&'w str, &'w Value)> {
    cluster
        .objects(&want.resource)
        .map(|((_, name), object)| (name.as_str(), &**object))
        .filter(|(name, object)| {
            want.name.as_ref().is_none_or(|wanted| wanted == name)
                && first_difference(&want.resource, &want.having, object).is_none()
        })
}

fn selected_names(cluster: &ClusterState, want: &ObjectsOfKind) -> Vec<String> {
    selected(cluster, want).map(|(name, _)| name.to_owned()).collect()
}

/// Formats the resource and the `having` fields of an expectation.
fn format_selection(want: &ObjectsOfKind) -> String {
    let mut fields = Vec::new();
    collect_leaves("", &want.having, &mut fields);
    match fields.is_empty() {
        true => want.resource.clone(),
        false => format!("{} with {}", want.resource, fields.join(" and ")),
    }
}

fn collect_leaves(path: &str, value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                collect_leaves(&format!("{path}.{key}"), value, found);
            }
        }
        Value::Null if path.is_empty() => {}
        _ => found.push(format!("{path} {value}")),
    }
}

/// One row for each selected API object, and one row for a wrong number of objects. `at`: index of the expectation in its list.
fn rows(cluster: &ClusterState, at: usize, want: &ObjectsOfKind) -> Vec<DiffRow> {
    let selected: Vec<_> = selected(cluster, want).collect();
    let subject = |name: &str| Subject::Object {
        resource: want.resource.clone(),
        name: name.to_owned(),
    };
    let has_expected_count = want
        .count
        .map_or(!selected.is_empty(), |count| selected.len() == count);
    let mut rows = Vec::new();
    if !has_expected_count {
        let number = want
            .count
            .map_or_else(|| "at least 1".to_owned(), |count| count.to_string());
        let (state, got) = (RowState::Missing, selected.len().to_string());
        let subject = match &want.name {
            Some(name) => subject(name),
            None => Subject::Number {
                of: at,
                selection: format_selection(want),
            },
        };
        rows.push(DiffRow {
            state,
            subject,
            want: number,
            got,
        });
    }
    for (name, object) in selected {
        let difference = first_difference(&want.resource, &want.fields, object);
        let state = if difference.is_none() {
            RowState::Same
        } else {
            RowState::Differs
        };
        let (want, got) = difference.unwrap_or_else(|| ("as wanted".to_owned(), "as wanted".to_owned()));
        rows.push(DiffRow {
            state,
            subject: subject(name),
            want,
            got,
        });
    }
    rows
}

/// Checks that the resource has the fields named in `having` or `fields`. `null` (absence) is accepted for any field.
pub(crate) fn check_fields(resource: &str, key: &str, part: &Value) -> Result<(), String> {
    if part.is_null() {
        return Ok(());
    }
    if !part.is_object() {
        return Err(format!(
            "`{key}` is a map of fields, such as {{storageClassName: fast}}, not {part}"
        ));
    }
    let unknown = ResourceRef::unknown_fields(resource, &without_nulls(part));
    let unknown = unknown.map_err(|error| format!("`{key}` can never match: {error}"))?;
    match unknown.first() {
        Some(path) => Err(format!(
            "`{key}`: {resource} have no field `{path}`; correct the field, or write `null` for its absence"
        )),
        None => Ok(()),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        Value::Array(list) => list.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}
