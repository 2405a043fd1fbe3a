//! What admission sees of the state.

use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::kinds::{Api, Kind};
use crate::object::{Object, Objects};
use std::sync::Arc;

/// What admission sees of the state, whether the one who asks holds its lock or not.
pub(crate) trait Surroundings {
    /// An object by its key.
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>>;
    /// All objects of a resource.
    fn objects(&self, kind: &Kind) -> Objects;
    /// What is served.
    fn served(&self) -> Api;
    /// Whether a user may do something.
    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision;
}
