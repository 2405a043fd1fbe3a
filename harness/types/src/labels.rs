//! Labels of CSIStorageCapacity objects (KEP-1472, "CSIStorageCapacity"), as external-provisioner sets them.

/// Name of the CSI driver.
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Identity of the publisher that manages the object; an object without it is managed by an administrator.
pub const MANAGED_BY_LABEL: &str = "csi.storage.k8s.io/managed-by";
