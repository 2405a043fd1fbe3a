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
    /// Creates the value from namespace and name.
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
pub struct Owner {
    /// Kind of the owner, such as `Deployment`.
    #[serde(default)]
    pub kind: String,
    /// Name of the owner.
    #[serde(default)]
    pub name: String,
    /// UID of the owner.
    #[serde(default)]
    pub uid: String,
    /// Whether the owner is the controller of the object.
    #[serde(default)]
    pub controller: bool,
}

/// The fields of `metadata` that rules use.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) namespace: Option<String>,
    #[serde(default)]
    pub(super) uid: Option<String>,
    #[serde(default)]
    pub(super) labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) annotations: Option<BTreeMap<String, String>>,
    #[serde(default)]
    pub(super) owner_references: Option<Vec<Owner>>,
    #[serde(default)]
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
