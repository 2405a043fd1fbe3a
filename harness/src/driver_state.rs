//! Objects from which a driver under test reads its storage: those that must exist at its start, and the changes that set the storage.
//!
//! Owns the interface between a manifest, which defines the objects, and a cluster, which creates and changes them.

use fake_apiserver::ResourceRef;
use fake_csi::Storage;
use serde_json::Value;

/// The objects of one driver. Errors are texts.
pub trait DriverState: Send + Sync {
    /// Objects that exist once per cluster.
    fn common(&self) -> Result<Vec<Value>, String>;

    /// Objects per node; for a driver, per node on which it runs.
    fn of_node(&self, node: &str) -> Result<Vec<Value>, String>;

    /// Changes that set the storage of a node; empty if the manifest cannot express it.
    fn storage(&self, node: &str, storage: NodeStorage) -> Result<Vec<Change>, String>;
}

/// Storage of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeStorage {
    /// Total bytes.
    pub available: u64,
    /// Maximum volume size in bytes.
    pub maximum: u64,
}

impl NodeStorage {
    /// Values of linear storage; other layouts cannot be expressed by two values.
    pub fn of(storage: &Storage) -> Option<Self> {
        match storage {
            Storage::Linear { capacity, largest } => Some(NodeStorage {
                available: *capacity,
                maximum: largest.unwrap_or(*capacity),
            }),
            Storage::Filesystem { .. } | Storage::Devices(_) => None,
        }
    }
}

/// A JSON merge patch of one object.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Reference to the object.
    pub at: ResourceRef,
    /// Subresource, such as `status`; `None`: the object itself.
    pub subresource: Option<String>,
    /// The merge patch.
    pub patch: Value,
}
