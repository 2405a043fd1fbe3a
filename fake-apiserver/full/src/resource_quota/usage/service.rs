//! Quota usage of services: count, load balancers and node ports.

use fake_apiserver::extension::Amounts;
use fake_apiserver::extension::json::{list, string};
use fake_apiserver::quantity::Quantity;
use serde_json::Value;

const TRACKED: [&str; 3] = ["services", "services.loadbalancers", "services.nodeports"];

pub(super) fn tracks(name: &str) -> bool {
    TRACKED.contains(&name)
}

/// The quota usage of a service. For type NodePort, a port counts even before its node port is allocated.
pub(super) fn usage(service: &Value) -> Amounts {
    let spec = &service["spec"];
    let ports = list(&spec["ports"]);
    let has_node_port = |port: &&Value| port["nodePort"].as_i64().unwrap_or_default() != 0;
    let (balancers, ports) = match string(spec, "type") {
        "NodePort" => (0, ports.len()),
        "LoadBalancer" if spec["allocateLoadBalancerNodePorts"] == false => {
            (1, ports.iter().filter(has_node_port).count())
        }
        "LoadBalancer" => (1, ports.len()),
        _ => (0, 0),
    };
    let mut used = Amounts::default();
    for (name, number) in TRACKED.into_iter().zip([1, balancers, ports]) {
        used.set(
            name,
            Quantity::from_integer(i64::try_from(number).unwrap_or(i64::MAX)),
        );
    }
    used
}
