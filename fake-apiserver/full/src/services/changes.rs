//! Fields that are cleared when an update changes the type of a service: those that do not apply to the new type, unless the client changed
//! them.

use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::Setting;
use fake_apiserver::extension::resource::service_parts::{
    has_node_ports, is_balanced, is_checked, is_external, is_reached, node_ports,
};
use serde_json::{Value, json};

/// Fields that are cleared together, and the condition under which they apply to a service.
type Fields = (fn(&Value) -> bool, &'static [&'static str]);

const FIELDS: [Fields; 8] = [
    (|service| !is_external(service), &["clusterIP", "clusterIPs"]),
    (|service| !is_external(service), &["ipFamilies"]),
    (|service| !is_external(service), &["ipFamilyPolicy"]),
    (|service| !is_external(service), &["internalTrafficPolicy"]),
    (is_checked, &["healthCheckNodePort"]),
    (is_balanced, &["allocateLoadBalancerNodePorts"]),
    (is_balanced, &["loadBalancerClass"]),
    (is_reached, &["externalTrafficPolicy"]),
];

/// Clears fields that no longer apply to the service and still have their old values.
pub(super) fn update(new: &mut Value, old: &Value, _: &Setting<'_>) {
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
    // A write to `/status` sets the load balancer status itself, so it is not cleared.
    if !is_balanced(new) && new["status"] == old["status"] {
        json::assign(&mut new["status"], "loadBalancer", json!({}));
    }
}
