//! Rows of wanted against got, and what a CSIStorageCapacity says as one. Knows no expectation.

use fake_apiserver::quantity::Quantity;
use serde_json::Value;

use crate::bytes::format_bytes;
use crate::cluster_state::ClusterState;
use crate::plan::{DRIVER_LABEL, MANAGED_LABEL, Plan, Row};

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

/// One row of wanted against got.
#[derive(Debug, Clone)]
pub struct DiffRow {
    /// How they compare.
    pub state: RowState,
    /// What the row is about: class and segment, pod, claim or object.
    pub subject: Vec<String>,
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
                .map(|quantity| quantity.ceil())
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
