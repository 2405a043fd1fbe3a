//! Resources that are stored and printed, without a controller that acts on their objects.

mod api_service;
mod autoscaler;
mod certificates;
mod flow;
mod ingress;
mod network_policy;
mod quota;
mod runtime_class;

use fake_apiserver::extension::resource::{PLAIN, ResourceDefinition};

/// The resource definitions of this module's kinds. If a kind has several API versions, the preferred version is first.
pub(super) fn definitions() -> Vec<&'static ResourceDefinition> {
    vec![
        &api_service::API_SERVICE,
        &autoscaler::HORIZONTAL_POD_AUTOSCALER,
        &autoscaler::HORIZONTAL_POD_AUTOSCALER_V1,
        &certificates::CERTIFICATE_SIGNING_REQUEST,
        &flow::FLOW_SCHEMA,
        &flow::PRIORITY_LEVEL_CONFIGURATION,
        &ingress::INGRESS_CLASS,
        &ingress::INGRESS,
        &network_policy::NETWORK_POLICY,
        &quota::LIMIT_RANGE,
        &quota::RESOURCE_QUOTA,
        &runtime_class::RUNTIME_CLASS,
    ]
}

/// The properties that all kinds of networking.k8s.io share.
pub(crate) const NETWORKING: ResourceDefinition = ResourceDefinition {
    group: "networking.k8s.io",
    ..PLAIN
};
