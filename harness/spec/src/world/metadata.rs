//! The fields of `metadata` that identify objects and owners.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// Namespace and name of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NamespacedName {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl NamespacedName {
    /// The key of the object `name` in `namespace`.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

impl fmt::Display for NamespacedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct Owner {
    /// Kind of the owner, such as `Deployment`.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// UID of the owner.
    pub uid: String,
    /// Whether the owner is the controller of the object.
    pub controller: bool,
}

/// The fields of `metadata` that rules use.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    pub(super) uid: Option<String>,
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) annotations: Option<BTreeMap<String, String>>,
    pub(super) owner_references: Option<Vec<Owner>>,
    pub(super) deletion_timestamp: Option<String>,
}

impl Metadata {
    pub(super) fn key(&mut self) -> NamespacedName {
        NamespacedName {
            namespace: self.namespace.take().unwrap_or_default(),
            name: std::mem::take(&mut self.name),
        }
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&String> {
        self.annotations.as_ref()?.get(key)
    }
}
