//! Services, with their defaults. Cluster IPs and node ports are not allocated.

use super::resource_definition::not_supported;
use super::service_parts::{has_node_ports, is_externally_accessible, is_load_balancer};
use super::workload::SELECTOR;
use super::{Hooks, NO_HOOKS, PLAIN, ResourceDefinition, Subresource};
use crate::kinds::columns::Cell::{Join, Of, TextOr};
use crate::kinds::columns::{AGE, NAME, text, text_or_default};
use crate::machinery::json::{self, string};
use crate::machinery::selector::selectable;
use serde_json::{Value, json};

pub(super) static SERVICE: ResourceDefinition = DEFINITION;

/// The definition of services, for the crate that allocates their addresses.
pub const DEFINITION: ResourceDefinition = ResourceDefinition {
    kind: "Service",
    plural: "services",
    registry: Some("services/specs"),
    short_names: &["svc"],
    categories: &["all"],
    status: true,
    subresources: &[Subresource::Proxy],
    create_on_update: true,
    returns_deleted: true,
    hooks: Hooks {
        default: service_default,
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
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    if spec["sessionAffinity"] == "ClientIP" && seconds.is_null() {
        let lasting = json!({"clientIP": {"timeoutSeconds": 10_800}});
        json::assign(spec, "sessionAffinityConfig", lasting);
    } else if spec["sessionAffinity"] == "None" {
        json::assign(spec, "sessionAffinityConfig", Value::Null);
    }
    for port in json::entries(spec, "/ports") {
        json::default_member(port, "protocol", "TCP");
        // A target port of 0 or the empty string is treated as unset.
        if [json!(null), json!(0), json!("")].contains(&port["targetPort"]) {
            port["targetPort"] = port["port"].clone();
        }
    }
    if is_externally_accessible(object) && string(&object["spec"], "externalTrafficPolicy").is_empty() {
        object["spec"]["externalTrafficPolicy"] = "Cluster".into();
    }
    if is_load_balancer(object) {
        json::default_member(&mut object["spec"], "allocateLoadBalancerNodePorts", true);
        for point in json::entries(object, "/status/loadBalancer/ingress") {
            if !string(point, "ip").is_empty() {
                json::default_member(point, "ipMode", "VIP");
            }
        }
    }
    if has_node_ports(object) || object["spec"]["type"] == "ClusterIP" {
        json::default_member(&mut object["spec"], "internalTrafficPolicy", "Cluster");
    }
}

/// The PORT(S) cell: the ports of a service and their protocols.
fn ports(service: &Value) -> Value {
    let ports = json::list(&service["spec"]["ports"]).iter().map(|port| {
        let number = port["port"].as_i64().unwrap_or_default();
        format!("{number}/{}", port["protocol"].as_str().unwrap_or("TCP"))
    });
    text_or_default(&ports.collect::<Vec<_>>().join(","), "<none>")
}
