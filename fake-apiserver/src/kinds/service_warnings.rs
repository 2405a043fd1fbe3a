//! What a service is warned about: fields that nobody looks at, and forms that have successors.

use super::service_parts::HINTS;
use crate::machinery::ip;
use crate::machinery::json::{list, string, texts};
use serde_json::Value;

pub(super) fn warn(new: &Value, old: &Value) -> Vec<String> {
    let is_of_status = !old.is_null() && new["spec"] == old["spec"] && new["status"] != old["status"];
    match is_of_status {
        true => of_status(new),
        false => of_spec(new),
    }
}

fn of_status(service: &Value) -> Vec<String> {
    let points = list(&service["status"]["loadBalancer"]["ingress"])
        .iter()
        .enumerate();
    points
        .filter_map(|(i, point)| {
            ip::warning(string(point, "ip"), &format!("status.loadBalancer.ingress[{i}]"))
        })
        .collect()
}

fn of_spec(service: &Value) -> Vec<String> {
    let spec = &service["spec"];
    let has_hints = !service["metadata"]["annotations"][HINTS].is_null();
    let is_headless = spec["type"] == "ClusterIP" && spec["clusterIP"] == "None";
    let is_external = spec["type"] == "ExternalName";
    let has_external_ips = !list(&spec["externalIPs"]).is_empty();
    let mut warnings = Vec::from_iter(says(
        has_hints,
        "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
    ));
    if !["", "None"].contains(&string(spec, "clusterIP")) {
        warnings.extend(of_addresses(spec, "clusterIPs"));
    }
    if is_headless {
        let balancer = !string(spec, "loadBalancerIP").is_empty();
        let has_sessions = spec["sessionAffinity"] != "None";
        warnings.extend(says(
            balancer,
            "spec.loadBalancerIP is ignored for headless services",
        ));
        warnings.extend(says(
            has_external_ips,
            "spec.externalIPs is ignored for headless services",
        ));
        warnings.extend(says(
            has_sessions,
            "spec.SessionAffinity is ignored for headless services",
        ));
    }
    warnings.extend(of_addresses(spec, "externalIPs"));
    warnings.extend(says(
        has_external_ips && !is_headless && !is_external,
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    ));
    warnings.extend(ip::warning(string(spec, "loadBalancerIP"), "spec.loadBalancerIP"));
    for (i, range) in texts(&spec["loadBalancerSourceRanges"]).into_iter().enumerate() {
        warnings.extend(ip::range_warnings(
            range,
            &format!("spec.loadBalancerSourceRanges[{i}]"),
        ));
    }
    warnings.extend(says(
        is_external && has_external_ips,
        "spec.externalIPs is ignored when spec.type is \"ExternalName\"",
    ));
    warnings.extend(says(
        !is_external && !string(spec, "externalName").is_empty(),
        "spec.externalName is ignored when spec.type is not \"ExternalName\"",
    ));
    warnings.extend(says(
        spec["trafficDistribution"] == "PreferClose",
        "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"",
    ));
    warnings
}

/// A warning where it holds.
fn says(holds: bool, text: &str) -> Option<String> {
    holds.then(|| text.to_owned())
}

/// The warnings about addresses of a list.
fn of_addresses(spec: &Value, name: &str) -> Vec<String> {
    let all = texts(&spec[name]).into_iter().enumerate();
    all.filter_map(|(i, address)| ip::warning(address, &format!("spec.{name}[{i}]")))
        .collect()
}
