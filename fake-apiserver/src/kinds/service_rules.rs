//! The rules for a service (`validateService` of core/v1), in the order in which the real server has them.
//!
//! Those for addresses and their families are in `service_families`.

use super::endpoints::reachable;
use super::service_families;
use super::service_parts::{
    HINTS, has_node_ports, is_balanced, is_checked, is_external, is_headless, is_reached,
};
use crate::machinery::faults::Faults;
use crate::machinery::json::{list, string, texts};
use crate::machinery::{ip, metadata, names};
use serde_json::Value;
use std::collections::HashSet;

const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SESSION_SECONDS_MAX: i64 = 86_400;
const BALANCED_ONLY: &str = "may only be used when `type` is 'LoadBalancer'";
const MODE: &str = "service.kubernetes.io/topology-mode";
const RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";

/// The rules for a new service, and for what becomes of one that changes.
pub(super) fn validate(service: &Value, faults: &mut Faults) {
    let (spec, annotations) = (&service["spec"], &service["metadata"]["annotations"]);
    if let (Some(mode), Some(hints)) = (annotations[MODE].as_str(), annotations[HINTS].as_str())
        && mode != hints
    {
        let why = format!("must match annotations[{HINTS}] when both are specified");
        faults.invalid(format!("metadata.annotations[{MODE}]"), mode, &why);
    }
    let ports = list(&spec["ports"]);
    if ports.is_empty() && !is_headless(service) && !is_external(service) {
        faults.required("spec.ports", "");
    }
    of_type(service, faults);
    let mut names = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        one_port(
            port,
            ports.len() > 1,
            &mut names,
            &format!("spec.ports[{i}]"),
            faults,
        );
    }
    metadata::labels(&spec["selector"], "spec.selector", faults);
    session(spec, faults);
    service_families::validate(service, faults);
    for (i, address) in texts(&spec["externalIPs"]).into_iter().enumerate() {
        let field = format!("spec.externalIPs[{i}]");
        let complaints = ip::any_form(address);
        match complaints.is_empty() {
            true => {
                if ip::parse(address).is_some_and(|address| address.to_canonical().is_loopback()) {
                    let why = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
                    faults.invalid(field.as_str(), address, why);
                }
                reachable(address, &field, faults);
            }
            false => faults.complain(&field, address, complaints),
        }
    }
    match string(spec, "type") {
        "" => faults.required("spec.type", ""),
        of => faults.one_of("spec.type", of, &TYPES),
    }
    all_ports(service, ports, faults);
    source_ranges(service, faults);
    balanced(service, faults);
    traffic(service, faults);
}

fn of_type(service: &Value, faults: &mut Faults) {
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
    faults.needed("spec.externalName", name, names::subdomain);
}

fn one_port<'a>(
    port: &'a Value,
    needs_name: bool,
    names: &mut HashSet<&'a str>,
    at: &str,
    faults: &mut Faults,
) {
    let name = string(port, "name");
    if name.is_empty() && needs_name {
        faults.required(format!("{at}.name"), "");
    } else if !name.is_empty() {
        faults.complain(&format!("{at}.name"), name, names::label(name));
        if !names.insert(name) {
            faults.duplicate(format!("{at}.name"), name);
        }
    }
    faults.port(&format!("{at}.port"), port["port"].as_i64().unwrap_or_default());
    let protocol = string(port, "protocol");
    faults.one_of(&format!("{at}.protocol"), protocol, &names::PROTOCOLS);
    let field = format!("{at}.targetPort");
    match &port["targetPort"] {
        Value::String(name) => faults.complain(&field, name, names::port(name)),
        number => faults.port(&field, number.as_i64().unwrap_or_default()),
    }
    if let Some(of) = port["appProtocol"].as_str() {
        faults.complain(&format!("{at}.appProtocol"), of, names::qualified(of));
    }
}

/// What no two ports have in common, and what only ports of nodes have.
fn all_ports(service: &Value, ports: &[Value], faults: &mut Faults) {
    let numbered = ports.iter().enumerate().filter_map(|(i, port)| {
        let number = port["nodePort"].as_i64().filter(|number| *number != 0)?;
        Some((
            format!("spec.ports[{i}].nodePort"),
            number,
            string(port, "protocol"),
        ))
    });
    let numbered: Vec<_> = numbered.collect();
    if service["spec"]["type"] == "ClusterIP" {
        for (field, ..) in &numbered {
            faults.forbidden(field.as_str(), "may not be used when `type` is 'ClusterIP'");
        }
    }
    let mut seen = HashSet::new();
    for (field, number, protocol) in numbered {
        if !seen.insert((number, protocol)) {
            faults.duplicate(field, number);
        }
    }
    let mut seen = HashSet::new();
    for (i, port) in ports.iter().enumerate() {
        let (number, protocol) = (
            port["port"].as_i64().unwrap_or_default(),
            string(port, "protocol"),
        );
        if !seen.insert((number, protocol)) {
            // The value is of the server's own type, of which nothing else is set.
            let shown = format!(
                "{{\"Name\":\"\",\"Protocol\":{protocol:?},\"AppProtocol\":null,\"Port\":{number},\"TargetPort\":0,\"NodePort\":0}}"
            );
            faults.duplicate_as(format!("spec.ports[{i}]"), &shown);
        }
    }
}

