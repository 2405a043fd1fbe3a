//! Rows of wanted against got, and what a CSIStorageCapacity says as one. Knows no expectation.

use capacity_types::quantity::format_bytes;
use capacity_types::{Arithmetic, Quantity};
use serde_json::Value;

use crate::cluster_state::ClusterState;
use crate::plan::{DRIVER_LABEL, MANAGED_LABEL, Plan, Row};
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

/// What a published object offers, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) capacity: Option<i128>,
    pub(crate) maximum: Option<i128>,
}

impl Offer {
    pub(crate) fn of(object: &Value) -> Self {
        let bytes = |key: &str| {
            object[key]
                .as_str()?
                .parse::<Quantity>()
                .ok()
                .map(|quantity| quantity.bytes(Arithmetic::Exact))
        };
        Offer {
            capacity: bytes("capacity"),
            maximum: bytes("maximumVolumeSize"),
        }
    }

    /// KEP-1472: absent, unset and zero say the same; the maximum decides where it is set.
    pub(super) fn is_nothing(self) -> bool {
        self.maximum.or(self.capacity).unwrap_or(0) <= 0
    }
}

/// Whether an object is the publisher's: by its labels, or because it made it. That the labels are missing is a finding.
pub(super) fn is_managed(plan: &Plan, cluster: &ClusterState, object: &Value) -> bool {
    is_labelled(plan, object) || cluster.is_made_by_publisher(object)
}

/// Whether the labels say that the object is of a publisher of the case's driver, perhaps of an earlier life of it.
pub(super) fn is_labelled(plan: &Plan, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    labels[DRIVER_LABEL] == plan.driver.name.as_str() && labels[MANAGED_LABEL].is_string()
}

/// Class and segment of a capacity object.
pub(crate) fn row_key(plan: &Plan, object: &Value) -> (String, String) {
    let class = object["storageClassName"].as_str().unwrap_or_default().to_owned();
    (class, plan.segments.format_topology(object.get("nodeTopology")))
}

pub(super) fn format_row(row: Row) -> String {
    match row {
        Row::Nothing => "nothing".to_owned(),
        Row::Values { capacity, maximum } => format_offer(Offer { capacity, maximum }),
    }
}

pub(crate) fn format_offer(offer: Offer) -> String {
    let format = |bytes: Option<i128>| bytes.map_or_else(|| "unset".to_owned(), format_bytes);
    match offer.maximum {
        Some(maximum) => format!("{} (maximum {})", format(offer.capacity), format_bytes(maximum)),
        None => format(offer.capacity),
    }
}
