//! The table of kinds: all that differs from one resource to the next.
//!
//! Routing, discovery, decoding, defaulting, validation, field selectors and printing read this table; a new kind
//! is a new row. Does not know requests or storage.

mod admission;
mod autoscaler;
mod capacity;
mod certificates;
pub(crate) mod columns;
mod config;
mod csi;
mod event;
mod extension;
mod flow;
mod hooks;
mod job;
mod lease;
mod lookup;
mod namespace;
mod network;
mod node;
mod outdated;
mod part;
mod pod;
mod rbac;
mod resource;
mod review;
mod row;
mod scheduling;
mod selectors;
mod service;
mod service_account;
mod shown;
mod storage;
pub(crate) mod token_lifetime;
mod volume;
mod workload;

pub(crate) use config::CONFIG_MAP;
pub(crate) use hooks::Setting;
pub(crate) use part::{Part, Subresource};
pub(crate) use rbac::GROUP as RBAC_GROUP;
pub(crate) use row::{Admission, Generation, Grants, Kind, Review};
pub(crate) use scheduling::system_classes;

use hooks::{Hooks, NO_HOOKS};
use row::{PLAIN, View};

/// All resources, in the order of discovery: that of the real server's groups, and of the names in them. Where a group
/// has several versions, the preferred one is first.
pub(crate) static KINDS: &[&Kind] = &[
    &CONFIG_MAP,
    &config::ENDPOINTS,
    &event::EVENT,
    &config::LIMIT_RANGE,
    &namespace::NAMESPACE,
    &node::NODE,
    &volume::PERSISTENT_VOLUME_CLAIM,
    &volume::PERSISTENT_VOLUME,
    &pod::POD,
    &config::POD_TEMPLATE,
    &workload::REPLICATION_CONTROLLER,
    &config::RESOURCE_QUOTA,
    &config::SECRET,
    &service_account::SERVICE_ACCOUNT,
    &service::SERVICE,
    &extension::API_SERVICE,
    &workload::CONTROLLER_REVISION,
    &workload::DAEMON_SET,
    &workload::DEPLOYMENT,
    &workload::REPLICA_SET,
    &workload::STATEFUL_SET,
    &event::EVENT_VIEW,
    &review::SELF_SUBJECT_REVIEW,
    &review::TOKEN_REVIEW,
    &review::LOCAL_SUBJECT_ACCESS_REVIEW,
    &review::SELF_SUBJECT_ACCESS_REVIEW,
    &review::SELF_SUBJECT_RULES_REVIEW,
    &review::SUBJECT_ACCESS_REVIEW,
    &autoscaler::HORIZONTAL_POD_AUTOSCALER,
    &autoscaler::HORIZONTAL_POD_AUTOSCALER_V1,
    &job::CRON_JOB,
    &job::JOB,
    &certificates::CERTIFICATE_SIGNING_REQUEST,
    &network::INGRESS_CLASS,
    &network::INGRESS,
    &network::IP_ADDRESS,
    &network::NETWORK_POLICY,
    &network::SERVICE_CIDR,
    &scheduling::POD_DISRUPTION_BUDGET,
    &rbac::CLUSTER_ROLE_BINDING,
    &rbac::CLUSTER_ROLE,
    &rbac::ROLE_BINDING,
    &rbac::ROLE,
    &csi::CSI_DRIVER,
    &csi::CSI_DRIVER_1_18,
    &csi::CSI_NODE,
    &capacity::CSI_STORAGE_CAPACITY,
    &capacity::V1BETA1,
    &capacity::V1ALPHA1,
    &capacity::V1ALPHA1_FIRST,
    &storage::STORAGE_CLASS,
    &storage::VOLUME_ATTACHMENT,
    &storage::VOLUME_ATTRIBUTES_CLASS,
    &admission::MUTATING_ADMISSION_POLICY,
    &admission::MUTATING_ADMISSION_POLICY_BINDING,
    &admission::MUTATING_WEBHOOK_CONFIGURATION,
    &admission::VALIDATING_ADMISSION_POLICY,
    &admission::VALIDATING_ADMISSION_POLICY_BINDING,
    &admission::VALIDATING_WEBHOOK_CONFIGURATION,
    &extension::CUSTOM_RESOURCE_DEFINITION,
    &scheduling::PRIORITY_CLASS,
    &lease::LEASE,
    &scheduling::RUNTIME_CLASS,
    &network::ENDPOINT_SLICE,
    &flow::FLOW_SCHEMA,
    &flow::PRIORITY_LEVEL_CONFIGURATION,
    &resource::DEVICE_CLASS,
    &resource::RESOURCE_CLAIM,
    &resource::RESOURCE_CLAIM_TEMPLATE,
    &resource::RESOURCE_SLICE,
];

/// The row of namespaces, which the server itself writes.
pub(crate) static NAMESPACE: &Kind = &namespace::NAMESPACE;
/// Rows that admission and eviction look at.
pub(crate) static POD: &Kind = &pod::POD;
pub(crate) static POD_DISRUPTION_BUDGET: &Kind = &scheduling::POD_DISRUPTION_BUDGET;
pub(crate) static PRIORITY_CLASS: &Kind = &scheduling::PRIORITY_CLASS;
pub(crate) static RUNTIME_CLASS: &Kind = &scheduling::RUNTIME_CLASS;
pub(crate) static STORAGE_CLASS: &Kind = &storage::STORAGE_CLASS;
/// The row of service accounts, which tokens are about.
pub(crate) static SERVICE_ACCOUNT: &Kind = &service_account::SERVICE_ACCOUNT;
/// The rows that decide who may do what.
pub(crate) static CLUSTER_ROLE: &Kind = &rbac::CLUSTER_ROLE;
pub(crate) static CLUSTER_ROLE_BINDING: &Kind = &rbac::CLUSTER_ROLE_BINDING;
pub(crate) static ROLE: &Kind = &rbac::ROLE;
pub(crate) static ROLE_BINDING: &Kind = &rbac::ROLE_BINDING;
