//! Validation of a service: its type and ports.
//!
//! Addresses and families are validated in `service_families`.

use super::service_families;
use super::service_parts::{has_node_ports, is_external, is_headless};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::{metadata, names};
use serde_json::Value;
use std::collections::HashSet;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

/// Validation for create.
pub(super) fn validate(service: &Value, faults: &mut ErrorList) {
    let spec = &service["spec"];
    let ports = list(&spec["ports"]);
    if ports.is_empty() && !is_headless(service) && !is_external(service) {
        faults.required("spec.ports", "");
    }
    of_type(service, faults);
    let mut names = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (at, name) = (format!("spec.ports[{i}]"), string(port, "name"));
        if name.is_empty() && ports.len() > 1 {
            faults.required(format!("{at}.name"), "");
        } else if !name.is_empty() {
            faults.invalid_all(&format!("{at}.name"), name, names::label(name));
            if !names.insert(name) {
                faults.duplicate(format!("{at}.name"), name);
            }
        }
        faults.port(&format!("{at}.port"), port["port"].as_i64().unwrap_or_default());
        let protocol = string(port, "protocol");
        faults.one_of(&format!("{at}.protocol"), protocol, &names::PROTOCOLS);
    }
    metadata::labels(&spec["selector"], "spec.selector", faults);
    service_families::validate(service, faults);
    match string(spec, "type") {
        "" => faults.required("spec.type", ""),
        of => faults.one_of("spec.type", of, &TYPES),
    }
}

fn of_type(service: &Value, faults: &mut ErrorList) {
    let spec = &service["spec"];
    if has_node_ports(service) && is_headless(service) {
        let why = format!("may not be set to 'None' for {} services", string(spec, "type"));
        faults.invalid("spec.clusterIPs[0]", "None", &why);
    }
    if !is_external(service) {
        return;
    }
    for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !list(&spec[name]).is_empty() || spec[name].is_string() {
            faults.forbidden(format!("spec.{name}"), "may not be set for ExternalName services");
        }
    }
    let name = string(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    faults.require_valid("spec.externalName", name, names::subdomain);
}

/// Validates an update, immutable fields first.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut ErrorList) {
    service_families::validate_update(new, old, faults);
    validate(new, faults);
}
