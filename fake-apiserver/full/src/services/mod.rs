//! Services: validation, and allocation of cluster IPs and node ports. IPAddress objects are created and deleted with services.

mod allocator;
mod changes;
mod families;
mod resources;
mod validation;

use fake_apiserver::extension::resource::{Hooks, ResourceDefinition, SERVICE_DEFINITION};
use fake_apiserver::extension::{
    Controller, ControllerTransaction, Extension, Kind, Object, Transaction, json, metadata,
};
use fake_apiserver::{Network, Status};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

/// The extension for services: validation, ServiceCIDRs and IPAddresses, and the allocation of cluster IPs and node ports.
pub(super) fn extension() -> Extension {
    Extension {
        resources: vec![&SERVICE, &resources::IP_ADDRESS, &resources::SERVICE_CIDR],
        controllers: vec![Arc::new(Allocation)],
        ..Extension::default()
    }
}

static SERVICE: ResourceDefinition = ResourceDefinition {
    hooks: Hooks {
        update: changes::update,
        validate_create: validation::validate,
        validate_update: validation::validate_update,
        ..SERVICE_DEFINITION.hooks
    },
    ..SERVICE_DEFINITION
};

/// Namespace and name of the `kubernetes` service. The default ServiceCIDR is named `kubernetes` as well.
const OWN: (&str, &str) = ("default", "kubernetes");

/// Allocates cluster IPs and node ports of services, and maintains IPAddress objects.
struct Allocation;

impl Controller for Allocation {
    fn watches(&self, kind: &Kind) -> bool {
        kind.is_resource("", "services")
    }

    fn start(&self, txn: &mut dyn ControllerTransaction) {
        let ready = json!({
            "type": "Ready", "status": "True", "reason": "", "message": "Kubernetes default Service CIDR is ready",
            "lastTransitionTime": txn.now(),
        });
        let cidrs = [txn.options().network.services.to_string()];
        let range = json!({"spec": {"cidrs": cidrs}, "status": {"conditions": [ready]}});
        if let Some(kind) = txn.kind(resources::GROUP, "servicecidrs") {
            txn.create(&kind, None, OWN.1, range);
        }
        if let Some(kind) = txn.kind("", "services") {
            let service = txn.object(&kind, Some(OWN.0), OWN.1);
            sync_ip_addresses(txn, OWN, service.as_deref());
        }
    }

    fn begin_write(
        &self,
        txn: &mut dyn Transaction,
        kind: &Kind,
        service: &mut Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let network = txn.options().network.clone();
        families::set_defaults(service, old, family(&network))
            .map_err(|errors| allocator::invalid_status(kind, service, errors))?;
        allocator::assign_addresses_and_ports(txn, kind, &network, service, old)
    }

    fn reconcile(&self, txn: &mut dyn ControllerTransaction, kind: &Kind, key: &str, is_deleted: bool) {
        let Some((namespace, name)) = key.split_once('/') else {
            return;
        };
        let service = txn.object(kind, Some(namespace), name).filter(|_| !is_deleted);
        sync_ip_addresses(txn, (namespace, name), service.as_deref());
    }
}

/// The IP family of the cluster: that of the service range.
fn family(network: &Network) -> &'static str {
    match network.services.is_ipv4() {
        true => "IPv4",
        false => "IPv6",
    }
}

/// Deletes the IPAddress objects of IPs that a service has released, and creates the missing IPAddress objects of its IPs.
fn sync_ip_addresses(
    txn: &mut dyn ControllerTransaction,
    (namespace, name): (&str, &str),
    service: Option<&Object>,
) {
    let Some(kind) = txn.kind(resources::GROUP, "ipaddresses") else {
        return;
    };
    let ips = service.map(|service| json::texts(&service.value()["spec"]["clusterIPs"]));
    let ips: HashSet<&str> = ips.into_iter().flatten().filter(|ip| *ip != "None").collect();
    let parent = json!({"resource": "services", "namespace": namespace, "name": name});
    for address in txn.objects(&kind, None) {
        let ip = metadata::text(address.value(), "name");
        if address.value()["spec"]["parentRef"] == parent && !ips.contains(ip) {
            txn.delete(&kind, None, ip);
        }
    }
    for ip in ips {
        if txn.object(&kind, None, ip).is_none() {
            txn.create(&kind, None, ip, ip_address_object(ip, &parent));
        }
    }
}

fn ip_address_object(ip: &str, parent: &Value) -> Value {
    json!({
        "metadata": {"labels": {
            "ipaddress.kubernetes.io/ip-family": families::family_of(ip),
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io",
        }},
        "spec": {"parentRef": parent},
    })
}
