//! Clears fields of a service that do not apply to its new type when an update changes the type. Fields that the client has changed are
//! not cleared, but validated.

use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::StrategyContext;
use fake_apiserver::extension::resource::service_parts::{
    has_node_ports, is_external, is_externally_accessible, is_load_balancer, needs_health_check, node_ports,
};
use serde_json::{Value, json};

/// Service fields that are cleared together, and the condition under which the fields apply to a service.
type ConditionalFields = (fn(&Value) -> bool, &'static [&'static str]);

const FIELDS: [ConditionalFields; 8] = [
    (|service| !is_external(service), &["clusterIP", "clusterIPs"]),
    (|service| !is_external(service), &["ipFamilies"]),
    (|service| !is_external(service), &["ipFamilyPolicy"]),
    (|service| !is_external(service), &["internalTrafficPolicy"]),
    (needs_health_check, &["healthCheckNodePort"]),
    (is_load_balancer, &["allocateLoadBalancerNodePorts"]),
    (is_load_balancer, &["loadBalancerClass"]),
    (is_externally_accessible, &["externalTrafficPolicy"]),
];

/// Clears fields that no longer apply to the service and still have their old values.
pub(super) fn update(new: &mut Value, old: &Value, _: &StrategyContext<'_>) {
    for (needs, fields) in FIELDS {
        let stays = fields
            .iter()
            .all(|field| new["spec"][*field] == old["spec"][*field]);
        if needs(old) && !needs(new) && stays {
            for field in fields {
                json::assign(&mut new["spec"], field, Value::Null);
            }
        }
    }
    let before = node_ports(old);
    let stay = node_ports(new)
        .iter()
        .all(|port| *port == 0 || before.contains(port));
    if has_node_ports(old) && !has_node_ports(new) && stay {
        for port in json::entries(new, "/spec/ports") {
            json::assign(port, "nodePort", Value::Null);
        }
    }
    // A write to `/status` sets `status.loadBalancer`, so a changed status is not cleared.
    if !is_load_balancer(new) && new["status"] == old["status"] {
        json::assign(&mut new["status"], "loadBalancer", json!({}));
    }
}
