//! Errors that only a change of the PVC or its class can fix.

pub(super) const FSTYPE: &str = "csi.storage.k8s.io/fstype";

/// The PVC or its class requests something unsupported. Retries fail until the PVC or class changes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidClaim {
    #[error("claim Selector is not supported")]
    Selector,
    #[error(
        "data source {0} is not supported by this provisioner; use a PersistentVolumeClaim or a VolumeSnapshot, or none"
    )]
    DataSource(String),
    #[error(
        "a data source in another namespace is not supported; use a data source in the namespace of the claim"
    )]
    SourceInOtherNamespace,
    #[error(
        "VolumeAttributesClass {0} belongs to driver {1}; use a VolumeAttributesClass for the driver of the StorageClass"
    )]
    AttributesClassOfOtherDriver(String, String),
    #[error("the StorageClass must set both {0} and {1}, or neither")]
    IncompleteSecret(&'static str, &'static str),
    #[error("the StorageClass sets {0} and its deprecated name; keep {0}")]
    DuplicateSecret(&'static str),
    #[error(
        "secret template {0:?} has an unknown or unterminated variable; use the variables of the CSI documentation"
    )]
    SecretTemplate(String),
    #[error(
        "{0:?} is not a valid namespace and name of a secret; correct the StorageClass, or the fields of the claim in its template"
    )]
    SecretName(String),
    #[error("the claim requests no valid size; set resources.requests.storage")]
    Size,
    #[error("access mode {0:?} is unknown; use an access mode of the Kubernetes API")]
    AccessMode(String),
    #[error("the StorageClass sets the filesystem twice; keep only {FSTYPE}")]
    DuplicateFilesystem,
    #[error(
        "StorageClass parameter {0} is reserved and not supported by this provisioner; remove the parameter"
    )]
    ReservedParameter(String),
}
