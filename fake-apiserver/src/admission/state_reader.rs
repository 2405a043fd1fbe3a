//! Read access of admission to the state.

use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::kinds::{Kind, NAMESPACE};
use crate::machinery::status::Status;
use crate::object::{Object, Objects};
use std::sync::Arc;

/// Read access to the state, implemented with and without its lock held.
pub trait StateReader {
    /// An object by its key.
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>>;
    /// The Namespace of that name. An error if it does not exist.
    fn namespace(&self, name: &str) -> Result<Arc<Object>, Status> {
        let found = self.object(&NAMESPACE, name);
        found.ok_or_else(|| Status::not_found(NAMESPACE.resource(), name))
    }
    /// All objects of a resource.
    fn objects(&self, kind: &Kind) -> Objects;
    /// The served resource with that apiVersion and kind of its objects.
    fn served_kind(&self, api_version: &str, kind: &str) -> Option<Kind>;
    /// The served versions of a resource.
    fn served_versions(&self, kind: &Kind) -> Vec<Kind>;
    /// Authorizes a user.
    fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision;
}
