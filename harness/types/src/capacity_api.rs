//! Versions and labels of the CSIStorageCapacity API, and how server responses show whether a version is served.
//!
//! `v1` is served since Kubernetes 1.24, `v1beta1` since 1.21 and `v1alpha1` since 1.19, until they were removed. No version is served if
//! the feature gate is disabled (KEP-1472). All versions have the same fields. The caller sends the requests.

/// API group of CSIStorageCapacity.
pub const GROUP: &str = "storage.k8s.io";
/// Kind of CSIStorageCapacity.
pub const KIND: &str = "CSIStorageCapacity";
/// Plural resource name, as in paths and discovery.
pub const RESOURCE: &str = "csistoragecapacities";
/// All versions. If a server serves several, clients use the first in this order.
pub const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Group and version, as in `apiVersion` and the path of the discovery document.
pub fn api_version(version: &str) -> String {
    format!("{GROUP}/{version}")
}

/// Whether the discovery document of a version (`APIResourceList`) contains CSIStorageCapacity. `resources`: the names in the document.
pub fn is_served<'a>(resources: impl IntoIterator<Item = &'a str>) -> bool {
    resources.into_iter().any(|name| name == RESOURCE)
}

/// Whether a failed request means that the server does not serve the type or version: the code is 404, and the details of the `Status`
/// contain no object name. A 404 with a name means that this object, or its namespace, does not exist.
pub fn is_type_missing(code: u16, object: Option<&str>) -> bool {
    code == 404 && object.is_none_or(str::is_empty)
}

/// Label with the name of the CSI driver.
pub const DRIVER_LABEL: &str = "csi.storage.k8s.io/drivername";
/// Label that identifies the publisher that manages the object. An object without this label is managed by an administrator.
pub const MANAGED_BY_LABEL: &str = "csi.storage.k8s.io/managed-by";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_served_if_its_discovery_document_lists_the_resource() {
        assert!(is_served(["csinodes", RESOURCE]));
        assert!(!is_served(["csinodes", "csistoragecapacities/status"]));
        assert_eq!(api_version(VERSIONS[0]), "storage.k8s.io/v1");
    }

    #[test]
    fn only_a_404_without_an_object_name_means_that_the_type_is_missing() {
        assert!(is_type_missing(404, None));
        assert!(is_type_missing(404, Some("")));
        assert!(!is_type_missing(404, Some("csisc-1")));
        assert!(!is_type_missing(403, None));
    }
}
