//! Reduces each API object to the fields that affect scheduling: no secrets, environment variables, images, owners or unrelated status.
//!
//! Allow-lists throughout: a field that this module does not list is not captured.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::segment::{self, Segment};
use capacity_types::{ByteConversion, DRIVER_LABEL, MANAGED_BY_LABEL, Quantity};
use serde_json::{Map, Value, json};

use super::NAMESPACE;
use super::names::{Kind, Names};
use super::situation::{data_source, name_of, namespace_of};
use capacity_types::pod::class_of;
use capacity_types::segment::as_label;

const HOSTNAME: &str = "kubernetes.io/hostname";
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
const BINDING_ANNOTATIONS: [&str; 2] = [
    "pv.kubernetes.io/bind-completed",
    "pv.kubernetes.io/bound-by-controller",
];
/// Replaces all annotations of an object: the text of a scheduling failure depends on whether the object has any annotation.
const ANNOTATED: &str = "example.com/annotated";
/// Finalizer that replaces the finalizers of objects that are being deleted in the cluster.
const FINALIZER: &str = "example.com/captured";
/// CSI driver of volumes that have no CSI source in the cluster.
const NO_DRIVER: &str = "static.example.com";
/// UID for a `claimRef` whose PVC was deleted while a new PVC got the name of the deleted one.
const STALE_UID: &str = "00000000-0000-0000-0000-000000000000";

pub(super) fn copy_fields(from: &Value, to: &mut Map<String, Value>, names: &[&str]) {
    for name in names {
        if let Some(value) = from.get(*name).filter(|value| !value.is_null()) {
            to.insert((*name).to_owned(), value.clone());
        }
    }
}

/// Copies the deletion timestamp of an object and adds a finalizer, without which the API server would remove the object.
pub(super) fn copy_deletion(from: &Value, metadata: &mut Value) {
    let since = &from["metadata"]["deletionTimestamp"];
    if !since.is_null() {
        metadata["deletionTimestamp"] = since.clone();
        metadata["finalizers"] = json!([FINALIZER]);
    }
}

/// Copies the access modes of a PVC or PV, and the volume mode unless it is the default.
fn copy_modes(from: &Value, to: &mut Map<String, Value>) {
    copy_fields(from, to, &["accessModes", "volumeMode"]);
    to.entry("accessModes")
        .or_insert_with(|| json!(["ReadWriteOnce"]));
    if to.get("volumeMode").is_some_and(|mode| mode == "Filesystem") {
        to.remove("volumeMode");
    }
}

/// A quantity as a string. In hand-written files a quantity may be a number.
pub(super) fn quantity(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Topology keys of the driver on a node. `None`: the driver is not registered on the node.
pub(super) type Registration<'a> = Option<&'a [String]>;

/// Data from which the free resources of a node are computed.
pub(super) struct NodeResources<'a> {
    /// The names of the resources that captured pods request.
    pub(super) resources: &'a BTreeSet<String>,
    /// Number of the node's pods that have no counterpart in the case file.
    pub(super) missing: i64,
    /// Number of volumes that can still be attached to the node, by driver.
    pub(super) volume_limits: Option<&'a BTreeMap<String, i64>>,
}

