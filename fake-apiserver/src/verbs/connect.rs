//! Connections through the server: logs, commands, ports and HTTP requests to pods, services and nodes.
//!
//! Owns what the server itself says of them. There is nothing behind it: no kubelet, no pod, no endpoint. Whatever would
//! be reached refuses the connection, and no address is ever dialled.

use super::call::{Answer, Call, Payload};
use super::read::existing;
use crate::kinds::{Catalogue, Kind, Subresource};
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::machinery::{json, metadata};
use crate::schema;
use crate::store::Txn;
use serde_json::Value;
use std::net::IpAddr;

/// Where kubelets listen that say nothing else.
const KUBELET_PORT: i64 = 10250;

/// Which of a node's addresses are tried, in this order.
const ADDRESS_TYPES: [&str; 5] = [
    "Hostname",
    "InternalDNS",
    "InternalIP",
    "ExternalDNS",
    "ExternalIP",
];

const LOG_OPTIONS: GroupResource<'static> = GroupResource {
    group: "",
    kind: "PodLogOptions",
};

/// As what a node that is gone is reported where somebody wants to reach a pod on it.
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

/// The log of a container: empty as long as the pod is on no node.
fn log(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    check_log_options(call)?;
    let pod = existing(txn, call)?;
    let container = container(&pod.value, call)?;
    let Some(node) = node_of(&pod.value) else {
        return Ok(Answer::Nothing);
    };
    let kubelet = kubelet(txn, node, PODS)?;
    let path = format!(
        "containerLogs/{}/{}/{container}",
        metadata::text(&pod.value, "namespace"),
        metadata::text(&pod.value, "name"),
    );
    let why = refused(&kubelet);
    Err(Status::internal(format!(
        "Get \"https://{kubelet}/{path}\": {why}"
    )))
}

/// The rules for the options of logs (`ValidatePodLogOptions`).
fn check_log_options(call: &Call) -> Result<(), Status> {
    let number = |name: &str| call.params.number(name);
    let (tail, bytes, seconds) = (
        number("tailLines")?,
        number("limitBytes")?,
        number("sinceSeconds")?,
    );
    let since = call.params.get("sinceTime");
    if !since.is_empty() {
        schema::check_time(since).map_err(Status::bad_request)?;
    }
    let mut faults = Faults::default();
    if let Some(tail) = tail.filter(|tail| *tail < 0) {
        faults.invalid("tailLines", tail, "must be greater than or equal to 0");
    }
    let too_few = "must be greater than 0";
    if let Some(bytes) = bytes.filter(|bytes| *bytes < 1) {
        faults.invalid("limitBytes", bytes, too_few);
    }
    match seconds {
        Some(_) if !since.is_empty() => {
            // It is about no field of its own.
            faults.forbidden(
                "[]",
                "at most one of `sinceTime` or `sinceSeconds` may be specified",
            );
        }
        Some(seconds) if seconds < 1 => faults.invalid("sinceSeconds", seconds, too_few),
        _ => {}
    }
    if !call.params.get("stream").is_empty() {
        faults.forbidden("stream", "may not be specified");
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(Status::invalid(LOG_OPTIONS, call.target.name(), faults)),
    }
}

/// A command in a container, its process, or ports of a pod.
fn stream(txn: &Txn<'_>, call: &Call, names_container: bool) -> Result<Answer, Status> {
    let pod = existing(txn, call)?;
    if names_container {
        container(&pod.value, call)?;
    }
    let node = node_of(&pod.value).ok_or_else(|| {
        let name = metadata::text(&pod.value, "name");
        Status::bad_request(format!("pod {name} does not have a host assigned"))
    })?;
    let kubelet = kubelet(txn, node, PODS)?;
    if !matches!(call.payload, Payload::Upgrade) {
        return Err(Status::bad_request("Upgrade request required"));
    }
    let why = refused(&kubelet);
    Err(Status::internal(format!("error dialing backend: {why}")))
}

