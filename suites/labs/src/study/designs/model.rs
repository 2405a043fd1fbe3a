//! The API types of the five designs, field by field as in the KEP. Does not know the semantics of the fields.

use capacity_types::Labels;
use serde::{Deserialize, Serialize};

use super::selector::{Expression, NodeSelector};

/// Special names that a pool may contain in place of a StorageClass name.
pub(super) const FALLBACK: &str = "<fallback>";
pub(super) const EPHEMERAL: &str = "<ephemeral>";

/// Metadata of an API object of any type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Metadata {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) uid: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) resource_version: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) creation_timestamp: String,
}

/// CSIDriver in the 2019 design, with storage in its status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CsiDriver {
    pub(super) metadata: Metadata,
    pub(super) spec: DriverSpec,
    #[serde(default)]
    pub(super) status: DriverStatus,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct DriverSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) pod_info_on_mount: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity_tracking: Option<bool>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DriverStatus {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) storage: Vec<NamedPool>,
}

/// A pool in the status of a CSIDriver. Patches merge the list of pools by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct NamedPool {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_topology: Option<NodeSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_list: Option<Vec<String>>,
    pub(super) classes: Vec<ClassCapacity>,
}

/// The capacity of a pool for a StorageClass or a special name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClassCapacity {
    pub(super) storage_class_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expiry_time: Option<String>,
}

/// CSIStoragePool in the 2019 design, whose spec lists the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolOf2019 {
    pub(super) metadata: Metadata,
    pub(super) spec: PoolSpecOf2019,
    pub(super) status: PoolStatusOf2019,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PoolSpecOf2019 {
    pub(super) driver_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_topology: Option<NodeSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_list: Option<Vec<String>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PoolStatusOf2019 {
    pub(super) classes: Vec<ClassCapacity>,
}

/// CSIStoragePool in the KEP, whose status lists the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoragePool {
    pub(super) metadata: Metadata,
    pub(super) spec: PoolSpec,
    pub(super) status: PoolStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PoolSpec {
    pub(super) driver_name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PoolStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_topology: Option<NodeSelector>,
    pub(super) classes: Vec<ClassCapacity>,
}

/// CSIStorageCapacity in its early form, with spec and status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EarlyCapacity {
    pub(super) metadata: Metadata,
    pub(super) spec: EarlySpec,
    pub(super) status: EarlyStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EarlySpec {
    pub(super) driver_name: String,
    pub(super) storage_class_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_topology: Option<NodeSelector>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct EarlyStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) available_capacity: Option<String>,
}

/// CSIStorageCapacity as released.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct FlatCapacity {
    pub(super) metadata: Metadata,
    pub(super) storage_class_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) node_topology: Option<LabelTopology>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) capacity: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) maximum_volume_size: Option<String>,
}

/// A label selector, the `nodeTopology` of a flat object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct LabelTopology {
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub(super) match_labels: Labels,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) match_expressions: Vec<Expression>,
}

impl Metadata {
    /// Metadata that is as large as the metadata of a stored object. `prefix`: start of the name; `number`: makes the name unique.
    pub(super) fn stored(prefix: &str, number: usize, namespace: Option<&str>) -> Self {
        let uid = format!("{number:08x}-36d5-11ea-978f-2e728ce88125");
        Self {
            name: format!("{prefix}-{uid}"),
            namespace: namespace.map(str::to_owned),
            uid,
            resource_version: format!("{:07}", 1_000_000 + number % 1_000_000),
            creation_timestamp: timestamp(0),
        }
    }

    /// Metadata of a stored cluster-scoped object with the name `name`.
    pub(super) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..Self::stored("", 0, None)
        }
    }
}

/// Formats a time of day as an API timestamp. The alphabetical order of these timestamps is the chronological order.
pub(super) fn timestamp(seconds: u32) -> String {
    let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
    format!("2019-11-13T{hours:02}:{minutes:02}:{:02}Z", seconds % 60)
}