/// A node in the format of case files. `driver_keys`: the driver's topology keys on most nodes. `needed`: label keys that selectors use.
pub(super) fn node(
    node: &Value,
    node_resources: &NodeResources<'_>,
    registration: Registration<'_>,
    driver_keys: &[String],
    needed: &BTreeSet<String>,
    names: &mut Names,
) -> Value {
    let own = names.of(Kind::Node, name_of(node));
    let labels = &node["metadata"]["labels"];
    let mut explicit: BTreeMap<String, Value> = BTreeMap::new();
    for key in needed {
        let is_implied = key == HOSTNAME || (registration.is_some() && driver_keys.contains(key));
        let value = labels[key.as_str()]
            .as_str()
            .map(|value| names.rename_label_value(key, value));
        match value {
            Some(value) if is_implied && value == own => {}
            Some(value) => drop(explicit.insert(names.rename_key(key), value.into())),
            None if is_implied => drop(explicit.insert(names.rename_key(key), Value::Null)),
            None => {}
        }
    }
    let mut spec = json!({"name": own});
    if !explicit.is_empty() {
        spec["labels"] = json!(explicit);
    }
    match registration {
        None => spec["registered"] = false.into(),
        Some(keys) if keys != driver_keys => {
            spec["topologyKeys"] = keys.iter().map(|key| names.rename_key(key)).collect();
        }
        Some(_) => {}
    }
    if node["spec"]["unschedulable"] == true {
        spec["unschedulable"] = true.into();
    }
    let taints = node["spec"]["taints"].as_array();
    if let Some(taints) = taints.filter(|taints| !taints.is_empty()) {
        spec["taints"] = taints
            .iter()
            .map(|taint| taint_or_toleration(taint, names))
            .collect();
    }
    spec["allocatable"] = allocatable(&node["status"]["allocatable"], node_resources, names);
    if let Some(limits) = node_resources.volume_limits {
        let limits = limits
            .iter()
            .map(|(driver, left)| (names.rename_driver(driver), json!(left)));
        spec["volumeLimits"] = limits.collect();
    }
    spec
}

/// The node's allocatable resources, or very large amounts if the node lists none, which means no limit.
fn allocatable(allocatable: &Value, node_resources: &NodeResources<'_>, names: &mut Names) -> Value {
    if allocatable.is_null() {
        let plenty = |name: &String| (resource(name, names), Value::from("1Ei"));
        let mut all: Map<String, Value> = node_resources.resources.iter().map(plenty).collect();
        all.extend([
            ("cpu".to_owned(), "1M".into()),
            ("memory".to_owned(), "1Ei".into()),
            ("pods".to_owned(), "1M".into()),
        ]);
        return Value::Object(all);
    }
    let of_resource = |name: &String| {
        Some((
            resource(name, names),
            Value::String(quantity(&allocatable[name.as_str()])?),
        ))
    };
    let mut all: Map<String, Value> = node_resources.resources.iter().filter_map(of_resource).collect();
    let pods = quantity(&allocatable["pods"]).map(|text| {
        let whole = text
            .parse()
            .ok()
            .map(|pods: Quantity| pods.bytes(ByteConversion::Exact));
        match whole.filter(|_| node_resources.missing > 0) {
            Some(pods) => (pods - i128::from(node_resources.missing)).max(0).to_string(),
            None => text,
        }
    });
    all.extend(pods.map(|pods| ("pods".to_owned(), pods.into())));
    Value::Object(all)
}

/// The name of a resource in the case file. With neutral names, the domain of an extended resource is replaced.
pub(super) fn resource(name: &str, names: &mut Names) -> String {
    match name.split_once('/') {
        Some(_) if names.scrubs() => format!("example.com/{}", names.of(Kind::Value, name)),
        _ => name.to_owned(),
    }
}

/// Replaces the key and value of a taint or toleration by the names in the case file.
pub(super) fn taint_or_toleration(value: &Value, names: &mut Names) -> Value {
    let mut fields = Map::new();
    copy_fields(
        value,
        &mut fields,
        &["key", "operator", "value", "effect", "tolerationSeconds"],
    );
    match fields.contains_key("key") {
        true => names.rename_expression(&fields),
        false => Value::Object(fields),
    }
}

/// A StorageClass in the format of case files. `Err`: the StorageClass object, if the format cannot express its `allowedTopologies`.
pub(super) fn class(class: &Value, names: &mut Names) -> Result<Value, Value> {
    let name = names.of(Kind::Class, name_of(class));
    let provisioner = names.rename_driver(class["provisioner"].as_str().unwrap_or_default());
    let mode = class["volumeBindingMode"].as_str().unwrap_or("Immediate");
    let parameters: Map<String, Value> = class["parameters"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !key.to_ascii_lowercase().contains("secret"))
        .map(|(key, value)| {
            let value = names.rename_text(value.as_str().unwrap_or_default());
            (names.rename_key(key), value.into())
        })
        .collect();
    let terms = class["allowedTopologies"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let terms: Vec<Value> = terms.iter().map(|term| names.rename_selector(term)).collect();
    let Some(allowed) = one_term(&terms) else {
        return Err(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "parameters": parameters, "volumeBindingMode": mode,
            "allowedTopologies": terms,
        }));
    };
    let mut spec = json!({"name": name, "provisioner": provisioner});
    if !parameters.is_empty() {
        spec["parameters"] = parameters.into();
    }
    if mode != "WaitForFirstConsumer" {
        spec["binding"] = mode.into();
    }
    if !allowed.is_empty() {
        spec["allowedTopologies"] = allowed.into();
    }
    Ok(spec)
}

