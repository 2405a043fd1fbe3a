//! The resource definitions of all built-in kinds.
//!
//! Routing, discovery, decoding, defaulting, validation, field selectors and printing use these definitions; a new kind requires only a new
//! definition. Does not know requests or storage.

mod ages;
mod catalogue;
pub(crate) mod columns;
mod conditions;
mod config_map;
mod csi_driver;
mod csi_node;
mod csi_storage_capacity;
mod defined;
mod device;
mod elsewhere;
mod endpoint_slice;
mod endpoints;
mod event;
mod hooks;
mod internal_form;
mod job;
mod kind;
mod lease;
mod namespace;
mod node;
mod part;
mod pod;
mod pod_disruption_budget;
mod pod_resources;
mod pod_template;
mod printer;
mod priority_class;
mod rbac;
mod request_body;
mod resource_definition;
mod resource_names;
mod review;
mod secret;
mod selectors;
mod service;
mod service_account;
pub mod service_parts;
mod storage_class;
pub(crate) mod token_lifetime;
mod volume;
mod volume_attachment;
mod volume_attributes_class;
mod workload;
mod workload_rules;

pub(crate) use catalogue::{Api, Catalogue};
pub use conditions::validate as validate_conditions;
pub use defined::{
    Conversion, ConversionWebhook, CustomResourceStrategy, Defined, Misfit, Nulls, ScalePaths, Unfit,
};
pub(crate) use endpoints::{first_ready, port_named};
pub use hooks::{Hooks, NO_HOOKS, PartHooks, Paths, Requester, Setting};
pub use internal_form::shown as internal_form;
pub use kind::Kind;
pub(crate) use kind::Shape;
pub use part::{Part, Subresource};
pub(crate) use pod::containers::LISTS as CONTAINER_LISTS;
pub(crate) use pod::forbid_privileged;
pub use pod::resources::overhead;
pub use pod::tolerations as pod_tolerations;
pub use pod_resources::{pod_limits, pod_requests};
pub use printer::PrinterColumn;
pub(crate) use priority_class::system_classes;
pub(crate) use rbac::GROUP as RBAC_GROUP;
pub use resource_definition::{
    Generation, Grants, MetadataChecks, MetadataPasses, PLAIN, ResourceDefinition, Review, StatusMetadata,
    Unstored, View, not_supported,
};
pub use selectors::labels as label_selector;
pub(crate) use selectors::{
    count as requirement_values, is_operator as is_label_operator, requirement as label_requirement,
};
pub use service::DEFINITION as SERVICE_DEFINITION;

pub(crate) use request_body::{BINDING, EVICTION, SCALE, TOKEN_REQUEST, request_kind};

