//! Controllers: initial objects, termination of namespaces, expiry of events, garbage collection, and aggregated ClusterRoles. Other crates
//! can add controllers.
//!
//! Implements the controllers of kube-controller-manager that are needed for deletions to complete. Writes through `verbs`; does not know
//! requests.

mod bootstrap;
mod expiry;
mod external;
mod follow_up;
mod garbage;
mod kubernetes_service;
mod namespaces;
mod roles;

pub(crate) use bootstrap::create as bootstrap;
pub(crate) use expiry::expire;
pub(crate) use follow_up::run_queued_work;
pub(crate) use garbage::collect as collect_garbage;
pub(crate) use roles::update_aggregated_roles as aggregate_roles;
