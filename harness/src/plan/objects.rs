//! Builds the Kubernetes objects that the harness creates, one function per kind. Does not know who sends them to the API server.

use std::collections::BTreeMap;

use capacity_types::{DRIVER_LABEL, MANAGED_BY_LABEL, Segment};
use serde_json::{Map, Value, json};

use super::NAMESPACE;
use crate::scenario::{Binding, CapacitySpec, ClassSpec, NodeSpec, VolumeSpec};
use crate::segment::Segments;

/// Label that every node has.
const HOSTNAME: &str = "kubernetes.io/hostname";

pub(crate) fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// Labels of a node: its explicit labels, its hostname, and the driver's default value for every other topology key.
pub(crate) fn node_labels(spec: &NodeSpec, segments: &Segments) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::from([(HOSTNAME.to_owned(), spec.name.clone())]);
    if spec.registered {
        labels.extend(segments.default_segment(&spec.name));
    }
    for (key, value) in &spec.labels {
        match value {
            Some(value) => drop(labels.insert(key.clone(), value.clone())),
            None => drop(labels.remove(key)),
        }
    }
    labels
}

/// Builds a Node object with the condition Ready.
pub(crate) fn node(spec: &NodeSpec, labels: &BTreeMap<String, String>) -> Value {
    let plenty = || json!({"cpu": "16", "memory": "64Gi", "pods": "110"});
    let resources = spec
        .allocatable
        .as_ref()
        .map_or_else(plenty, |resources| json!(resources));
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": spec.name, "labels": labels},
        "status": {
            "allocatable": resources,
            "capacity": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    if spec.unschedulable {
        node["spec"]["unschedulable"] = true.into();
    }
    if !spec.taints.is_empty() {
        node["spec"]["taints"] = spec.taints.clone().into();
    }
    node
}

/// `spec.drivers` of a CSINode: contains the driver with its topology keys, or is empty if `keys` is None.
pub(crate) fn registration(driver: &str, node: &str, keys: Option<&[String]>) -> Value {
    match keys {
        Some(keys) => json!([{"name": driver, "nodeID": node, "topologyKeys": keys}]),
        None => json!([]),
    }
}

/// Builds the CSINode of a node. The CSINode also lists other drivers for which the node has a volume limit.
pub(crate) fn csi_node(driver: &str, spec: &NodeSpec, keys: Option<&[String]>) -> Value {
    let own = registration(driver, &spec.name, keys);
    let mut drivers = own.as_array().cloned().unwrap_or_default();
    let others = spec.volume_limits.keys().filter(|name| *name != driver);
    drivers.extend(others.map(|name| json!({"name": name, "nodeID": spec.name, "topologyKeys": []})));
    for entry in &mut drivers {
        let limit = spec
            .volume_limits
            .iter()
            .find(|(name, _)| entry["name"] == **name);
        if let Some((_, count)) = limit {
            entry["allocatable"] = json!({"count": count});
        }
    }
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode",
        "metadata": {"name": spec.name},
        "spec": {"drivers": drivers},
    })
}

/// Builds a CSIDriver. Without `storage_capacity`, the field is omitted.
pub(crate) fn csi_driver(name: &str, storage_capacity: Option<bool>) -> Value {
    let mut spec = json!({"attachRequired": false});
    if let Some(on) = storage_capacity {
        spec["storageCapacity"] = on.into();
    }
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": name}, "spec": spec})
}

pub(crate) fn storage_class(spec: &ClassSpec, parameters: &BTreeMap<String, String>, driver: &str) -> Value {
    let mode = match spec.binding {
        Binding::WaitForFirstConsumer => "WaitForFirstConsumer",
        Binding::Immediate => "Immediate",
    };
    let mut class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
        "metadata": {"name": spec.name},
        "provisioner": spec.provisioner.as_deref().unwrap_or(driver),
        "parameters": parameters,
        "volumeBindingMode": mode,
    });
    if !spec.allowed_topologies.is_empty() {
        let terms: Vec<Value> = spec
            .allowed_topologies
            .iter()
            .map(|(key, values)| json!({"key": key, "values": values}))
            .collect();
        class["allowedTopologies"] = json!([{"matchLabelExpressions": terms}]);
    }
    class
}

/// Builds a CSIStorageCapacity object. `index` makes the object's name unique.
pub(crate) fn capacity(spec: &CapacitySpec, driver: &str, segment: Option<&Segment>, index: usize) -> Value {
    let mut labels: Map<String, Value> = spec
        .labels
        .iter()
        .map(|(key, value)| (key.clone(), value.clone().into()))
        .collect();
    if spec.managed {
        labels.entry(DRIVER_LABEL).or_insert_with(|| driver.into());
        labels
            .entry(MANAGED_BY_LABEL)
            .or_insert_with(|| "external-provisioner".into());
    }
    let name = spec.name.clone().unwrap_or_else(|| format!("by-hand-{index}"));
    let mut object = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
        "metadata": {
            "name": name, "labels": labels,
            "namespace": spec.namespace.as_deref().unwrap_or(NAMESPACE),
        },
        "storageClassName": spec.class,
    });
    match (segment, &spec.topology) {
        (Some(segment), _) => object["nodeTopology"] = json!({"matchLabels": segment}),
        (None, Some(topology)) if !topology.is_null() => object["nodeTopology"] = topology.clone(),
        _ => {}
    }
    for (key, size) in [("capacity", &spec.capacity), ("maximumVolumeSize", &spec.maximum)] {
        if let Some(size) = size {
            object[key] = size.text().into();
        }
    }
    object
}

/// Builds a PersistentVolume that the case creates before any PVC.
pub(crate) fn volume(spec: &VolumeSpec) -> Value {
    let mut volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": spec.name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": spec.size.text()},
            "storageClassName": spec.class,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "static.example.com", "volumeHandle": spec.name},
        },
    });
    if let Some(node) = &spec.node {
        let term = json!({"key": HOSTNAME, "operator": "In", "values": [node]});
        volume["spec"]["nodeAffinity"] =
            json!({"required": {"nodeSelectorTerms": [{"matchExpressions": [term]}]}});
    }
    volume
}

pub(crate) const SNAPSHOT_GROUP: &str = "snapshot.storage.k8s.io";

/// The parameters of a StorageClass object whose values are strings.
pub(super) fn class_parameters(class: &Value) -> impl Iterator<Item = (String, String)> {
    let parameters = class["parameters"].as_object().into_iter().flatten();
    parameters.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
}
