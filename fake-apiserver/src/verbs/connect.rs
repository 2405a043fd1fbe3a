//! Connections through the server: pod logs, exec, attach, port-forward, and proxying to pods, services and nodes.
//!
//! Owns the checks of such requests and the resulting errors. There are no kubelets, containers or endpoints: the server dials no address,
//! and each connection fails.

use super::bind::node_of;
use super::call::{Answer, Call, Payload};
use super::escalation::require_create_permission;
use super::read::existing;
use crate::kinds::{CONTAINER_LISTS, NODE, POD, Subresource};
use crate::machinery::ip;
use crate::machinery::json::{list, string};
use crate::machinery::metadata;
use crate::machinery::status::{GroupResource, Status};
use crate::store::Txn;
use serde_json::Value;
use std::fmt::{self, Display, Formatter};

/// Kubelet port if the status of the node contains none.
const KUBELET_PORT: i64 = 10250;

/// Types of node addresses, in order of preference for the connection to a kubelet.
const ADDRESS_TYPES: [&str; 5] = [
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];

/// The resource that the 404 error names if the node of a pod does not exist.
const PODS: GroupResource<'static> = GroupResource {
    group: "",
    kind: "pods",
};

pub(super) fn connect(txn: &Txn<'_>, call: &Call, what: Subresource) -> Result<Answer, Status> {
    match what {
        Subresource::Log => log(txn, call),
        Subresource::Proxy => proxy(txn, call),
        _ => stream(txn, call, what != Subresource::PortForward),
    }
}

/// Handles a request for the log of a container: returns an error, or an empty log if the pod is not scheduled.
fn log(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let pod = existing(txn, call)?;
    let container = container(pod.value(), call)?;
    let Some(node) = node_of(pod.value()) else {
        return Ok(Answer::Nothing);
    };
    let kubelet = kubelet(txn, node, PODS)?;
    let path = format!(
        "containerLogs/{}/{}/{container}",
        metadata::text(pod.value(), "namespace"),
        metadata::text(pod.value(), "name"),
    );
    let why = connection_refused_message(&kubelet);
    Err(Status::internal(format!(
        "Get \"https://{kubelet}/{path}\": {why}"
    )))
}

/// Handles exec, attach and port-forward requests for a pod.
fn stream(txn: &Txn<'_>, call: &Call, names_container: bool) -> Result<Answer, Status> {
    // WebSocket connections start with a GET, but require permission to `create` (`AuthorizePodWebsocketUpgradeCreatePermission`).
    require_create_permission(txn, &call.target)?;
    let pod = existing(txn, call)?;
    if names_container {
        container(pod.value(), call)?;
    }
    let node = node_of(pod.value()).ok_or_else(|| {
        let name = metadata::text(pod.value(), "name");
        Status::bad_request(format!("pod {name} does not have a host assigned"))
    })?;
    let kubelet = kubelet(txn, node, PODS)?;
    if !matches!(call.payload, Payload::Upgrade) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let why = connection_refused_message(&kubelet);
    Err(Status::internal(format!("error dialing backend: {why}")))
}

/// The requested container; if the request names none, the only container of the pod.
fn container<'a>(pod: &'a Value, call: &'a Call) -> Result<&'a str, Status> {
    let pod_name = metadata::text(pod, "name");
    let wanted = call.params.get("container");
    let names = |of: &str| {
        let containers = list(&pod["spec"][of]).iter();
        containers.map(|container| string(container, "name"))
    };
    let mut all = CONTAINER_LISTS.into_iter().flat_map(names);
    if !wanted.is_empty() {
        return all.find(|name| *name == wanted).ok_or_else(|| {
            Status::bad_request(format!("container {wanted} is not valid for pod {pod_name}"))
        });
    }
    let mut own = names("containers");
    match (own.next(), own.next()) {
        (Some(only), None) => Ok(only),
        _ => Err(Status::bad_request(format!(
            "a container name must be specified for pod {pod_name}, choose one of: [{}]",
            all.collect::<Vec<_>>().join(" ")
        ))),
    }
}

