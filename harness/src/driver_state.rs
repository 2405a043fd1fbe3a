//! API objects from which a driver under test reads its storage: the objects that must exist when the driver starts, and the patches that
//! set its storage.
//!
//! Owns the interface between a manifest, which defines the objects, and a cluster, which creates and changes them.

use fake_apiserver::ResourceRef;
use fake_csi::Storage;
use serde_json::Value;

/// The API objects of one driver, or of another program under test. Errors are messages.
pub trait ProgramObjects: Send + Sync {
    /// Objects that exist once per cluster.
    fn common_objects(&self) -> Result<Vec<Value>, String>;

    /// Objects that exist once per node. A driver's objects are created only for nodes on which the driver runs.
    fn of_node(&self, node: &str) -> Result<Vec<Value>, String>;

    /// Patches that set the storage of a node. Empty if the manifest cannot express storage.
    fn storage_patches(&self, node: &str, storage: NodeStorage) -> Result<Vec<ObjectPatch>, String>;
}

/// Storage of the driver on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NodeStorage {
    /// Bytes that are available for volumes.
    pub available: u64,
    /// Maximum volume size in bytes.
    pub maximum: u64,
}

impl NodeStorage {
    /// The storage as two numbers; `None` if it is not linear storage, because two numbers cannot describe other layouts.
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

/// A JSON merge patch for one object.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectPatch {
    /// Reference to the object to patch.
    pub at: ResourceRef,
    /// Subresource, such as `status`; `None`: the object itself.
    pub subresource: Option<String>,
    /// The content of the patch.
    pub patch: Value,
}
