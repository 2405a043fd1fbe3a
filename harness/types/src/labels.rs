//! Labels of CSIStorageCapacity objects (KEP-1472, "CSIStorageCapacity"), as external-provisioner sets them.

/// Holds the name of the CSI driver.
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Holds the identity of the publisher that manages the object; without it, an administrator does.
pub const MANAGED_BY_LABEL: &str = "csi.storage.k8s.io/managed-by";
