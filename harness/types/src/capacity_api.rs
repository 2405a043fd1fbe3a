//! The versions of the API of CSIStorageCapacity, and what the answers of a server say about them.
//!
//! `v1` is served from Kubernetes 1.24 on, `v1beta1` from 1.21 and `v1alpha1` from 1.19 on, until each was removed; none is served where
//! the feature is off (KEP-1472). All of them have the same fields. The requests are the caller's.

/// The API group.
pub const GROUP: &str = "storage.k8s.io";
/// The kind of the objects.
pub const KIND: &str = "CSIStorageCapacity";
/// The resource, as paths and discovery name it.
pub const RESOURCE: &str = "csistoragecapacities";
/// All versions. Where a server has several, the first of them is used.
pub const VERSIONS: [&str; 3] = ["v1", "v1beta1", "v1alpha1"];

/// Group and version as `apiVersion` and the path of the discovery document have them.
pub fn api_version(version: &str) -> String {
    format!("{GROUP}/{version}")
}

/// Whether the discovery document of a version (`APIResourceList`) has CSIStorageCapacity, given the names of its resources.
pub fn is_served<'a>(resources: impl IntoIterator<Item = &'a str>) -> bool {
    resources.into_iter().any(|name| name == RESOURCE)
}

/// Whether a refused request says that the server does not have the type, or not in that version: the code is 404, and the details of the
/// `Status` name no object. A 404 that names one says that this object, or its namespace, is missing.
pub fn is_type_missing(code: u16, object: Option<&str>) -> bool {
    code == 404 && object.is_none_or(str::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_served_where_its_discovery_document_lists_the_resource() {
        assert!(is_served(["csinodes", RESOURCE]));
        assert!(!is_served(["csinodes", "csistoragecapacities/status"]));
        assert_eq!(api_version(VERSIONS[0]), "storage.k8s.io/v1");
    }

    #[test]
    fn only_a_404_that_names_nothing_says_that_the_type_is_missing() {
        assert!(is_type_missing(404, None));
        assert!(is_type_missing(404, Some("")));
        assert!(!is_type_missing(404, Some("csisc-1")));
        assert!(!is_type_missing(403, None));
    }
}
