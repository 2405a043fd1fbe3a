//! Classifies errors of the API server.

pub use capacity_client::is_type_missing;

/// Whether RBAC denied the request.
pub fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}
