//! Who sends a request, whether they may, and what they needed.
//!
//! Decides about users and attributes. Does not know requests or storage: it is handed the objects to judge by.

pub(crate) mod auth;
pub(crate) mod rbac;
pub(crate) mod usage;