/// Allowed values by topology key. `None` if `allowedTopologies` has several terms, or several expressions for a key.
fn one_term(terms: &[Value]) -> Option<Map<String, Value>> {
    let [term] = terms else {
        return terms.is_empty().then(Map::new);
    };
    let expressions = term["matchLabelExpressions"].as_array()?;
    let pairs = expressions.iter().map(|expression| {
        let key = expression["key"].as_str()?.to_owned();
        Some((key, expression["values"].clone()))
    });
    let allowed: Map<String, Value> = pairs.collect::<Option<_>>()?;
    (!allowed.is_empty() && allowed.len() == expressions.len()).then_some(allowed)
}

/// A CSIDriver object of a driver that is not the driver of the case.
pub(super) fn other_driver(driver: &Value, names: &mut Names) -> Value {
    let mut spec = Map::from_iter([("attachRequired".to_owned(), false.into())]);
    copy_fields(&driver["spec"], &mut spec, &["storageCapacity"]);
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
        "metadata": {"name": names.rename_driver(name_of(driver))}, "spec": spec,
    })
}

/// A CSIStorageCapacity object in the format of case files. `keys`: the driver's topology keys.
pub(super) fn capacity(object: &Value, keys: &[String], names: &mut Names) -> Value {
    let mut spec = json!({
        "name": names.in_namespace(Kind::Capacity, namespace_of(object), name_of(object)),
        "class": names.of(Kind::Class, object["storageClassName"].as_str().unwrap_or_default()),
    });
    let topology = &object["nodeTopology"];
    if !topology.is_null() {
        match labels_of(topology).and_then(|segment| segment_text(&segment, keys, names)) {
            Some(text) => spec["segment"] = text.into(),
            None => spec["topology"] = names.rename_selector(topology),
        }
    }
    for (field, name) in [("capacity", "capacity"), ("maximumVolumeSize", "maximum")] {
        if let Some(quantity) = quantity(&object[field]) {
            spec[name] = quantity.into();
        }
    }
    let labels = &object["metadata"]["labels"];
    let mut copied = Map::new();
    if let Some(driver) = labels[DRIVER_LABEL].as_str() {
        copied.insert(DRIVER_LABEL.to_owned(), names.rename_driver(driver).into());
    }
    if let Some(manager) = labels[MANAGED_BY_LABEL].as_str() {
        copied.insert(MANAGED_BY_LABEL.to_owned(), managed_by(manager, names).into());
    }
    if !copied.is_empty() {
        spec["labels"] = copied.into();
    }
    spec
}

/// Replaces names in the value of a managed-by label, which in distributed mode ends with the node name.
fn managed_by(manager: &str, names: &mut Names) -> String {
    const SIDECAR: &str = "external-provisioner";
    match manager.strip_prefix(SIDECAR).map(|rest| rest.strip_prefix('-')) {
        Some(None) => manager.to_owned(),
        Some(Some(node)) => format!("{SIDECAR}-{}", names.rename_text(node)),
        None => names.rename_text(manager),
    }
}

