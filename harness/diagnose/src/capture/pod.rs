//! Reduces a pod to the fields that affect scheduling. An allow-list, as in `reduce`.

use std::collections::BTreeSet;

use capacity_types::{ephemeral_claim_name, ephemeral_volume_name};
use serde_json::{Map, Value, json};

use super::NAMESPACE;
use super::names::{Kind, Names};
use super::pod_fields::{
    REQUIRED, container_resources, has_pod_level_requests, host_ports, priority, priority_class, requests,
    required_affinity_terms, resources_of,
};
use super::reduce::{claim_spec, copy_deletion, copy_fields, quantity, taint_or_toleration};
use super::situation::{name_of, namespace_of};
use capacity_types::pod::{claim_of, volumes_of};

/// The reduced pod: volumes, constraints on nodes and pods, and requests of the `resources`. `claims`: the captured PVCs.
pub(super) fn pod(pod: &Value, claims: &[&Value], resources: &BTreeSet<String>, names: &mut Names) -> Value {
    let source = &pod["spec"];
    let mut spec = Map::new();
    let volumes: Vec<Value> = volumes_of(pod)
        .iter()
        .enumerate()
        .filter_map(|(index, volume)| pod_volume(pod, index, volume, claims, names))
        .collect();
    spec.insert("volumes".to_owned(), volumes.into());
    for (field, word) in [("containers", "main"), ("initContainers", "init")] {
        let list = source[field].as_array().map_or(&[][..], Vec::as_slice);
        let reduced: Vec<Value> = (0..)
            .zip(list)
            .map(|(index, from): (usize, _)| container(&format!("{word}-{index}"), from, resources, names))
            .collect();
        if !reduced.is_empty() {
            spec.insert(field.to_owned(), reduced.into());
        }
    }
    if has_pod_level_requests(pod) {
        // Overhead needs a RuntimeClass, and pod-level resources need a newer release. Therefore one container requests the total, which
        // has the same effect.
        let mut amounts = requests(pod);
        amounts.retain(|name, _| resources.contains(name));
        spec.remove("initContainers");
        let main =
            json!({"name": "main-0", "image": "example.com/app", "resources": resources_of(&amounts, names)});
        spec.insert("containers".to_owned(), json!([main]));
    }
    let containers = spec
        .entry("containers")
        .or_insert_with(|| json!([container("main-0", &Value::Null, resources, names)]));
    let ports: Vec<Value> = host_ports(pod)
        .map(|port| {
            let mut fields = Map::new();
            copy_fields(port, &mut fields, &["hostPort", "hostIP", "protocol"]);
            fields.insert("containerPort".to_owned(), port["hostPort"].clone());
            Value::Object(fields)
        })
        .collect();
    if !ports.is_empty() {
        containers[0]["ports"] = ports.into();
    }
    if let Some(class) = priority_class(priority(pod)) {
        spec.insert("priorityClassName".to_owned(), class.into());
    }
    if let Some(labels) = source["nodeSelector"]
        .as_object()
        .filter(|labels| !labels.is_empty())
    {
        spec.insert("nodeSelector".to_owned(), names.rename_labels(labels));
    }
    let mut affinity = Map::new();
    let required = &source["affinity"]["nodeAffinity"][REQUIRED];
    if !required.is_null() {
        affinity.insert(
            "nodeAffinity".to_owned(),
            json!({REQUIRED: names.rename_selector(required)}),
        );
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let terms: Vec<Value> = required_affinity_terms(pod, kind)
            .map(|term| pod_term(term, names))
            .collect();
        if !terms.is_empty() {
            affinity.insert(kind.to_owned(), json!({REQUIRED: terms}));
        }
    }
    if !affinity.is_empty() {
        spec.insert("affinity".to_owned(), affinity.into());
    }
    let constraints = source["topologySpreadConstraints"]
        .as_array()
        .into_iter()
        .flatten();
    let constraints: Vec<Value> = constraints
        .filter(|it| it["whenUnsatisfiable"] == "DoNotSchedule")
        .map(|it| {
            let mut constraint = pod_term(it, names);
            if let Some(fields) = constraint.as_object_mut() {
                copy_fields(
                    it,
                    fields,
                    &[
                        "maxSkew",
                        "minDomains",
                        "whenUnsatisfiable",
                        "nodeAffinityPolicy",
                        "nodeTaintsPolicy",
                    ],
                );
            }
            constraint
        })
        .collect();
    if !constraints.is_empty() {
        spec.insert("topologySpreadConstraints".to_owned(), constraints.into());
    }
    let tolerations = source["tolerations"].as_array().into_iter().flatten();
    let tolerations: Vec<Value> = tolerations
        .filter(|it| !is_default_toleration(it))
        .map(|it| taint_or_toleration(it, names))
        .collect();
    if !tolerations.is_empty() {
        spec.insert("tolerations".to_owned(), tolerations.into());
    }
    if let Some(gates) = source["schedulingGates"].as_array() {
        let gates = (0..gates.len()).map(|number| json!({"name": format!("example.com/gate-{number}")}));
        spec.insert("schedulingGates".to_owned(), gates.collect());
    }
    if uses_another_scheduler(pod) {
        spec.insert("schedulerName".to_owned(), "another-scheduler".into());
    }
    if let Some(node) = source["nodeName"].as_str().filter(|node| !node.is_empty()) {
        spec.insert("nodeName".to_owned(), names.rename_text(node).into());
    }
    let name = names.in_namespace(Kind::Pod, namespace_of(pod), name_of(pod));
    let mut metadata = json!({"name": name, "namespace": NAMESPACE});
    if let Some(labels) = pod["metadata"]["labels"]
        .as_object()
        .filter(|labels| !labels.is_empty())
    {
        metadata["labels"] = names.rename_labels(labels);
    }
    copy_deletion(pod, &mut metadata);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

/// Whether a PVC with the name of the pod's ephemeral PVC is not owned by the pod.
pub(super) fn is_owned_by_another(pod: &Value, volume: &Value, claim: &Value) -> bool {
    let owners = claim["metadata"]["ownerReferences"].as_array();
    let controller = owners
        .into_iter()
        .flatten()
        .find(|owner| owner["controller"] == true);
    let is_own = controller.is_some_and(|owner| owner["uid"] == pod["metadata"]["uid"]);
    !volume["ephemeral"].is_null() && !is_own
}

/// An affinity or spread term with its topology key. Its namespaces are omitted, because all pods of the case file are in one namespace.
fn pod_term(term: &Value, names: &mut Names) -> Value {
    let mut fields = Map::new();
    if !term["labelSelector"].is_null() {
        fields.insert(
            "labelSelector".to_owned(),
            names.rename_selector(&term["labelSelector"]),
        );
    }
    let key = term["topologyKey"].as_str().unwrap_or_default();
    fields.insert("topologyKey".to_owned(), names.rename_key(key).into());
    Value::Object(fields)
}

pub(super) fn uses_another_scheduler(pod: &Value) -> bool {
    let name = pod["spec"]["schedulerName"].as_str();
    !matches!(name, None | Some("" | "default-scheduler"))
}

fn is_default_toleration(toleration: &Value) -> bool {
    const KEYS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    KEYS.iter().any(|key| toleration["key"] == *key)
        && toleration["operator"] == "Exists"
        && toleration["effect"] == "NoExecute"
        && toleration["tolerationSeconds"] == 300
}

fn container(name: &str, from: &Value, resources: &BTreeSet<String>, names: &mut Names) -> Value {
    let mut container = json!({"name": name, "image": "example.com/app"});
    let requests = &from["resources"]["requests"];
    let mut requested = resources
        .iter()
        .filter_map(|name| Some((name.as_str(), quantity(&requests[name.as_str()])?)))
        .peekable();
    if requested.peek().is_some() {
        container["resources"] = container_resources(requested, names);
    }
    if from["restartPolicy"] == "Always" {
        container["restartPolicy"] = "Always".into();
    }
    container
}

/// The pod volume in the format of case files, if it belongs to a CSI driver. Otherwise `None`: the volume does not affect scheduling.
fn pod_volume(
    pod: &Value,
    index: usize,
    volume: &Value,
    claims: &[&Value],
    names: &mut Names,
) -> Option<Value> {
    if let Some(driver) = volume["csi"]["driver"].as_str() {
        return Some(
            json!({"name": format!("inline-{index}"), "csi": {"driver": names.rename_driver(driver)}}),
        );
    }
    let claim = claim_of(pod, volume)?;
    let namespace = namespace_of(pod);
    let exists = claims
        .iter()
        .any(|it| name_of(it) == claim && namespace_of(it) == namespace);
    let template = &volume["ephemeral"]["volumeClaimTemplate"];
    let scratch = ephemeral_volume_name(index);
    if exists || template.is_null() {
        let name = names.in_namespace(Kind::Claim, namespace, &claim);
        let own = names.in_namespace(Kind::Pod, namespace, name_of(pod));
        // An ephemeral PVC that was created for the pod is written as an ordinary PVC, because the pod of the case could not own it. A PVC
        // of another owner, which blocks the pod, keeps the name of the ephemeral PVC.
        if name != ephemeral_claim_name(&own, &scratch) {
            return Some(
                json!({"name": format!("claim-{index}"), "persistentVolumeClaim": {"claimName": name}}),
            );
        }
    }
    let spec = claim_spec(namespace, template, names);
    Some(json!({"name": scratch, "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}))
}