/// All built-in resources, in kube-apiserver's order of discovery: by group, then by name. The preferred version of a
/// resource is first.
pub(crate) static KINDS: &[Kind] = &[
    Kind::table(&request_body::BINDING_DEFINITION),
    Kind::table(&config_map::CONFIG_MAP),
    Kind::table(&endpoints::ENDPOINTS),
    Kind::table(&event::EVENT),
    Kind::table(&namespace::NAMESPACE),
    Kind::table(&node::NODE),
    Kind::table(&volume::PERSISTENT_VOLUME_CLAIM),
    Kind::table(&volume::PERSISTENT_VOLUME),
    Kind::table(&pod::POD),
    Kind::table(&pod_template::POD_TEMPLATE),
    Kind::table(&workload::REPLICATION_CONTROLLER),
    Kind::table(&secret::SECRET),
    Kind::table(&service_account::SERVICE_ACCOUNT),
    Kind::table(&service::SERVICE),
    Kind::table(&workload::CONTROLLER_REVISION),
    Kind::table(&workload::DAEMON_SET),
    Kind::table(&workload::DEPLOYMENT),
    Kind::table(&workload::REPLICA_SET),
    Kind::table(&workload::STATEFUL_SET),
    Kind::table(&event::EVENT_VIEW),
    Kind::table(&review::SELF_SUBJECT_REVIEW),
    Kind::table(&review::TOKEN_REVIEW),
    Kind::table(&review::LOCAL_SUBJECT_ACCESS_REVIEW),
    Kind::table(&review::SELF_SUBJECT_ACCESS_REVIEW),
    Kind::table(&review::SELF_SUBJECT_RULES_REVIEW),
    Kind::table(&review::SUBJECT_ACCESS_REVIEW),
    Kind::table(&job::CRON_JOB),
    Kind::table(&job::JOB),
    Kind::table(&pod_disruption_budget::POD_DISRUPTION_BUDGET),
    Kind::table(&rbac::CLUSTER_ROLE_BINDING),
    Kind::table(&rbac::CLUSTER_ROLE),
    Kind::table(&rbac::ROLE_BINDING),
    Kind::table(&rbac::ROLE),
    Kind::table(&csi_driver::CSI_DRIVER),
    Kind::table(&csi_driver::CSI_DRIVER_1_18),
    Kind::table(&csi_node::CSI_NODE),
    Kind::table(&csi_storage_capacity::CSI_STORAGE_CAPACITY),
    Kind::table(&csi_storage_capacity::V1BETA1),
    Kind::table(&csi_storage_capacity::V1ALPHA1),
    Kind::table(&csi_storage_capacity::V1ALPHA1_FIRST),
    Kind::table(&storage_class::STORAGE_CLASS),
    Kind::table(&volume_attachment::VOLUME_ATTACHMENT),
    Kind::table(&volume_attributes_class::VOLUME_ATTRIBUTES_CLASS),
    Kind::table(&priority_class::PRIORITY_CLASS),
    Kind::table(&lease::LEASE),
    Kind::table(&endpoint_slice::ENDPOINT_SLICE),
    Kind::table(&device::DEVICE_CLASS),
    Kind::table(&device::RESOURCE_CLAIM),
    Kind::table(&device::RESOURCE_CLAIM_TEMPLATE),
    Kind::table(&device::RESOURCE_SLICE),
];

/// Kinds whose objects the server itself creates.
pub(crate) static CONFIG_MAP: Kind = Kind::table(&config_map::CONFIG_MAP);
pub(crate) static NAMESPACE: Kind = Kind::table(&namespace::NAMESPACE);
/// Kinds of the `kubernetes` service.
pub(crate) static ENDPOINTS: Kind = Kind::table(&endpoints::ENDPOINTS);
pub(crate) static ENDPOINT_SLICE: Kind = Kind::table(&endpoint_slice::ENDPOINT_SLICE);
pub(crate) static SERVICE: Kind = Kind::table(&service::SERVICE);
/// Kinds whose objects admission, eviction and connect requests read.
pub(crate) static NODE: Kind = Kind::table(&node::NODE);
pub(crate) static POD: Kind = Kind::table(&pod::POD);
pub(crate) static POD_DISRUPTION_BUDGET: Kind = Kind::table(&pod_disruption_budget::POD_DISRUPTION_BUDGET);
pub(crate) static PRIORITY_CLASS: Kind = Kind::table(&priority_class::PRIORITY_CLASS);
pub(crate) static STORAGE_CLASS: Kind = Kind::table(&storage_class::STORAGE_CLASS);
/// ServiceAccounts, for which tokens are issued.
pub(crate) static SERVICE_ACCOUNT: Kind = Kind::table(&service_account::SERVICE_ACCOUNT);
pub(crate) static CLUSTER_ROLE: Kind = Kind::table(&rbac::CLUSTER_ROLE);
pub(crate) static CLUSTER_ROLE_BINDING: Kind = Kind::table(&rbac::CLUSTER_ROLE_BINDING);
pub(crate) static ROLE: Kind = Kind::table(&rbac::ROLE);
pub(crate) static ROLE_BINDING: Kind = Kind::table(&rbac::ROLE_BINDING);
