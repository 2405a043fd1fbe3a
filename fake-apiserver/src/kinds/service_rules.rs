//! What a service keeps when it changes, what goes with its type, and the rules for it.

use super::Setting;
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::machinery::{metadata, names};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::IpAddr;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// Who has a use for which fields.
type Drop = (fn(&Value) -> bool, &'static [&'static str]);

fn is_external(service: &Value) -> bool {
    service["spec"]["type"] == "ExternalName"
}

fn has_node_ports(service: &Value) -> bool {
    ["NodePort", "LoadBalancer"].contains(&string(&service["spec"], "type"))
}

fn is_balanced(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer"
}

fn is_checked(service: &Value) -> bool {
    is_balanced(service) && service["spec"]["externalTrafficPolicy"] == "Local"
}

/// Keeps what was given out, and drops what the new type has no use for and the writer has not touched.
pub(super) fn update(new: &mut Value, old: &Value, _: &Setting<'_>) {
    keep(new, old);
    let drops: [Drop; 5] = [
        (
            |service| !is_external(service),
            &["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"],
        ),
        (is_checked, &["healthCheckNodePort"]),
        (is_balanced, &["allocateLoadBalancerNodePorts"]),
        (is_balanced, &["loadBalancerClass"]),
        (has_node_ports, &["externalTrafficPolicy"]),
    ];
    for (needs, fields) in drops {
        if !needs(old) || needs(new) {
            continue;
        }
        for field in fields {
            if new["spec"][*field] == old["spec"][*field] {
                json::assign(&mut new["spec"], field, Value::Null);
            }
        }
    }
    if has_node_ports(old) && !has_node_ports(new) && node_ports(new) == node_ports(old) {
        for port in json::entries(new, "/spec/ports") {
            json::assign(port, "nodePort", Value::Null);
        }
    }
    if !is_balanced(new) {
        json::assign(&mut new["status"], "loadBalancer", json!({}));
    }
}

/// Takes over addresses and ports that the writer leaves out.
fn keep(new: &mut Value, old: &Value) {
    if !is_external(new) && !is_external(old) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            if list(&new["spec"][field]).is_empty() && string(&new["spec"], field).is_empty() {
                json::assign(&mut new["spec"], field, old["spec"][field].clone());
            }
        }
    }
    if is_checked(new) && is_checked(old) && new["spec"]["healthCheckNodePort"].is_null() {
        let port = old["spec"]["healthCheckNodePort"].clone();
        json::assign(&mut new["spec"], "healthCheckNodePort", port);
    }
    if !has_node_ports(new) || !has_node_ports(old) {
        return;
    }
    let used: HashSet<u64> = node_ports(new).into_iter().filter(|port| *port != 0).collect();
    for port in json::entries(new, "/spec/ports") {
        let mut before = list(&old["spec"]["ports"]).iter();
        let before = before.find(|before| before["name"] == port["name"]);
        let known = before.and_then(|before| before["nodePort"].as_u64());
        if port["nodePort"].as_u64().unwrap_or_default() == 0
            && let Some(known) = known.filter(|known| !used.contains(known))
        {
            port["nodePort"] = known.into();
        }
    }
}

fn node_ports(service: &Value) -> Vec<u64> {
    let ports = list(&service["spec"]["ports"]).iter();
    ports
        .map(|port| port["nodePort"].as_u64().unwrap_or_default())
        .collect()
}

/// The rules for a new service and a changed one.
pub(super) fn validate(service: &Value, faults: &mut Faults) {
    let spec = &service["spec"];
    let is_headless = spec["clusterIP"] == "None";
    let all = list(&spec["ports"]);
    if all.is_empty() && !is_headless && !is_external(service) {
        faults.required("spec.ports", "");
    }
    ports(service, all, faults);
    faults.one_of(
        "spec.sessionAffinity",
        string(spec, "sessionAffinity"),
        &["ClientIP", "None"],
    );
    if is_external(service) {
        let name = string(spec, "externalName").trim_end_matches('.');
        faults.needed("spec.externalName", name, names::subdomain);
        if !string(spec, "clusterIP").is_empty() {
            let text = "may not be set when `type` is 'ExternalName'";
            faults.forbidden("spec.clusterIPs[0]", text);
        }
    }
    faults.one_of("spec.type", string(spec, "type"), &TYPES);
    let ip = string(spec, "clusterIP");
    if !["", "None"].contains(&ip) && ip.parse::<IpAddr>().is_err() {
        let text = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        faults.invalid("spec.clusterIPs[0]", ip, text);
    }
    metadata::labels(&spec["selector"], "spec.selector", faults);
}

fn ports(service: &Value, all: &[Value], faults: &mut Faults) {
    let (mut names, mut numbers, mut nodes) = (HashSet::new(), HashSet::new(), HashSet::new());
    for (i, port) in all.iter().enumerate() {
        let at = format!("spec.ports[{i}]");
        let name = string(port, "name");
        if name.is_empty() && all.len() > 1 {
            faults.required(format!("{at}.name"), "");
        } else if !name.is_empty() {
            faults.complain(&format!("{at}.name"), name, names::label(name));
            if !names.insert(name) {
                faults.duplicate(format!("{at}.name"), name);
            }
        }
        let number = port["port"].as_i64().unwrap_or_default();
        faults.port(&format!("{at}.port"), number);
        let protocol = string(port, "protocol");
        faults.one_of(&format!("{at}.protocol"), protocol, &names::PROTOCOLS);
        if let Some(target) = port["targetPort"].as_i64() {
            faults.port(&format!("{at}.targetPort"), target);
        }
        if !numbers.insert((number, protocol)) {
            let text = format!("{{\"port\":{number},\"protocol\":{protocol:?}}}");
            faults.duplicate_as(at.clone(), &text);
        }
        let node = port["nodePort"].as_i64().filter(|port| *port != 0);
        let Some(node) = node else { continue };
        if !has_node_ports(service) {
            let text = "may not be used when `type` is 'ClusterIP'";
            faults.forbidden(format!("{at}.nodePort"), text);
        } else if !nodes.insert((node, protocol)) {
            faults.duplicate(format!("{at}.nodePort"), node);
        }
    }
}

/// What stays as it is.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    let kept = !is_external(new) && !is_external(old) && !string(&old["spec"], "clusterIP").is_empty();
    if kept && new["spec"]["clusterIP"] != old["spec"]["clusterIP"] {
        let now = new["spec"]["clusterIPs"].clone();
        faults.invalid("spec.clusterIPs[0]", now, "may not change once set");
    }
}
