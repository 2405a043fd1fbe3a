//! Services, with their defaults. Addresses and ports are given out by `verbs::addresses`.

use super::row::not_supported;
use super::workload::SELECTOR;
use super::{Hooks, NO_HOOKS, PLAIN, Row, Setting, Subresource, service_rules};
use crate::config::admission::Plugin;
use crate::kinds::columns::Cell::{Join, Of, TextOr};
use crate::kinds::columns::{AGE, NAME, or, text};
use crate::machinery::json;
use crate::machinery::selector::selectable;
use serde_json::{Value, json};

pub(super) static SERVICE: Row = Row {
    kind: "Service",
    plural: "services",
    registry: Some("services/specs"),
    singular: "service",
    short_names: &["svc"],
    categories: &["all"],
    status: true,
    subresources: &[Subresource::Proxy],
    create_on_update: true,
    admission: &[Plugin::DenyServiceExternalIps],
    returns_deleted: true,
    hooks: Hooks {
        default: service_default,
        create: service_create,
        update: service_rules::update,
        validate: service_rules::validate,
        validate_update: service_rules::validate_update,
        ..NO_HOOKS
    },
    selectable: &[
        selectable("spec.clusterIP", &["/spec/clusterIP"]),
        selectable("spec.type", &["/spec/type"]),
    ],
    unknown_label: not_supported,
    columns: &[
        NAME,
        text("Type", TextOr("/spec/type", "ClusterIP")),
        text("Cluster-IP", TextOr("/spec/clusterIP", "<none>")),
        text("External-IP", Join("/spec/externalIPs", "<none>")),
        text("Port(s)", Of(ports)),
        AGE,
        SELECTOR,
    ],
    ..PLAIN
};

fn service_default(object: &mut Value) {
    let spec = &mut object["spec"];
    json::default_member(spec, "sessionAffinity", "None");
    json::default_member(spec, "type", "ClusterIP");
    if spec["sessionAffinity"] == "ClientIP" {
        let lasting = json!({"clientIP": {"timeoutSeconds": 10_800}});
        json::default_member(spec, "sessionAffinityConfig", lasting);
    }
    for port in json::entries(spec, "/ports") {
        json::default_member(port, "protocol", "TCP");
        // A target port that is zero or empty counts as not set.
        if [json!(null), json!(0), json!("")].contains(&port["targetPort"]) {
            port["targetPort"] = port["port"].clone();
        }
    }
    if ["NodePort", "LoadBalancer"].iter().any(|of| spec["type"] == *of) {
        json::default_member(spec, "externalTrafficPolicy", "Cluster");
    }
    if spec["type"] == "LoadBalancer" {
        json::default_member(spec, "allocateLoadBalancerNodePorts", true);
    }
    if spec["type"] != "ExternalName" {
        json::default_member(spec, "internalTrafficPolicy", "Cluster");
    }
}

/// The families of addresses, for one of which an address is given out.
fn service_create(object: &mut Value, setting: &Setting<'_>) {
    let spec = &mut object["spec"];
    let has_selector = json::pairs(&spec["selector"]).next().is_some();
    let (families, policy) = match (spec["type"].as_str(), spec["clusterIP"].as_str()) {
        (Some("ExternalName"), _) => return,
        (_, Some("None")) if !has_selector => (json!(["IPv4", "IPv6"]), "RequireDualStack"),
        _ if setting.options.network.services.is_ipv4() => (json!(["IPv4"]), "SingleStack"),
        _ => (json!(["IPv6"]), "SingleStack"),
    };
    if let Some(address) = spec["clusterIP"].as_str().filter(|address| !address.is_empty()) {
        let addresses = json!([address]);
        json::default_member(spec, "clusterIPs", addresses);
    }
    json::default_member(spec, "ipFamilies", families);
    json::default_member(spec, "ipFamilyPolicy", policy);
}

/// The ports of a service, with their protocols.
fn ports(service: &Value) -> Value {
    let ports = json::list(&service["spec"]["ports"]).iter().map(|port| {
        let number = port["port"].as_i64().unwrap_or_default();
        format!("{number}/{}", port["protocol"].as_str().unwrap_or("TCP"))
    });
    or(&ports.collect::<Vec<_>>().join(","), "<none>")
}
