//! Classifies errors of the API server.

use capacity_types::capacity_api;

/// Whether the server does not serve this resource or version.
pub fn is_type_missing(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let details = status.details.as_ref();
    capacity_api::is_type_missing(status.code, details.map(|details| details.name.as_str()))
}

/// Whether RBAC denied the request.
pub fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
