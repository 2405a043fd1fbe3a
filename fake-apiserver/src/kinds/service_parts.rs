//! What a service is, by its type and a few of its fields.

use crate::machinery::json::{list, string, texts};
use serde_json::Value;

/// It is a name for something outside, without addresses and ports of its own.
pub(super) fn is_external(service: &Value) -> bool {
    service["spec"]["type"] == "ExternalName"
}

/// It has no address.
pub(super) fn is_headless(service: &Value) -> bool {
    texts(&service["spec"]["clusterIPs"]) == ["None"]
}

/// It has ports on all nodes.
pub(super) fn has_node_ports(service: &Value) -> bool {
    ["NodePort", "LoadBalancer"].contains(&string(&service["spec"], "type"))
}

/// It has a load balancer.
pub(super) fn is_balanced(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer"
}

/// Its load balancer asks nodes for their health, since not all of them have an endpoint.
pub(super) fn is_checked(service: &Value) -> bool {
    is_balanced(service) && service["spec"]["externalTrafficPolicy"] == "Local"
}

/// It is reached from outside.
pub(super) fn is_reached(service: &Value) -> bool {
    let spec = &service["spec"];
    has_node_ports(service) || spec["type"] == "ClusterIP" && !list(&spec["externalIPs"]).is_empty()
}

/// Its ports of nodes, port by port; 0 where there is none.
pub(super) fn node_ports(service: &Value) -> Vec<u64> {
    let ports = list(&service["spec"]["ports"]).iter();
    ports
        .map(|port| port["nodePort"].as_u64().unwrap_or_default())
        .collect()
}
