//! What a control plane does beside answering requests: it makes what a cluster starts with, ends namespaces and events,
//! collects garbage, keeps aggregated roles, and names and establishes definitions.
//!
//! Plays the parts of the controller manager without which nothing would ever go. Works through the write paths of
//! `verbs`; does not know requests.

mod bootstrap;
mod definitions;
mod expiry;
mod follow_up;
mod garbage;
mod itself;
mod namespaces;
mod policies;
mod roles;
mod services;

pub(crate) use bootstrap::create as bootstrap;
pub(crate) use expiry::expire;
pub(crate) use follow_up::follow_up;
pub(crate) use garbage::collect as collect_garbage;
pub(crate) use roles::settle as aggregate_roles;
