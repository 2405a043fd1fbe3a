//! Rows of wanted against got, and what a CSIStorageCapacity says as one. Knows no expectation.

use capacity_types::CapacityValues;
use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL};
use serde_json::Value;

use crate::cluster_state::ClusterState;
use crate::plan::Case;
use crate::scenario::Speaker;

/// How one row of an expectation compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// As wanted.
    Same,
    /// Wanted, and not there.
    Missing,
    /// There, and not wanted.
    Extra,
    /// There, with another value.
    Differs,
}

/// What a row is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The published capacity of a storage class at a topology segment.
    Capacity {
        /// The storage class.
        class: String,
        /// The segment, as cases write it.
        segment: String,
    },
    /// A pod.
    Pod(String),
    /// A PersistentVolumeClaim.
    Claim(String),
    /// A figure of an answer of the driver.
    Answer {
        /// The case's name for the answer.
        answer: String,
        /// The figure.
        figure: String,
    },
    /// A resource that the API server may serve.
    Resource(String),
    /// A sum of series in the metrics of a role, or of the API server.
    Metric {
        /// Whose metrics.
        of: Speaker,
        /// The series that are added up.
        series: String,
    },
    /// An object of any kind.
    Object {
        /// Plural resource name.
        resource: String,
        /// Its name.
        name: String,
    },
    /// How many objects there are of those that an expectation selects.
    Number {
        /// Place of the expectation in its list.
        of: usize,
        /// The selection in words.
        selection: String,
    },
}

impl Subject {
    /// The subject as the columns of a table.
    pub fn cells(&self) -> Vec<String> {
        match self {
            Subject::Capacity { class, segment } => vec![class.clone(), segment.clone()],
            Subject::Pod(name) => vec![format!("pod {name}")],
            Subject::Claim(name) => vec![format!("claim {name}")],
            Subject::Answer { answer, figure } => vec![answer.clone(), figure.clone()],
            Subject::Resource(name) => vec![name.clone(), "(versions)".to_owned()],
            Subject::Metric { of, series } => vec![of.as_str().to_owned(), series.clone()],
            Subject::Object { resource, name } => vec![format!("{resource} {name}")],
            Subject::Number { selection, .. } => vec![selection.clone(), "(number)".to_owned()],
        }
    }
}

/// One row of wanted against got.
#[derive(Debug, Clone)]
pub struct DiffRow {
    /// How they compare.
    pub state: RowState,
    /// What the row is about.
    pub subject: Subject,
    /// Wanted, in words.
    pub want: String,
    /// Got, in words.
    pub got: String,
}

/// The values of a CSIStorageCapacity.
pub(crate) fn values_of(object: &Value) -> CapacityValues {
    CapacityValues::parse(object["capacity"].as_str(), object["maximumVolumeSize"].as_str())
}

/// Whether an object is the publisher's: by its labels, or because it made it. That the labels are missing is a finding.
pub(crate) fn is_managed(case: &Case, cluster: &ClusterState, object: &Value) -> bool {
    is_labelled(case, object) || cluster.is_made_by_publisher(object)
}

/// Whether the labels say that the object is of a publisher of the case's driver, perhaps of an earlier life of it.
pub(crate) fn is_labelled(case: &Case, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[DRIVER_LABEL] == case.driver.name.as_str() && labels[MANAGED_BY_LABEL].is_string()
}

/// Class and segment of a capacity object.
pub(crate) fn row_key(case: &Case, object: &Value) -> (String, String) {
    let class = object["storageClassName"].as_str().unwrap_or_default().to_owned();
    (class, case.segments.format_topology(object.get("nodeTopology")))
}
