//! Endpoints: defaults, columns, and lookup of the addresses of a service.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, NAME, join_first, text, text_or_default};
use crate::machinery::ip;
use crate::machinery::json::{self, list, string};
use serde_json::Value;

pub(super) static ENDPOINTS: ResourceDefinition = ResourceDefinition {
    kind: "Endpoints",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "endpoints",
    registry: Some("services/endpoints"),
    short_names: &["ep"],
    create_on_update: true,
    hooks: Hooks {
        default: |endpoints| {
            for subset in json::entries(endpoints, "/subsets") {
                for port in json::entries(subset, "/ports") {
                    json::default_member(port, "protocol", "TCP");
                }
            }
        },
        ..NO_HOOKS
    },
    deprecation: Some((33, "discovery.k8s.io/v1 EndpointSlice")),
    columns: &[NAME, text("Endpoints", Of(endpoints)), AGE],
    ..PLAIN
};

/// The number of the endpoint port named `name`, which is empty if the service has only one port.
pub(crate) fn port_named<'a>(ports: &'a Value, name: &str) -> Option<&'a Value> {
    let mut ports = list(ports).iter();
    let found = ports.find(|port| string(port, "name") == name)?;
    Some(&found["port"])
}

/// Address and port number of the first ready endpoint that has a port named `port`.
pub(crate) fn first_ready(endpoints: &Value, port: &str) -> Option<String> {
    let mut subsets = list(&endpoints["subsets"]).iter();
    subsets.find_map(|subset| {
        let address = string(list(&subset["addresses"]).first()?, "ip");
        Some(ip::with_port(address, port_named(&subset["ports"], port)?))
    })
}

/// Maximum number of addresses that a `kubectl get` cell shows, followed by the number of omitted addresses.
const ADDRESSES_SHOWN: usize = 3;

fn endpoints(endpoints: &Value) -> Value {
    let all: Vec<String> = list(&endpoints["subsets"]).iter().flat_map(addresses).collect();
    text_or_default(&join_first(&all, ADDRESSES_SHOWN, ","), "<none>")
}

/// Each address of a subset with each of its ports, as `address:port`; only the addresses if there are no ports.
fn addresses(subset: &Value) -> Vec<String> {
    let ports = list(&subset["ports"]);
    let addresses = list(&subset["addresses"]).iter();
    let addresses = addresses.filter_map(|address| address["ip"].as_str());
    let with_ports = |ip: &str| match ports {
        [] => vec![ip.to_owned()],
        ports => ports
            .iter()
            .map(|port| format!("{ip}:{}", port["port"]))
            .collect(),
    };
    addresses.flat_map(with_ports).collect()
}