/// The labels that a `nodeTopology` requires. `None` unless the `nodeTopology` requires exactly one value per label.
fn labels_of(topology: &Value) -> Option<Segment> {
    let labels = topology["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| Some((key.as_str(), value.as_str()?)));
    let terms = topology["matchExpressions"].as_array().into_iter().flatten();
    let mut segment = Segment::new();
    for label in labels.chain(terms.map(as_label)) {
        let (key, value) = label?;
        // A `nodeTopology` with two terms for one key cannot be written as a segment.
        if segment.insert(key.to_owned(), value.to_owned()).is_some() {
            return None;
        }
    }
    Some(segment)
}

/// A segment in the notation of case files, if its keys are the driver's topology keys: `*` without keys, the value of a single key,
/// otherwise `key=value,…`.
pub(super) fn segment_text(segment: &Segment, keys: &[String], names: &mut Names) -> Option<String> {
    let is_written = |value: &String| *value != "*" && !value.contains(['=', ',']) && !value.is_empty();
    let has_keys = segment.len() == keys.len() && keys.iter().all(|key| segment.contains_key(key));
    if !has_keys || !segment.values().all(is_written) {
        return None;
    }
    let named: Segment = segment
        .iter()
        .map(|(key, value)| (names.rename_key(key), names.rename_label_value(key, value)))
        .collect();
    Some(match named.values().next() {
        None => "*".to_owned(),
        Some(value) if named.len() == 1 => value.clone(),
        Some(_) => segment::format(&named),
    })
}

/// A VolumeAttachment of one of the `volumes` in the format of case files. The caller sets its name.
pub(super) fn attachment(attachment: &Value, volumes: &[&Value], names: &mut Names) -> Option<Value> {
    let spec = &attachment["spec"];
    let volume = spec["source"]["persistentVolumeName"].as_str()?;
    volumes.iter().find(|it| name_of(it) == volume)?;
    Some(json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {},
        "spec": {
            "attacher": names.rename_driver(spec["attacher"].as_str()?),
            "nodeName": names.rename_text(spec["nodeName"].as_str()?),
            "source": {"persistentVolumeName": names.of(Kind::Volume, volume)},
        },
    }))
}

/// A PVC, reduced to the fields that volume binding and provisioning use.
pub(super) fn claim(claim: &Value, names: &mut Names) -> Value {
    let mut annotations = Map::new();
    let all = &claim["metadata"]["annotations"];
    copy_fields(all, &mut annotations, &BINDING_ANNOTATIONS);
    if let Some(node) = all[SELECTED_NODE].as_str() {
        annotations.insert(SELECTED_NODE.to_owned(), names.rename_text(node).into());
    }
    if annotations.is_empty() && all.as_object().is_some_and(|all| !all.is_empty()) {
        annotations.insert(ANNOTATED.to_owned(), "true".into());
    }
    let spec = claim_spec(namespace_of(claim), claim, names);
    let mut object = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": names.in_namespace(Kind::Claim, namespace_of(claim), name_of(claim)),
            "namespace": NAMESPACE,
        },
        "spec": spec,
    });
    if !annotations.is_empty() {
        object["metadata"]["annotations"] = annotations.into();
    }
    copy_deletion(claim, &mut object["metadata"]);
    if let Some(phase) = claim["status"]["phase"].as_str() {
        object["status"] = json!({"phase": phase});
    }
    object
}

/// The reduced spec of a PVC in `namespace`, or of a PVC template.
pub(super) fn claim_spec(namespace: &str, claim: &Value, names: &mut Names) -> Map<String, Value> {
    let mut spec = Map::new();
    copy_modes(&claim["spec"], &mut spec);
    let size = quantity(&claim["spec"]["resources"]["requests"]["storage"]);
    spec.insert(
        "resources".to_owned(),
        json!({"requests": {"storage": size.unwrap_or_else(|| "1".to_owned())}}),
    );
    if let Some(class) = class_of(claim) {
        spec.insert("storageClassName".to_owned(), of_class(class, names).into());
    }
    if let Some(volume) = claim["spec"]["volumeName"]
        .as_str()
        .filter(|name| !name.is_empty())
    {
        spec.insert("volumeName".to_owned(), names.of(Kind::Volume, volume).into());
    }
    if let Some(selector) = claim["spec"]
        .get("selector")
        .filter(|selector| !selector.is_null())
    {
        spec.insert("selector".to_owned(), names.rename_selector(selector));
    }
    copy_attributes_class(&claim["spec"], &mut spec, names);
    if let Some((field, source)) = data_source(claim) {
        let name = source["name"].as_str().unwrap_or_default();
        let name = match source["kind"] == "PersistentVolumeClaim" {
            true => names.in_namespace(Kind::Claim, namespace, name),
            false => names.rename_text(name),
        };
        let mut copied = Map::from_iter([("name".to_owned(), name.into())]);
        copy_fields(source, &mut copied, &["apiGroup", "kind"]);
        spec.insert(field.to_owned(), copied.into());
    }
    spec
}

