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
    Conversion, ConversionWebhook, CustomResourceStrategy, CustomResourceVersion, EmbeddedObjectError,
    NullHandling, ScalePaths, SchemaMismatch,
};
pub(crate) use endpoints::{first_ready, port_named};
pub use hooks::{Hooks, NO_HOOKS, PartHooks, Paths, Requester, StrategyContext};
pub use internal_form::format_compact as internal_form;
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
    StorageConversion, UnstoredAction, not_supported,
};
pub use selectors::labels as label_selector;
pub(crate) use selectors::{
    is_operator as is_label_operator, requirement as label_requirement,
    validate_value_count as requirement_values,
};
pub use service::DEFINITION as SERVICE_DEFINITION;

pub(crate) use request_body::{BINDING, EVICTION, SCALE, TOKEN_REQUEST, request_kind};

/// All built-in resources, in kube-apiserver's order of discovery: by group, then by name. The preferred version of a
/// resource is first.
pub(crate) static KINDS: &[Kind] = &[
    Kind::built_in(&request_body::BINDING_DEFINITION),
    Kind::built_in(&config_map::CONFIG_MAP),
    Kind::built_in(&endpoints::ENDPOINTS),
    Kind::built_in(&event::EVENT),
    Kind::built_in(&namespace::NAMESPACE),
    Kind::built_in(&node::NODE),
    Kind::built_in(&volume::PERSISTENT_VOLUME_CLAIM),
    Kind::built_in(&volume::PERSISTENT_VOLUME),
    Kind::built_in(&pod::POD),
    Kind::built_in(&pod_template::POD_TEMPLATE),
    Kind::built_in(&workload::REPLICATION_CONTROLLER),
    Kind::built_in(&secret::SECRET),
    Kind::built_in(&service_account::SERVICE_ACCOUNT),
    Kind::built_in(&service::SERVICE),
    Kind::built_in(&workload::CONTROLLER_REVISION),
    Kind::built_in(&workload::DAEMON_SET),
    Kind::built_in(&workload::DEPLOYMENT),
    Kind::built_in(&workload::REPLICA_SET),
    Kind::built_in(&workload::STATEFUL_SET),
    Kind::built_in(&event::EVENT_VIEW),
    Kind::built_in(&review::SELF_SUBJECT_REVIEW),
    Kind::built_in(&review::TOKEN_REVIEW),
    Kind::built_in(&review::LOCAL_SUBJECT_ACCESS_REVIEW),
    Kind::built_in(&review::SELF_SUBJECT_ACCESS_REVIEW),
    Kind::built_in(&review::SELF_SUBJECT_RULES_REVIEW),
    Kind::built_in(&review::SUBJECT_ACCESS_REVIEW),
    Kind::built_in(&job::CRON_JOB),
    Kind::built_in(&job::JOB),
    Kind::built_in(&pod_disruption_budget::POD_DISRUPTION_BUDGET),
    Kind::built_in(&rbac::CLUSTER_ROLE_BINDING),
    Kind::built_in(&rbac::CLUSTER_ROLE),
    Kind::built_in(&rbac::ROLE_BINDING),
    Kind::built_in(&rbac::ROLE),
    Kind::built_in(&csi_driver::CSI_DRIVER),
    Kind::built_in(&csi_driver::CSI_DRIVER_1_18),
    Kind::built_in(&csi_node::CSI_NODE),
    Kind::built_in(&csi_storage_capacity::CSI_STORAGE_CAPACITY),
    Kind::built_in(&csi_storage_capacity::V1BETA1),
    Kind::built_in(&csi_storage_capacity::V1ALPHA1),
    Kind::built_in(&csi_storage_capacity::V1ALPHA1_FIRST),
    Kind::built_in(&storage_class::STORAGE_CLASS),
    Kind::built_in(&volume_attachment::VOLUME_ATTACHMENT),
    Kind::built_in(&volume_attributes_class::VOLUME_ATTRIBUTES_CLASS),
    Kind::built_in(&priority_class::PRIORITY_CLASS),
    Kind::built_in(&lease::LEASE),
    Kind::built_in(&endpoint_slice::ENDPOINT_SLICE),
    Kind::built_in(&device::DEVICE_CLASS),
    Kind::built_in(&device::RESOURCE_CLAIM),
    Kind::built_in(&device::RESOURCE_CLAIM_TEMPLATE),
    Kind::built_in(&device::RESOURCE_SLICE),
];

/// The kind ConfigMap: the server creates ConfigMaps at start.
pub(crate) static CONFIG_MAP: Kind = Kind::built_in(&config_map::CONFIG_MAP);
pub(crate) static NAMESPACE: Kind = Kind::built_in(&namespace::NAMESPACE);
/// The kind Endpoints: the `kubernetes` service has an Endpoints object.
pub(crate) static ENDPOINTS: Kind = Kind::built_in(&endpoints::ENDPOINTS);
pub(crate) static ENDPOINT_SLICE: Kind = Kind::built_in(&endpoint_slice::ENDPOINT_SLICE);
pub(crate) static SERVICE: Kind = Kind::built_in(&service::SERVICE);
/// The kind Node: admission, eviction and connect requests read nodes.
pub(crate) static NODE: Kind = Kind::built_in(&node::NODE);
pub(crate) static POD: Kind = Kind::built_in(&pod::POD);
pub(crate) static POD_DISRUPTION_BUDGET: Kind = Kind::built_in(&pod_disruption_budget::POD_DISRUPTION_BUDGET);
pub(crate) static PRIORITY_CLASS: Kind = Kind::built_in(&priority_class::PRIORITY_CLASS);
pub(crate) static STORAGE_CLASS: Kind = Kind::built_in(&storage_class::STORAGE_CLASS);
/// The kind ServiceAccount: the server issues tokens for service accounts.
pub(crate) static SERVICE_ACCOUNT: Kind = Kind::built_in(&service_account::SERVICE_ACCOUNT);
pub(crate) static CLUSTER_ROLE: Kind = Kind::built_in(&rbac::CLUSTER_ROLE);
pub(crate) static CLUSTER_ROLE_BINDING: Kind = Kind::built_in(&rbac::CLUSTER_ROLE_BINDING);
pub(crate) static ROLE: Kind = Kind::built_in(&rbac::ROLE);
pub(crate) static ROLE_BINDING: Kind = Kind::built_in(&rbac::ROLE_BINDING);
