//! Allocates cluster IPs and node ports to services when they are written. Each address and port belongs to one service.
//!
//! An IPAddress object reserves an allocated IP; node ports in use are read from the services. `validation` decides which
//! addresses and ports an update may change.

use super::resources;
use fake_apiserver::extension::{ErrorList, Kind, Transaction, json, metadata};
use fake_apiserver::{Network, Status};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::net::IpAddr;

const FULL: &str = "range is full";

/// Allocates the missing cluster IP and node ports of a service. Fails if a requested IP or port is in use or out of range.
pub(super) fn assign_addresses_and_ports(
    txn: &mut dyn Transaction,
    kind: &Kind,
    network: &Network,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    assign_cluster_ip(txn, kind, network, service, old)?;
    assign_node_ports(txn, kind, network, service, old)
}

pub(super) fn invalid_status(kind: &Kind, service: &Value, errors: ErrorList) -> Status {
    Status::invalid(kind.group_kind(), metadata::text(service, "name"), errors)
}

fn range_full_status(what: &str) -> Status {
    Status::internal_error(format!("failed to allocate {what}: {FULL}"))
}

fn assign_cluster_ip(
    txn: &mut dyn Transaction,
    kind: &Kind,
    network: &Network,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    // An update allocates no IP if the service had one or was headless: validation rejects a change of the IP.
    let has = |service: &Value| !json::list(&service["spec"]["clusterIPs"]).is_empty();
    let requested = json::string(&service["spec"], "clusterIP").to_owned();
    if service["spec"]["type"] == "ExternalName" || requested == "None" || old.is_some_and(has) {
        return Ok(());
    }
    if requested.is_empty() {
        let name = metadata::text(service, "name").to_owned();
        let free = free_address(txn, network);
        let free = free.ok_or_else(|| range_full_status(&format!("a serviceIP for Service {name:?}")))?;
        (service["spec"]["clusterIP"], service["spec"]["clusterIPs"]) = (free.clone().into(), json!([free]));
        return Ok(());
    }
    // The IP is valid here: validation has rejected invalid IPs.
    let Ok(ip) = requested.parse::<IpAddr>() else {
        return Ok(());
    };
    let is_within = network.services.contains(ip);
    let why = match txn.is_dry_run() {
        true if is_within => return Ok(()),
        true => {
            let range = &network.services;
            format!(
                "the provided IP ({requested}) is not in the valid range. The range of valid IPs is {range}"
            )
        }
        false if !is_within => "the provided network does not match the current range".to_owned(),
        false if is_allocated(txn, &ip.to_string()) => "provided IP is already allocated".to_owned(),
        false => return Ok(()),
    };
    let mut errors = ErrorList::default();
    let text = format!("failed to allocate IP {requested}: {why}");
    errors.invalid("spec.clusterIPs", service["spec"]["clusterIPs"].clone(), &text);
    Err(invalid_status(kind, service, errors))
}

/// Whether an IPAddress object reserves the cluster IP.
fn is_allocated(txn: &dyn Transaction, ip: &str) -> bool {
    let kind = txn.kind(resources::GROUP, "ipaddresses");
    kind.is_some_and(|kind| txn.object(&kind, None, ip).is_some())
}

/// A random free cluster IP. Prefers the upper part of the range: the lower part is reserved for static allocation as long as possible.
fn free_address(txn: &mut dyn Transaction, network: &Network) -> Option<String> {
    let range = network.services;
    if txn.is_dry_run() {
        // A dry run reserves nothing and returns a placeholder: the first address of the range.
        return Some(range.address_at(0).to_string());
    }
    let size = range.size();
    let first = if size >= 16 { (size / 16).clamp(16, 256) } else { 0 };
    let start = first + txn.random_below(size.saturating_sub(first)) + 1;
    let all = (start..=size).chain(first + 1..start).chain(1..=first);
    all.map(|number| range.address_at(number).to_string())
        .find(|ip| !is_allocated(txn, ip))
}

