//! Permanent errors of a PVC or its class.

/// StorageClass parameter with the filesystem type.
pub(super) const FSTYPE: &str = "csi.storage.k8s.io/fstype";

/// The PVC or its class requests something unsupported; only another PVC or class helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidClaim {
    #[error("claim Selector is not supported")]
    Selector,
    #[error(
        "a volume cannot be made from {0} by this provisioner; name a claim or a VolumeSnapshot as dataSource, or none"
    )]
    DataSource(String),
    #[error("a volume cannot be made from a claim in another namespace; name one of the same")]
    SourceInOtherNamespace,
    #[error("volume attributes class {0} is for driver {1}; name one for the driver of the storage class")]
    AttributesClassOfOtherDriver(String, String),
    #[error("the class must have both {0} and {1}, or none; complete them")]
    IncompleteSecret(&'static str, &'static str),
    #[error("the class names a secret by {0} and by its old name; keep the first")]
    DuplicateSecret(&'static str),
    #[error("secret template {0:?} has an unknown or open token; use those of the CSI documentation")]
    SecretTemplate(String),
    #[error(
        "{0:?} is no namespace and name of a secret; correct the class, or the claim that it takes them from"
    )]
    SecretName(String),
    #[error("the claim requests no valid size; set resources.requests.storage")]
    Size,
    #[error("access mode {0:?} is unknown; use one of the Kubernetes API")]
    AccessMode(String),
    #[error("the class names the filesystem twice; keep {FSTYPE} only")]
    DuplicateFilesystem,
    #[error("class parameter {0} is reserved and not supported by this provisioner; remove it")]
    ReservedParameter(String),
}
