//! The interface through which admission webhooks and policies read the state of the server.

use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::kinds::{Kind, NAMESPACE};
use crate::machinery::status::Status;
use crate::object::{Object, Objects};
use std::sync::Arc;

/// Read access to the state of the server. Implemented with the store locked (`Txn`) and unlocked (`Store`).
pub trait StateReader {
    /// The stored object with the key `namespace/name` or, if cluster-scoped, `name`.
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>>;
    /// The Namespace with this name. An error if it does not exist.
    fn namespace(&self, name: &str) -> Result<Arc<Object>, Status> {
        let found = self.object(&NAMESPACE, name);
        found.ok_or_else(|| Status::not_found(NAMESPACE.group_resource(), name))
    }
    /// All stored objects of a resource, by storage key.
    fn objects(&self, kind: &Kind) -> Objects;
    /// The served resource whose objects have this apiVersion and kind.
    fn served_kind(&self, api_version: &str, kind: &str) -> Option<Kind>;
    /// All versions of the resource that the current release serves.
    fn served_versions(&self, kind: &Kind) -> Vec<Kind>;
    /// Decides whether the user may perform a request with these attributes.
    fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision;
}
