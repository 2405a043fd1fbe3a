//! Versions and labels of the CSIStorageCapacity API.
//!
//! `v1` is served since Kubernetes 1.24, `v1beta1` since 1.21 and `v1alpha1` since 1.19, until they were removed. No version is served if
//! the feature gate is disabled (KEP-1472). All versions have the same fields. The caller sends the requests.

/// API group of CSIStorageCapacity.
pub const GROUP: &str = "storage.k8s.io";
/// Kind of CSIStorageCapacity.
pub const KIND: &str = "CSIStorageCapacity";
/// Plural resource name of CSIStorageCapacity, as in paths and discovery.
pub const RESOURCE: &str = "csistoragecapacities";
/// All API versions of CSIStorageCapacity. If a server serves several versions, clients use the first of them in this order.
pub const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// The group version of an API version, as in `apiVersion` and the path of the discovery document.
pub fn api_version(version: &str) -> String {
    format!("{GROUP}/{version}")
}

/// Label of CSIStorageCapacity objects with the name of the CSI driver.
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Label of CSIStorageCapacity objects with the publisher that manages the object. Without the label, an administrator manages the object.
pub const MANAGED_BY_LABEL: &str = "csi.storage.k8s.io/managed-by";
