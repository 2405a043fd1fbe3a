//! A pod without what does not decide where it goes. An allow-list, like `reduce`.

use serde_json::{Map, Value, json};

use super::names::{Kind, Names};
use super::reduce::{RESOURCES, claim_spec, matching, quantity};
use super::situation::{name_of, namespace_of};
use crate::plan::WORKLOADS;
use crate::pod::{claim_of, volumes_of};

/// A pod: its volumes, its say about nodes, and what it asks for. `claims`: those of the situation.
pub(super) fn pod(pod: &Value, claims: &[&Value], names: &mut Names) -> Value {
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
            .map(|(index, from): (usize, _)| container(&format!("{word}-{index}"), from))
            .collect();
        if !reduced.is_empty() {
            spec.insert(field.to_owned(), reduced.into());
        }
    }
    spec.entry("containers")
        .or_insert_with(|| json!([container("main-0", &Value::Null)]));
    if let Some(labels) = source["nodeSelector"]
        .as_object()
        .filter(|labels| !labels.is_empty())
    {
        spec.insert("nodeSelector".to_owned(), names.labels(labels));
    }
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let required = &source["affinity"]["nodeAffinity"][REQUIRED];
    if !required.is_null() {
        let affinity = json!({"nodeAffinity": {REQUIRED: names.selector(required)}});
        spec.insert("affinity".to_owned(), affinity);
    }
    let tolerations = source["tolerations"].as_array().into_iter().flatten();
    let tolerations: Vec<Value> = tolerations
        .filter(|it| !is_given(it))
        .map(|it| matching(it, names))
        .collect();
    if !tolerations.is_empty() {
        spec.insert("tolerations".to_owned(), tolerations.into());
    }
    if let Some(gates) = source["schedulingGates"].as_array() {
        let gates = (0..gates.len()).map(|number| json!({"name": format!("example.com/gate-{number}")}));
        spec.insert("schedulingGates".to_owned(), gates.collect());
    }
    if is_for_another(pod) {
        spec.insert("schedulerName".to_owned(), "another-scheduler".into());
    }
    if let Some(node) = source["nodeName"].as_str().filter(|node| !node.is_empty()) {
        spec.insert("nodeName".to_owned(), names.text(node).into());
    }
    let name = names.in_namespace(Kind::Pod, namespace_of(pod), name_of(pod));
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": WORKLOADS}, "spec": spec,
    })
}

/// Whether a pod names a scheduler other than the one that pods are for which name none.
pub(super) fn is_for_another(pod: &Value) -> bool {
    let name = pod["spec"]["schedulerName"].as_str();
    !matches!(name, None | Some("" | "default-scheduler"))
}

/// Whether it is one of the two that the API server gives to every pod.
fn is_given(toleration: &Value) -> bool {
    const KEYS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];
    KEYS.iter().any(|key| toleration["key"] == *key)
        && toleration["operator"] == "Exists"
        && toleration["effect"] == "NoExecute"
        && toleration["tolerationSeconds"] == 300
}

fn container(name: &str, from: &Value) -> Value {
    let mut container = json!({"name": name, "image": "example.com/app"});
    let asked = &from["resources"]["requests"];
    let requests: Map<String, Value> = RESOURCES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), quantity(&asked[*name])?.into())))
        .collect();
    if !requests.is_empty() {
        container["resources"] = json!({"requests": requests});
    }
    if from["restartPolicy"] == "Always" {
        container["restartPolicy"] = "Always".into();
    }
    container
}

/// A volume that a driver has to do with; others decide nothing.
fn pod_volume(
    pod: &Value,
    index: usize,
    volume: &Value,
    claims: &[&Value],
    names: &mut Names,
) -> Option<Value> {
    if let Some(driver) = volume["csi"]["driver"].as_str() {
        return Some(json!({"name": format!("inline-{index}"), "csi": {"driver": names.driver(driver)}}));
    }
    let claim = claim_of(pod, volume)?;
    let exists = claims
        .iter()
        .any(|it| name_of(it) == claim && namespace_of(it) == namespace_of(pod));
    let template = &volume["ephemeral"]["volumeClaimTemplate"];
    if exists || template.is_null() {
        // A claim that was made for the pod is one like others: it could not be owned by the pod of the scenario.
        let name = names.in_namespace(Kind::Claim, namespace_of(pod), &claim);
        return Some(json!({"name": format!("claim-{index}"), "persistentVolumeClaim": {"claimName": name}}));
    }
    let spec = claim_spec(template, names);
    Some(json!({"name": format!("scratch-{index}"), "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}))
}