/// Copies `volumeAttributesClassName`, which must be equal in the PVC and the PV.
fn copy_attributes_class(from: &Value, to: &mut Map<String, Value>, names: &mut Names) {
    const FIELD: &str = "volumeAttributesClassName";
    if let Some(class) = from[FIELD].as_str().filter(|class| !class.is_empty()) {
        to.insert(FIELD.to_owned(), names.rename_text(class).into());
    }
}

fn of_class(class: &str, names: &mut Names) -> String {
    if class.is_empty() {
        String::new()
    } else {
        names.of(Kind::Class, class)
    }
}

/// A PersistentVolume, reduced to the fields that static binding and node affinity use. `claims`: the captured PVCs.
pub(super) fn volume(
    volume: &Value,
    claims: &[&Value],
    needed: &BTreeSet<String>,
    names: &mut Names,
) -> Value {
    let own = names.of(Kind::Volume, name_of(volume));
    let mut spec = Map::new();
    copy_modes(&volume["spec"], &mut spec);
    let size = quantity(&volume["spec"]["capacity"]["storage"]).unwrap_or_else(|| "1".to_owned());
    spec.insert("capacity".to_owned(), json!({"storage": size}));
    // The PV must not be deleted when its PVC is deleted.
    spec.insert("persistentVolumeReclaimPolicy".to_owned(), "Retain".into());
    let driver = volume["spec"]["csi"]["driver"].as_str();
    let driver = driver.map_or_else(|| NO_DRIVER.to_owned(), |driver| names.rename_driver(driver));
    spec.insert("csi".to_owned(), json!({"driver": driver, "volumeHandle": own}));
    copy_attributes_class(&volume["spec"], &mut spec, names);
    if let Some(class) = class_of(volume) {
        spec.insert("storageClassName".to_owned(), of_class(class, names).into());
    }
    let required = &volume["spec"]["nodeAffinity"]["required"];
    if !required.is_null() {
        let affinity = json!({"required": names.rename_selector(required)});
        spec.insert("nodeAffinity".to_owned(), affinity);
    }
    if let Some(reference) = claim_reference(&volume["spec"]["claimRef"], claims, names) {
        spec.insert("claimRef".to_owned(), reference);
    }
    let mut labels = Map::new();
    for key in needed {
        if let Some(value) = volume["metadata"]["labels"][key.as_str()].as_str() {
            labels.insert(names.rename_key(key), names.rename_label_value(key, value).into());
        }
    }
    let mut object = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": own}, "spec": spec,
    });
    if !labels.is_empty() {
        object["metadata"]["labels"] = labels.into();
    }
    copy_deletion(volume, &mut object["metadata"]);
    if let Some(phase) = volume["status"]["phase"].as_str() {
        object["status"] = json!({"phase": phase});
    }
    object
}

/// A PV's `claimRef`. The file contains no UIDs: a UID that matches the PVC is omitted, any other is replaced by one that never matches.
fn claim_reference(reference: &Value, claims: &[&Value], names: &mut Names) -> Option<Value> {
    let name = reference["name"].as_str()?;
    let namespace = reference["namespace"].as_str().unwrap_or_default();
    let claim = claims
        .iter()
        .find(|claim| name_of(claim) == name && namespace_of(claim) == namespace);
    let mut reduced = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": NAMESPACE,
        "name": names.in_namespace(Kind::Claim, namespace, name),
    });
    let uid = reference["uid"].as_str().filter(|uid| !uid.is_empty());
    let fits = uid.is_none_or(|uid| claim.is_some_and(|claim| claim["metadata"]["uid"] == uid));
    if !fits {
        reduced["uid"] = STALE_UID.into();
    }
    Some(reduced)
}
