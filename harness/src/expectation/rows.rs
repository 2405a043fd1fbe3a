//! Rows of expected and actual values, and how a CSIStorageCapacity becomes a row. Does not know any particular expectation.

use capacity_types::{CapacityValues, DRIVER_LABEL, MANAGED_BY_LABEL};
use serde_json::Value;

use crate::cluster_state::ClusterState;
use crate::plan::Case;
use crate::scenario::MetricsSource;

/// Result of comparing one row of expected and actual values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowState {
    /// The actual value is the expected one.
    Same,
    /// The object or value is expected, but does not exist.
    Missing,
    /// The object or value exists, but is not expected.
    Extra,
    /// The object exists with another value.
    Differs,
}

/// The object or value that a row compares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// The published capacity of a storage class at a topology segment.
    Capacity {
        /// The storage class.
        class: String,
        /// The segment, as spelled in cases.
        segment: String,
    },
    /// The node of a pod.
    Pod(String),
    /// The phase of a PersistentVolumeClaim.
    Claim(String),
    /// A field of a driver response.
    ResponseField {
        /// The response's name in the case.
        response: String,
        /// Name of the field.
        field: String,
    },
    /// The served API versions of a resource.
    Resource(String),
    /// A sum of series in the metrics of a role, or of the API server.
    Metric {
        /// The component that exposes the metrics.
        of: MetricsSource,
        /// The series that are added up.
        series: String,
    },
    /// An object of any resource.
    Object {
        /// Plural resource name.
        resource: String,
        /// metadata.name.
        name: String,
    },
    /// The number of objects that an expectation selects.
    Number {
        /// Index of the `objects` expectation's item that selects the objects.
        of: usize,
        /// The selected resource and fields as text.
        selection: String,
    },
}

impl Subject {
    /// The table columns that identify the compared object or value.
    pub fn cells(&self) -> Vec<String> {
        match self {
            Subject::Capacity { class, segment } => vec![class.clone(), segment.clone()],
            Subject::Pod(name) => vec![format!("pod {name}")],
            Subject::Claim(name) => vec![format!("claim {name}")],
            Subject::ResponseField { response, field } => vec![response.clone(), field.clone()],
            Subject::Resource(name) => vec![name.clone(), "(versions)".to_owned()],
            Subject::Metric { of, series } => vec![of.as_str().to_owned(), series.clone()],
            Subject::Object { resource, name } => vec![format!("{resource} {name}")],
            Subject::Number { selection, .. } => vec![selection.clone(), "(number)".to_owned()],
        }
    }
}

/// One row of expected and actual values.
#[derive(Debug, Clone)]
pub struct DiffRow {
    /// Whether the expected and actual values are equal, or how they differ.
    pub state: RowState,
    /// The object or value that the row compares.
    pub subject: Subject,
    /// Expected value as text.
    pub want: String,
    /// Actual value as text.
    pub got: String,
}

/// `capacity` and `maximumVolumeSize` of a CSIStorageCapacity.
pub(crate) fn values_of(object: &Value) -> CapacityValues {
    CapacityValues::parse(object["capacity"].as_str(), object["maximumVolumeSize"].as_str())
}

/// Whether the object belongs to the case's publisher: its labels name the publisher, or the publisher created it without labels (which is
/// a finding).
pub(crate) fn is_managed(case: &Case, cluster: &ClusterState, object: &Value) -> bool {
    is_labelled(case, object) || cluster.is_made_by_publisher(object)
}

/// Whether the labels of the object name the case's driver and publisher. An earlier publisher instance may have created the object.
pub(crate) fn is_labelled(case: &Case, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[DRIVER_LABEL] == case.driver.name.as_str() && labels[MANAGED_BY_LABEL].is_string()
}

/// StorageClass and topology segment of a CSIStorageCapacity.
pub(crate) fn row_key(case: &Case, object: &Value) -> (String, String) {
    let class = object["storageClassName"].as_str().unwrap_or_default().to_owned();
    (class, case.segments.format_topology(object.get("nodeTopology")))
}
