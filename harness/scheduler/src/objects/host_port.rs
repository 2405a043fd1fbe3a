//! Ports that a pod uses on its node (`containers[].ports[].hostPort`).

use std::fmt;

use k8s_openapi::api::core::v1::PodSpec;

/// The host IP that stands for all addresses of a node.
const ANY: &str = "0.0.0.0";

/// A host port with address and protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// `hostIP`; `0.0.0.0` for all addresses of the node.
    address: String,
    /// `TCP`, `UDP` or `SCTP`.
    protocol: String,
    /// `hostPort`, 1 to 65535.
    port: i32,
}

impl HostPort {
    /// The host ports of a pod's containers and sidecars. Host ports of ordinary init containers are ignored.
    pub(super) fn of_pod(spec: &PodSpec) -> Vec<Self> {
        let sidecars = spec.init_containers.iter().flatten();
        let sidecars = sidecars.filter(|container| container.restart_policy.as_deref() == Some("Always"));
        let ports = spec
            .containers
            .iter()
            .chain(sidecars)
            .flat_map(|container| container.ports.iter().flatten());
        ports
            .filter_map(|port| {
                Some(Self {
                    address: non_empty_or(port.host_ip.as_ref(), ANY),
                    protocol: non_empty_or(port.protocol.as_ref(), "TCP"),
                    port: port.host_port.filter(|port| *port > 0)?,
                })
            })
            .collect()
    }

    /// Whether these two ports cannot both be used on one node.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let same_address = self.address == other.address || self.address == ANY || other.address == ANY;
        same_address && self.port == other.port && self.protocol == other.protocol
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.port, self.protocol)
    }
}

fn non_empty_or(field: Option<&String>, default: &str) -> String {
    let set = field.filter(|text| !text.is_empty());
    set.cloned().unwrap_or_else(|| default.to_owned())
}