/// The container that is meant: the only one, where a request names none.
fn container<'a>(pod: &'a Value, call: &'a Call) -> Result<&'a str, Status> {
    let pod_name = metadata::text(pod, "name");
    let wanted = call.params.get("container");
    let names = |list: &str| {
        let containers = pod["spec"][list].as_array().into_iter().flatten();
        containers.map(|container| json::string(container, "name"))
    };
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let mut all = lists.into_iter().flat_map(names);
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

fn node_of(pod: &Value) -> Option<&str> {
    pod["spec"]["nodeName"].as_str().filter(|node| !node.is_empty())
}

/// Host and port of the kubelet of a node. A node that is not there is reported as `subject`.
fn kubelet(txn: &Txn<'_>, node: &str, subject: GroupResource<'_>) -> Result<String, Status> {
    let nodes = built_in("nodes").and_then(|kind| txn.get(kind, &kind.key(None, node)));
    let found = nodes.ok_or_else(|| Status::not_found(subject, node))?;
    let status = &found.value["status"];
    let addresses = status["addresses"].as_array().map_or(&[][..], Vec::as_slice);
    let of_type = |wanted: &str| {
        let mut own = addresses.iter().filter(|address| address["type"] == wanted);
        own.find_map(|address| address["address"].as_str())
    };
    let Some(host) = ADDRESS_TYPES.into_iter().find_map(of_type) else {
        let known: Vec<String> = addresses
            .iter()
            .map(|address| {
                format!(
                    "{{{} {}}}",
                    json::string(address, "type"),
                    json::string(address, "address")
                )
            })
            .collect();
        return Err(Status::internal(format!(
            "no preferred addresses found; known addresses: [{}]",
            known.join(" ")
        )));
    };
    let port = status["daemonEndpoints"]["kubeletEndpoint"]["Port"].as_i64();
    Ok(joined(
        host,
        port.filter(|port| *port > 0).unwrap_or(KUBELET_PORT),
    ))
}

/// An HTTP request to a node, a pod or a service.
fn proxy(txn: &Txn<'_>, call: &Call) -> Result<Answer, Status> {
    let kind = &call.target.kind;
    let named = Named::parse(call.target.name()).ok_or_else(|| {
        let (kind, name) = (kind.singular, call.target.name());
        Status::bad_request(format!("invalid {kind} request {name:?}"))
    })?;
    if kind.plural == "nodes" {
        let address = kubelet(txn, named.name, kind.resource())?;
        return Err(unreachable(&address));
    }
    let key = kind.key(call.target.namespace.as_deref(), named.name);
    let missing = || Status::not_found(kind.resource(), named.name);
    let found = txn.get(kind, &key).ok_or_else(missing)?;
    if kind.plural == "pods" {
        let first = &found.value["spec"]["containers"][0]["ports"][0]["containerPort"];
        let port = named.port.parse().ok().or(first.as_i64());
        let ip = json::string(&found.value["status"], "podIP");
        return Err(unreachable(&joined(ip, port.unwrap_or(named.usual_port()))));
    }
    let port = service_port(&found.value, &named)?;
    let endpoints = built_in("endpoints")
        .and_then(|kind| txn.get(kind, &key))
        .ok_or_else(missing)?;
    let subsets = endpoints.value["subsets"].as_array();
    for subset in subsets.into_iter().flatten() {
        let ip = subset["addresses"][0]["ip"].as_str();
        let ports = subset["ports"].as_array();
        let mut ports = ports.into_iter().flatten();
        let found = ports.find(|own| json::string(own, "name") == port);
        if let (Some(ip), Some(number)) = (ip, found.and_then(|port| port["port"].as_i64())) {
            return Err(unavailable(failed(&joined(ip, number))));
        }
    }
    Err(unavailable(format!(
        "no endpoints available for service {:?}",
        call.target.name()
    )))
}

/// The name of the port of a service that a request means, by that name or by its number.
fn service_port<'a>(service: &'a Value, named: &Named<'a>) -> Result<&'a str, Status> {
    let ports = service["spec"]["ports"].as_array().map_or(&[][..], Vec::as_slice);
    let name = |port: &'a Value| json::string(port, "name");
    let wanted = named.port;
    let found = match ports {
        [only] if wanted.is_empty() => Some(name(only)),
        _ if wanted.is_empty() => Some(""),
        _ => ports
            .iter()
            .find(|port| name(port) == wanted || port["port"].as_i64() == wanted.parse().ok())
            .map(name),
    };
    found.ok_or_else(|| {
        let service = named.name;
        unavailable(format!("no service port {wanted} found for service {service:?}"))
    })
}

/// What is named by `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`.
struct Named<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

impl<'a> Named<'a> {
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

/// The failure of a request to an address that nobody listens at; some addresses are not even tried.
fn unreachable(address: &str) -> Status {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(ip) if !is_proxyable(ip) => Status::bad_request("address not allowed"),
        Err(_) if host.is_empty() || host == "localhost" => Status::bad_request("address not allowed"),
        _ => unavailable(failed(address)),
    }
}

/// Whether it is an address of one other machine (`IsProxyableIP`).
fn is_proxyable(ip: IpAddr) -> bool {
    let is_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local() || ip.is_broadcast(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !(is_local || ip.is_loopback() || ip.is_unspecified() || ip.is_multicast())
}

fn unavailable(why: String) -> Status {
    Status::failure(503, "ServiceUnavailable", why)
}

fn built_in(plural: &str) -> Option<&'static Kind> {
    Catalogue::built_in().find_resource("", plural)
}

fn failed(address: &str) -> String {
    format!("error trying to reach service: {}", refused(address))
}

fn refused(address: &str) -> String {
    format!("dial tcp {address}: connect: connection refused")
}

fn joined(host: &str, port: i64) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}
