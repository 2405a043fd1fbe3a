//! Validation of the type and ports of a service.
//!
//! Cluster IPs and IP families are validated in `families`.

use super::families;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::{list, string};
use fake_apiserver::extension::resource::service_parts::{has_node_ports, is_external, is_headless};
use fake_apiserver::extension::{metadata, names};
use serde_json::Value;
use std::collections::HashSet;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];

pub(super) fn validate(service: &Value, errors: &mut ErrorList) {
    let spec = &service["spec"];
    let ports = list(&spec["ports"]);
    if ports.is_empty() && !is_headless(service) && !is_external(service) {
        errors.required("spec.ports", "");
    }
    validate_type(service, errors);
    let mut names = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (at, name) = (format!("spec.ports[{i}]"), string(port, "name"));
        if name.is_empty() && ports.len() > 1 {
            errors.required(format!("{at}.name"), "");
        } else if !name.is_empty() {
            errors.invalid_all(&format!("{at}.name"), name, names::dns_label(name));
            if !names.insert(name) {
                errors.duplicate(format!("{at}.name"), name);
            }
        }
        errors.validate_port(&format!("{at}.port"), port["port"].as_i64().unwrap_or_default());
        let protocol = string(port, "protocol");
        errors.one_of(&format!("{at}.protocol"), protocol, &names::PROTOCOLS);
    }
    metadata::validate_labels(&spec["selector"], "spec.selector", errors);
    families::validate(service, errors);
    match string(spec, "type") {
        "" => errors.required("spec.type", ""),
        of => errors.one_of("spec.type", of, &TYPES),
    }
}

fn validate_type(service: &Value, errors: &mut ErrorList) {
    let spec = &service["spec"];
    if has_node_ports(service) && is_headless(service) {
        let why = format!("may not be set to 'None' for {} services", string(spec, "type"));
        errors.invalid("spec.clusterIPs[0]", "None", &why);
    }
    if !is_external(service) {
        return;
    }
    for name in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
        if !list(&spec[name]).is_empty() || spec[name].is_string() {
            errors.forbidden(format!("spec.{name}"), "may not be set for ExternalName services");
        }
    }
    let name = string(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    errors.require_valid("spec.externalName", name, names::subdomain);
}

/// Validates an update of a service. Immutable fields are checked first.
pub(super) fn validate_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    families::validate_update(new, old, errors);
    validate(new, errors);
}