/// How long requests of one client go to the same pod.
fn session(spec: &Value, faults: &mut Faults) {
    let affinity = string(spec, "sessionAffinity");
    faults.one_of("spec.sessionAffinity", affinity, &["ClientIP", "None"]);
    let (at, config) = ("spec.sessionAffinityConfig", &spec["sessionAffinityConfig"]);
    if affinity == "None" && !config.is_null() {
        faults.forbidden(at, "must not be set when session affinity is None");
    }
    let seconds = config["clientIP"]["timeoutSeconds"].as_i64();
    if affinity == "ClientIP"
        && let Some(seconds) = seconds.filter(|seconds| !(1..=SESSION_SECONDS_MAX).contains(seconds))
    {
        let why = format!("must be greater than 0 and less than {SESSION_SECONDS_MAX}");
        faults.invalid(format!("{at}.clientIP.timeoutSeconds"), seconds, &why);
    }
}

/// Who may reach a load balancer, by the field or by the annotation before it.
fn source_ranges(service: &Value, faults: &mut Faults) {
    let ranges = texts(&service["spec"]["loadBalancerSourceRanges"]);
    let annotated = service["metadata"]["annotations"][RANGES].as_str();
    let at = match (ranges.is_empty(), annotated) {
        (false, _) => "spec.LoadBalancerSourceRanges".to_owned(),
        (true, Some(_)) => format!("metadata.annotations[{RANGES}]"),
        (true, None) => return,
    };
    if !is_balanced(service) {
        faults.forbidden(at.as_str(), BALANCED_ONLY);
    }
    for (i, range) in ranges.iter().enumerate() {
        let range = range.trim();
        faults.complain(&format!("{at}[{i}]"), range, ip::any_form_of_range(range));
    }
    let annotated = annotated
        .map(str::trim)
        .filter(|all| ranges.is_empty() && !all.is_empty());
    for range in annotated
        .into_iter()
        .flat_map(|all| all.split(','))
        .map(str::trim)
    {
        faults.complain(&at, range, ip::any_form_of_range(range));
    }
}

fn balanced(service: &Value, faults: &mut Faults) {
    let spec = &service["spec"];
    if !spec["allocateLoadBalancerNodePorts"].is_null() && !is_balanced(service) {
        faults.forbidden("spec.allocateLoadBalancerNodePorts", BALANCED_ONLY);
    }
    class(service, faults);
}

/// The rules for the class of a load balancer.
fn class(service: &Value, faults: &mut Faults) {
    let field = "spec.loadBalancerClass";
    match service["spec"]["loadBalancerClass"].as_str() {
        Some(class) if is_balanced(service) => faults.complain(field, class, names::qualified(class)),
        Some(_) => faults.forbidden(field, BALANCED_ONLY),
        None => {}
    }
}

fn traffic(service: &Value, faults: &mut Faults) {
    let spec = &service["spec"];
    let (field, policy) = (
        "spec.externalTrafficPolicy",
        string(spec, "externalTrafficPolicy"),
    );
    match (is_reached(service), policy) {
        (false, "") => {}
        (false, policy) => {
            faults.invalid(
                field,
                policy,
                "may only be set for externally-accessible services",
            );
        }
        (true, "") => faults.required(field, ""),
        (true, policy) => faults.one_of(field, policy, &["Cluster", "Local"]),
    }
    let (field, port) = (
        "spec.healthCheckNodePort",
        spec["healthCheckNodePort"].as_i64().unwrap_or_default(),
    );
    if is_checked(service) {
        match port {
            0 => faults.required(field, ""),
            port => faults.port(field, port),
        }
    } else if port != 0 {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        faults.invalid(field, port, why);
    }
    if let Some(policy) = spec["internalTrafficPolicy"].as_str() {
        faults.one_of("spec.internalTrafficPolicy", policy, &["Cluster", "Local"]);
    }
    if let Some(way) = spec["trafficDistribution"].as_str() {
        let known = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        faults.one_of("spec.trafficDistribution", way, &known);
    }
}

/// The rules for a changed service: first what stays as it is.
pub(super) fn validate_update(new: &Value, old: &Value, faults: &mut Faults) {
    service_families::validate_update(new, old, faults);
    let class_of = |service: &Value| service["spec"]["loadBalancerClass"].clone();
    if is_balanced(new) && is_balanced(old) && class_of(new) != class_of(old) {
        faults.invalid("spec.loadBalancerClass", class_of(new), "may not change once set");
    }
    class(new, faults);
    let port = |service: &Value| {
        service["spec"]["healthCheckNodePort"]
            .as_i64()
            .unwrap_or_default()
    };
    if is_checked(new) && is_checked(old) && port(new) != port(old) {
        faults.forbidden("spec.healthCheckNodePort", "field is immutable");
    }
    validate(new, faults);
}

/// The rules for what a load balancer has become.
pub(super) fn validate_status(new: &Value, _: &Value, faults: &mut Faults) {
    let (at, ingress) = (
        "status.loadBalancer.ingress",
        list(&new["status"]["loadBalancer"]["ingress"]),
    );
    if !is_balanced(new) && !ingress.is_empty() {
        return faults.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'");
    }
    for (i, point) in ingress.iter().enumerate() {
        let (at, address) = (format!("{at}[{i}]"), string(point, "ip"));
        if !address.is_empty() {
            faults.complain(&format!("{at}.ip"), address, ip::any_form(address));
        }
        let field = format!("{at}.ipMode");
        match (point["ipMode"].as_str(), address) {
            (None, "") => {}
            (None, _) => faults.required(field, "must be specified when `ip` is set"),
            (Some(_), "") => faults.forbidden(field, "may not be specified when `ip` is not set"),
            (Some(mode), _) => faults.one_of(&field, mode, &["Proxy", "VIP"]),
        }
        let host = string(point, "hostname");
        if !host.is_empty() {
            let field = format!("{at}.hostname");
            faults.complain(&field, host, names::subdomain(host));
            if ip::parse(host).is_some() {
                faults.invalid(field, host, "must be a DNS name, not an IP address");
            }
        }
    }
}