fn assign_node_ports(
    txn: &mut dyn Transaction,
    kind: &Kind,
    network: &Network,
    service: &mut Value,
    old: Option<&Value>,
) -> Result<(), Status> {
    let spec = &service["spec"];
    let allocates = match spec["type"].as_str() {
        Some("NodePort") => true,
        Some("LoadBalancer") => spec["allocateLoadBalancerNodePorts"] != false,
        _ => return Ok(()),
    };
    let own: HashSet<u64> = old.map(ports_of).unwrap_or_default();
    let mut ports = NodePortAllocator {
        allocated: ports_of_other_services(txn, kind, service),
        own,
        range: network,
        is_dry_run: txn.is_dry_run(),
        placeholders: 0,
    };
    let count = json::list(&service["spec"]["ports"]).len();
    // Ports of a new service with equal port numbers but different protocols share a node port.
    let mut assigned: Vec<(Value, u64)> = Vec::new();
    for i in 0..count {
        let port = &service["spec"]["ports"][i];
        let number = port["port"].clone();
        let shared = assigned
            .iter()
            .find(|(port, _)| old.is_none() && *port == number)
            .map(|(_, at)| *at);
        let requested = port["nodePort"].as_u64().filter(|port| *port != 0);
        let at = match (requested, shared) {
            (Some(requested), shared) if shared != Some(requested) => {
                ports.reserve(requested).map_err(|why| {
                    let mut errors = ErrorList::default();
                    errors.invalid(format!("spec.ports[{i}].nodePort"), requested, &why);
                    invalid_status(kind, service, errors)
                })?;
                requested
            }
            (Some(requested), _) => requested,
            (None, Some(shared)) => shared,
            (None, None) if !allocates => continue,
            (None, None) => ports.next(txn).ok_or_else(|| range_full_status("a nodePort"))?,
        };
        assigned.push((number, at));
        service["spec"]["ports"][i]["nodePort"] = at.into();
    }
    let spec = &service["spec"];
    let checked = spec["type"] == "LoadBalancer" && spec["externalTrafficPolicy"] == "Local";
    if checked && spec["healthCheckNodePort"].as_u64().unwrap_or_default() == 0 {
        let port = ports
            .next(txn)
            .ok_or_else(|| range_full_status("a HealthCheck NodePort"))?;
        service["spec"]["healthCheckNodePort"] = port.into();
    }
    Ok(())
}

/// Allocates the node ports of one service.
struct NodePortAllocator<'a> {
    allocated: HashSet<u64>,
    /// Node ports that the service had before the update.
    own: HashSet<u64>,
    range: &'a Network,
    /// In kube-apiserver, a dry run neither checks the range nor reserves ports.
    is_dry_run: bool,
    /// Number of placeholder ports that a dry run has returned.
    placeholders: u64,
}

impl NodePortAllocator<'_> {
    fn reserve(&mut self, port: u64) -> Result<(), String> {
        let range = &self.range.node_ports;
        if !self.is_dry_run && !u16::try_from(port).is_ok_and(|port| range.contains(&port)) {
            let text = "provided port is not in the valid range. The range of valid ports is";
            return Err(format!("{text} {}-{}", range.start(), range.end()));
        }
        if !self.own.contains(&port) && self.allocated.contains(&port) {
            return Err("provided port is already allocated".to_owned());
        }
        self.allocated.insert(port);
        Ok(())
    }

    fn next(&mut self, txn: &mut dyn Transaction) -> Option<u64> {
        let range = &self.range.node_ports;
        let (first, last) = (u64::from(*range.start()), u64::from(*range.end()));
        if self.is_dry_run {
            // A dry run uses port numbers above the range as placeholders.
            self.placeholders += 1;
            return Some(last + 1 + self.placeholders);
        }
        let start = first + txn.random_below(last - first + 1);
        let free = (start..=last)
            .chain(first..start)
            .find(|port| !self.allocated.contains(port) && !self.own.contains(port))?;
        self.allocated.insert(free);
        Some(free)
    }
}

/// The node ports of all services except `service`.
fn ports_of_other_services(txn: &dyn Transaction, kind: &Kind, service: &Value) -> HashSet<u64> {
    let uid = metadata::text(service, "uid");
    let services = txn.objects(kind, None);
    let others = services
        .iter()
        .filter(|other| metadata::text(other.value(), "uid") != uid);
    others.flat_map(|other| ports_of(other.value())).collect()
}

fn ports_of(service: &Value) -> HashSet<u64> {
    let ports = json::list(&service["spec"]["ports"]).iter();
    let ports = ports.map(|port| &port["nodePort"]);
    let all = ports.chain([&service["spec"]["healthCheckNodePort"]]);
    all.filter_map(Value::as_u64).filter(|port| *port != 0).collect()
}