/// The host and port that a connection would dial.
struct Address {
    host: String,
    port: i64,
}

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&ip::with_port(&self.host, self.port))
    }
}

/// The address of a node's kubelet. If the node does not exist, returns a 404 for the resource `subject`.
fn kubelet(txn: &Txn<'_>, node: &str, subject: GroupResource<'_>) -> Result<Address, Status> {
    let found = txn.get(&NODE, &NODE.key(None, node));
    let found = found.ok_or_else(|| Status::not_found(subject, node))?;
    let status = &found.value()["status"];
    let addresses = list(&status["addresses"]).iter();
    let of_type = |wanted: &str| {
        let mut own = addresses.clone().filter(|address| address["type"] == wanted);
        own.find_map(|address| address["address"].as_str())
    };
    let Some(host) = ADDRESS_TYPES.into_iter().find_map(of_type) else {
        let shown = |address| format!("{{{} {}}}", string(address, "type"), string(address, "address"));
        let known: Vec<String> = addresses.map(shown).collect();
        return Err(Status::internal(format!(
            "no preferred addresses found; known addresses: [{}]",
            known.join(" ")
        )));
    };
    let port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_i64();
    Ok(Address {
        host: host.to_owned(),
        port: port.filter(|port| *port > 0).unwrap_or(KUBELET_PORT),
    })
}

/// Handles an HTTP request that is proxied to a node, pod or service.
fn proxy(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let named = ProxyTarget::parse(call.target.name()).ok_or_else(|| {
        let (kind, name) = (kind.singular(), call.target.name());
        Status::bad_request(format!("invalid {kind} request {name:?}"))
    })?;
    if *kind == NODE {
        return Err(unreachable(&kubelet(txn, named.name, kind.group_resource())?));
    }
    let key = kind.key(call.target.namespace.as_deref(), named.name);
    let missing = || Status::not_found(kind.group_resource(), named.name);
    let found = txn.get(kind, &key).ok_or_else(missing)?;
    if *kind == POD {
        let first = &found.value()["spec"]["containers"][0]["ports"][0]["containerPort"];
        let port = named.port.parse().ok().or(first.as_i64());
        return Err(unreachable(&Address {
            host: string(&found.value()["status"], "podIP").to_owned(),
            port: port.unwrap_or(named.usual_port()),
        }));
    }
    Err(unavailable(format!(
        "no endpoints available for service {:?}",
        call.target.name()
    )))
}

/// The parsed name in a proxy request: `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.
struct ProxyTarget<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> ProxyTarget<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let (scheme, name, port) = match parts.as_slice() {
            [name] => ("", *name, ""),
            [name, port] => ("", *name, *port),
            [scheme @ ("" | "http" | "https"), name, port] => (*scheme, *name, *port),
            _ => return None,
        };
        (!name.is_empty()).then_some(Self { scheme, name, port })
    }

    fn usual_port(&self) -> i64 {
        match self.scheme {
            "https" => 443,
            _ => 80,
        }
    }
}

/// The error of a proxy request to an address where nothing listens. Like kube-apiserver, rejects some addresses without dialling.
fn unreachable(address: &Address) -> Status {
    let is_allowed = match address.host.parse() {
        Ok(ip) => ip::is_global_unicast(ip),
        Err(_) => !["", "localhost"].contains(&&*address.host),
    };
    match is_allowed {
        true => unavailable(proxy_error_message(address)),
        false => Status::bad_request("address not allowed"),
    }
}

fn unavailable(why: String) -> Status {
    Status::failure(503, "ServiceUnavailable", why)
}

fn proxy_error_message(address: impl Display) -> String {
    format!(
        "error trying to reach service: {}",
        connection_refused_message(address)
    )
}

fn connection_refused_message(address: impl Display) -> String {
    format!("dial tcp {address}: connect: connection refused")
}
