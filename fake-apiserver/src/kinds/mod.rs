//! The table of kinds: all that differs from one resource to the next.
//!
//! Routing, discovery, decoding, defaulting, validation, field selectors and printing read this table; a new kind
//! is a new row. Does not know requests or storage.

mod admission;
mod batch;
mod capacity;
mod catalog;
mod certificates;
pub(crate) mod columns;
mod config;
mod core;
mod csi;
mod event;
mod extension;
mod flow;
mod network;
mod outdated;
mod pod;
mod rbac;
mod resource;
mod review;
mod row;
mod scheduling;
mod selectors;
mod shown;
mod storage;
pub(crate) mod token_lifetime;
mod volume;
mod workload;

pub(crate) use catalog::{
    CLUSTER_ROLE, CLUSTER_ROLE_BINDING, EVENT, KINDS, NAMESPACE, PERSISTENT_VOLUME_CLAIM, POD,
    POD_DISRUPTION_BUDGET, PRIORITY_CLASS, ROLE, ROLE_BINDING, RUNTIME_CLASS, SERVICE_ACCOUNT, STORAGE_CLASS,
};
pub(crate) use config::CONFIG_MAP;
pub(crate) use rbac::GROUP as RBAC_GROUP;
pub(crate) use row::{Generation, Kind, Part, Review, Setting, Subresource};
pub(crate) use scheduling::system_classes;

use row::{Hooks, NO_HOOKS, PLAIN, Selectable, View};
