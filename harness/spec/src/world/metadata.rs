//! What identifies an object, as `metadata` has it.

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
    /// Of these two.
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

/// One of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Owner {
    /// Its kind, such as `Deployment`.
    #[serde(default)]
    pub kind: String,
    /// Its name.
    #[serde(default)]
    pub name: String,
    /// Its uid.
    #[serde(default)]
    pub uid: String,
    /// Whether it is the one that controls the object.
    #[serde(default)]
    pub controller: bool,
}

/// The `metadata` of an object, as far as rules speak of it.
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
