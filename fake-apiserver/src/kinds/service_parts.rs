//! Properties of a service, derived from its type and other fields.

use crate::machinery::json::{list, string, texts};
use serde_json::Value;

/// Whether the service is an alias of an external DNS name (type ExternalName), without addresses and ports.
pub fn is_external(service: &Value) -> bool {
    service["spec"]["type"] == "ExternalName"
}

/// Whether the service is headless, that is, has no cluster IP.
pub fn is_headless(service: &Value) -> bool {
    texts(&service["spec"]["clusterIPs"]) == ["None"]
}

/// Whether the service has a type with node ports: NodePort or LoadBalancer.
pub fn has_node_ports(service: &Value) -> bool {
    ["NodePort", "LoadBalancer"].contains(&string(&service["spec"], "type"))
}

/// Whether the type of the service is LoadBalancer.
pub fn is_load_balancer(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer"
}

/// Whether the load balancer checks the health of nodes, because only nodes with endpoints receive traffic.
pub fn needs_health_check(service: &Value) -> bool {
    is_load_balancer(service) && service["spec"]["externalTrafficPolicy"] == "Local"
}

/// Whether the service can be reached from outside the cluster.
pub fn is_externally_accessible(service: &Value) -> bool {
    let spec = &service["spec"];
    has_node_ports(service) || spec["type"] == "ClusterIP" && !list(&spec["externalIPs"]).is_empty()
}

/// The node port of each port of the service; 0 if unset.
pub fn node_ports(service: &Value) -> Vec<u64> {
    let ports = list(&service["spec"]["ports"]).iter();
    ports
        .map(|port| port["nodePort"].as_u64().unwrap_or_default())
        .collect()
}
