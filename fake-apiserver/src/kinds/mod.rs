//! The table of kinds: all that differs from one resource to the next.
//!
//! Routing, discovery, decoding, defaulting, validation, field selectors and printing read this table; a new kind
//! is a new row. Does not know requests or storage.

mod admission;
mod autoscaler;
mod certificates;
pub(crate) mod columns;
mod config_map;
mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod endpoint_slice;
mod endpoints;
mod event;
mod extension;
mod flow;
mod hooks;
mod ingress;
mod job;
mod lease;
mod lookup;
mod namespace;
mod network;
mod node;
mod outdated;
mod part;
mod pod;
mod pod_disruption_budget;
mod pod_template;
mod priority_class;
mod quota;
mod rbac;
mod resource;
mod review;
mod row;
mod runtime_class;
mod secret;
mod selectors;
mod service;
mod service_account;
mod shown;
mod storage_class;
pub(crate) mod token_lifetime;
mod volume;
mod volume_attachment;
mod volume_attributes_class;
mod workload;

pub(crate) use config_map::CONFIG_MAP;
pub(crate) use hooks::Setting;
pub(crate) use part::{Part, Subresource};
pub(crate) use priority_class::system_classes;
pub(crate) use rbac::GROUP as RBAC_GROUP;
pub(crate) use row::{Admission, Generation, Grants, Kind, Review};

use hooks::{Hooks, NO_HOOKS};
use row::{PLAIN, View};

/// All resources, in the order of discovery: that of the real server's groups, and of the names in them. Where a group
/// has several versions, the preferred one is first.
pub(crate) static KINDS: &[&Kind] = &[
    &CONFIG_MAP,
    &endpoints::ENDPOINTS,
    &event::EVENT,
    &quota::LIMIT_RANGE,
    &namespace::NAMESPACE,
    &node::NODE,
    &volume::PERSISTENT_VOLUME_CLAIM,
    &volume::PERSISTENT_VOLUME,
    &pod::POD,
    &pod_template::POD_TEMPLATE,
    &workload::REPLICATION_CONTROLLER,
    &quota::RESOURCE_QUOTA,
    &secret::SECRET,
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
    &ingress::INGRESS_CLASS,
    &ingress::INGRESS,
    &network::IP_ADDRESS,
    &network::NETWORK_POLICY,
    &network::SERVICE_CIDR,
    &pod_disruption_budget::POD_DISRUPTION_BUDGET,
    &rbac::CLUSTER_ROLE_BINDING,
    &rbac::CLUSTER_ROLE,
    &rbac::ROLE_BINDING,
    &rbac::ROLE,
    &csi_driver::CSI_DRIVER,
    &csi_driver::CSI_DRIVER_1_18,
    &csi_node::CSI_NODE,
    &csi_storage_capacity::CSI_STORAGE_CAPACITY,
    &csi_storage_capacity::V1BETA1,
    &csi_storage_capacity::V1ALPHA1,
    &csi_storage_capacity::V1ALPHA1_FIRST,
    &storage_class::STORAGE_CLASS,
    &volume_attachment::VOLUME_ATTACHMENT,
    &volume_attributes_class::VOLUME_ATTRIBUTES_CLASS,
    &admission::MUTATING_ADMISSION_POLICY,
    &admission::MUTATING_ADMISSION_POLICY_BINDING,
    &admission::MUTATING_WEBHOOK_CONFIGURATION,
    &admission::VALIDATING_ADMISSION_POLICY,
    &admission::VALIDATING_ADMISSION_POLICY_BINDING,
    &admission::VALIDATING_WEBHOOK_CONFIGURATION,
    &extension::CUSTOM_RESOURCE_DEFINITION,
    &priority_class::PRIORITY_CLASS,
    &lease::LEASE,
    &runtime_class::RUNTIME_CLASS,
    &endpoint_slice::ENDPOINT_SLICE,
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
pub(crate) static POD_DISRUPTION_BUDGET: &Kind = &pod_disruption_budget::POD_DISRUPTION_BUDGET;
pub(crate) static PRIORITY_CLASS: &Kind = &priority_class::PRIORITY_CLASS;
pub(crate) static RUNTIME_CLASS: &Kind = &runtime_class::RUNTIME_CLASS;
pub(crate) static STORAGE_CLASS: &Kind = &storage_class::STORAGE_CLASS;
/// The row of service accounts, which tokens are about.
pub(crate) static SERVICE_ACCOUNT: &Kind = &service_account::SERVICE_ACCOUNT;
/// The rows that decide who may do what.
pub(crate) static CLUSTER_ROLE: &Kind = &rbac::CLUSTER_ROLE;
pub(crate) static CLUSTER_ROLE_BINDING: &Kind = &rbac::CLUSTER_ROLE_BINDING;
pub(crate) static ROLE: &Kind = &rbac::ROLE;
pub(crate) static ROLE_BINDING: &Kind = &rbac::ROLE_BINDING;
