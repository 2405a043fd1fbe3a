//! Namespace: its labels, which inter-pod affinity may select.

use capacity_types::Labels;
use k8s_openapi::api::core::v1::Namespace as ApiNamespace;

use super::{Object, ObjectKey, ReadError, version};

/// One Namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Name of the Namespace.
    pub key: ObjectKey,
    /// `metadata.resourceVersion`.
    pub version: String,
    /// `metadata.labels`.
    pub labels: Labels,
}

impl Object for Namespace {
    type Api = ApiNamespace;

    fn read(source: &Self::Api) -> Result<Self, ReadError> {
        Ok(Self {
            key: ObjectKey::of(&source.metadata),
            version: version(&source.metadata),
            labels: source.metadata.labels.clone().unwrap_or_default(),
        })
    }

    fn identity(&self) -> (&ObjectKey, &str) {
        (&self.key, &self.version)
    }
}
