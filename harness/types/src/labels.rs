//! Labels of CSIStorageCapacity objects (KEP-1472, "CSIStorageCapacity"), as external-provisioner sets them.

/// Label with the name of the CSI driver.
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Label that identifies the publisher that manages the object. An object without this label is managed by an administrator.
pub const MANAGED_BY_LABEL: &str = "csi.storage.k8s.io/managed-by";
