//! Authentication, authorization, and a log of used permissions.
//!
//! Does not know requests or storage: callers pass request attributes and objects.

pub(crate) mod auth;
pub(crate) mod rbac;
pub(crate) mod usage;
