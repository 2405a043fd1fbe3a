//! Objects that describe the server: the service `default/kubernetes` with its endpoints, and the trust configuration of
//! extension API servers.

use crate::config::network::Network;
use crate::kinds::{CONFIG_MAP, ENDPOINT_SLICE, ENDPOINTS, Kind, Part, SERVICE};
use crate::machinery::metadata;
use crate::patch::managed::FieldManager;
use crate::store::Txn;
use serde_json::{Value, json};

/// The field manager of the server's own writes.
pub(super) const SERVER: &str = "kube-apiserver";
const NAMESPACE: &str = "default";
const NAME: &str = "kubernetes";

/// Creates the service `default/kubernetes` and all other objects that describe the server.
pub(super) fn create(txn: &mut Txn<'_>) {
    let options = txn.options();
    let (network, authority) = (options.network.clone(), options.client_authority.clone());
    publish_client_authority(txn, authority);
    let family = if network.services.is_ipv4() {
        "IPv4"
    } else {
        "IPv6"
    };
    let address = network.services.address_at(1).to_string();
    let service = json!({
        "metadata": {"labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": address, "clusterIPs": [address], "internalTrafficPolicy": "Cluster", "ipFamilies": [family],
            "ipFamilyPolicy": "SingleStack", "sessionAffinity": "None", "type": "ClusterIP",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": network.advertise.port()}],
        },
        "status": {"loadBalancer": {}},
    });
    write(txn, &SERVICE, (NAMESPACE, NAME), SERVER, service);
    create_endpoints(txn, &network);
}

/// Creates the Endpoints and EndpointSlice of the server.
fn create_endpoints(txn: &mut Txn<'_>, network: &Network) {
    let (ip, port) = (network.advertise.ip().to_string(), network.advertise.port());
    let ports = json!([{"name": "https", "port": port, "protocol": "TCP"}]);
    let old = json!({
        "metadata": {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}},
        "subsets": [{"addresses": [{"ip": ip}], "ports": ports}],
    });
    write(txn, &ENDPOINTS, (NAMESPACE, NAME), SERVER, old);
    let family = if network.advertise.is_ipv4() {
        "IPv4"
    } else {
        "IPv6"
    };
    let slice = json!({
        "metadata": {"labels": {"kubernetes.io/service-name": NAME}},
        "addressType": family, "endpoints": [{"addresses": [ip], "conditions": {"ready": true}}], "ports": ports,
    });
    write(txn, &ENDPOINT_SLICE, (NAMESPACE, NAME), SERVER, slice);
}

/// Publishes the CA of client certificates in a ConfigMap, for extension API servers.
fn publish_client_authority(txn: &mut Txn<'_>, authority: Option<String>) {
    let data = authority.map_or_else(|| json!({}), |pem| json!({"client-ca-file": pem}));
    let name = "extension-apiserver-authentication";
    let map = match data.as_object().is_some_and(|data| data.is_empty()) {
        true => json!({}),
        false => json!({"data": data}),
    };
    write(txn, &CONFIG_MAP, ("kube-system", name), SERVER, map);
}

/// Creates an object from its content, and sets its type and system metadata.
pub(super) fn write(
    txn: &mut Txn<'_>,
    kind: &Kind,
    (namespace, name): (&str, &str),
    manager: &str,
    mut object: Value,
) {
    object["kind"] = kind.kind.into();
    object["apiVersion"] = kind.api_version().into();
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty());
    let uid = txn.new_uid();
    for (field, value) in [
        ("name", Some(name.into())),
        ("namespace", namespace.map(Value::from)),
        ("uid", Some(uid.into())),
        ("creationTimestamp", Some((*txn.now).into())),
    ] {
        metadata::set(&mut object, field, value);
    }
    let writer = FieldManager {
        kind,
        manager,
        part: Part::Main,
    };
    writer.track(&txn.now, None, &mut object);
    txn.put(kind, &kind.key(namespace, name), object);
}
