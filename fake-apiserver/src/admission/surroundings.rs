//! Read access of admission to the state.

use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::kinds::{Api, Kind};
use crate::object::{Object, Objects};
use std::sync::Arc;

/// Read access to the state, implemented with and without its lock held.
pub(crate) trait Surroundings {
    /// An object by its key.
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>>;
    /// All objects of a resource.
    fn objects(&self, kind: &Kind) -> Objects;
    /// The served resources and release.
    fn served(&self) -> Api;
    /// Authorizes a user.
    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision;
}
