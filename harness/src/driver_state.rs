//! What a driver under test keeps in objects: those that it finds when it starts, and how its storage is told to it by changing them.
//!
//! Owns the words between a manifest, which knows the objects, and a cluster, which makes and changes them.

use fake_apiserver::ResourceRef;
use fake_csi::Storage;
use serde_json::Value;

/// The objects of one driver. Errors are in words.
pub trait DriverState: Send + Sync {
    /// Those that are there once.
    fn common(&self) -> Result<Vec<Value>, String>;

    /// Those that each node has; for a driver, each node on which it runs.
    fn of_node(&self, node: &str) -> Result<Vec<Value>, String>;

    /// The changes that make the storage of a node what a case wants; none: it can't be told.
    fn storage(&self, node: &str, figures: Figures) -> Result<Vec<Change>, String>;
}

/// What a node has for volumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Figures {
    /// Bytes in all.
    pub available: u64,
    /// Bytes of the largest volume.
    pub maximum: u64,
}

impl Figures {
    /// Of a store from which volumes of any size are cut; no other layout can be told in two figures.
    pub fn of(storage: &Storage) -> Option<Self> {
        match storage {
            Storage::Linear { capacity, largest } => Some(Figures {
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
    /// The object.
    pub at: ResourceRef,
    /// Such as `status`; none: the object itself.
    pub subresource: Option<String>,
    /// What becomes different.
    pub patch: Value,
}
