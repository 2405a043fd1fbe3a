//! CSIDriver and CSINode: whether a driver tracks capacity, and on which nodes it is registered with which topology keys.

use std::collections::BTreeMap;

use capacity_types::{Labels, Segment, segment};
use serde::Deserialize;

use super::metadata::Metadata;

/// The field of a CSIDriver object that rules use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiDriver {
    /// `spec.storageCapacity`; false if unset (KEP-1472, `CSIDriver.spec.storageCapacity`).
    pub storage_capacity: bool,
}

/// A CSINode: the drivers that are registered on a node, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsiNode {
    /// `spec.drivers`.
    pub drivers: BTreeMap<String, Registration>,
}

/// An entry of `spec.drivers` of a CSINode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// `topologyKeys`: keys of the labels that form the node's segment. Empty: the driver does not support topology.
    pub topology_keys: Vec<String>,
    /// `allocatable.count`: maximum number of the driver's volumes on the node.
    pub volumes_max: Option<u32>,
}

impl Registration {
    /// The segment of a node with these labels. `None` if the label of a topology key is missing.
    pub fn segment(&self, labels: &Labels) -> Option<Segment> {
        segment::of_node(&self.topology_keys, labels)
    }
}

/// The fields of a CSIDriver that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct CsiDriverJson {
    metadata: Metadata,
    #[serde(default)]
    spec: DriverSpec,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct DriverSpec {
    storage_capacity: Option<bool>,
}

impl From<CsiDriverJson> for (String, CsiDriver) {
    fn from(json: CsiDriverJson) -> Self {
        let driver = CsiDriver {
            storage_capacity: json.spec.storage_capacity.unwrap_or(false),
        };
        (json.metadata.name, driver)
    }
}

/// The fields of a CSINode that rules use, as JSON in the API.
#[derive(Deserialize)]
pub(super) struct CsiNodeJson {
    metadata: Metadata,
    #[serde(default)]
    spec: NodeSpec,
}

#[derive(Deserialize, Default)]
struct NodeSpec {
    drivers: Option<Vec<NodeDriver>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeDriver {
    name: String,
    topology_keys: Option<Vec<String>>,
    allocatable: Option<Allocatable>,
}

#[derive(Deserialize)]
struct Allocatable {
    count: Option<u32>,
}

impl From<CsiNodeJson> for (String, CsiNode) {
    fn from(json: CsiNodeJson) -> Self {
        let registered = |driver: NodeDriver| {
            let registration = Registration {
                topology_keys: driver.topology_keys.unwrap_or_default(),
                volumes_max: driver.allocatable.and_then(|allocatable| allocatable.count),
            };
            (driver.name, registration)
        };
        let drivers = json.spec.drivers.unwrap_or_default();
        let node = CsiNode {
            drivers: drivers.into_iter().map(registered).collect(),
        };
        (json.metadata.name, node)
    }
}
