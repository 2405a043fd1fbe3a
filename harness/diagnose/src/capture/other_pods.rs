//! Pods that already have a node, as far as they affect the captured pods.
//!
//! Pods that share a host port or a PVC with a captured pod, or that match its affinity or topology spread constraints, are written
//! individually. Of the remaining pods only the resource requests matter: one replacement pod stands for all pods with the same node and
//! priority.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::{Expression, LabelSelector, Labels};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector as ApiLabelSelector;
use serde_json::{Value, json};

use super::NAMESPACE;
use super::names::{Kind, Names};
use super::pod::pod as reduced;
use super::pod_fields::{
    host_ports, priority, priority_class, requests, required_affinity_terms, resources_of,
};
use super::situation::{Situation, name_of, namespace_of};
use capacity_types::pod::{claim_of, claims_of};

/// The pods of the case file that represent other pods of the cluster.
#[derive(Default)]
pub(super) struct OtherPods {
    /// Pod objects in the format of the case file.
    pub(super) pods: Vec<Value>,
    /// By node, the number of its pods in the cluster that have no counterpart in the case file.
    pub(super) missing: BTreeMap<String, i64>,
}

/// Reduces the pods that have a node and are not captured. `resources`: names of the resources that captured pods request.
pub(super) fn other_pods(
    situation: &Situation<'_>,
    resources: &BTreeSet<String>,
    names: &mut Names,
) -> OtherPods {
    let mut all = OtherPods::default();
    let mut together: BTreeMap<_, (i64, BTreeMap<String, i128>)> = BTreeMap::new();
    for pod in &situation.other_pods {
        if is_captured_alone(situation, pod) {
            // Volumes other than captured PVCs are removed, because they do not affect the captured pods.
            let mut with_shared = (*pod).clone();
            let is_shared = |volume: &Value| {
                let claim = claim_of(pod, volume);
                let mut claims = situation.claims.iter();
                claims
                    .any(|it| Some(name_of(it)) == claim.as_deref() && namespace_of(it) == namespace_of(pod))
            };
            if let Some(volumes) = with_shared["spec"]["volumes"].as_array_mut() {
                volumes.retain(is_shared);
            }
            all.pods
                .push(reduced(&with_shared, &situation.claims, resources, names));
            continue;
        }
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let (count, sum) = together.entry((node, priority(pod))).or_default();
        *count += 1;
        for (name, amount) in requests(pod) {
            if resources.contains(&name) {
                *sum.entry(name).or_default() += amount;
            }
        }
    }
    for (number, ((node, priority), (count, sum))) in together.into_iter().enumerate() {
        *all.missing.entry(node.to_owned()).or_default() += count - 1;
        let mut spec = json!({
            "nodeName": names.of(Kind::Node, node),
            "containers": [{"name": "main", "image": "example.com/app", "resources": resources_of(&sum, names)}],
        });
        if let Some(class) = priority_class(priority) {
            spec["priorityClassName"] = class.into();
        }
        all.pods.push(json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("others-{number}"), "namespace": NAMESPACE}, "spec": spec,
        }));
    }
    all
}

/// Whether a pod that already has a node affects captured pods by more than its resource requests, so that it is written individually.
fn is_captured_alone(situation: &Situation<'_>, other: &Value) -> bool {
    let claims = claims_of(other);
    situation.pods.iter().any(|pod| {
        let shares_claim =
            namespace_of(pod) == namespace_of(other) && claims_of(pod).iter().any(|it| claims.contains(it));
        let shares_port =
            host_ports(pod).any(|port| host_ports(other).any(|it| it["hostPort"] == port["hostPort"]));
        let spread = pod["spec"]["topologySpreadConstraints"]
            .as_array()
            .into_iter()
            .flatten();
        let is_counted = namespace_of(pod) == namespace_of(other) && {
            let mut spread = spread.filter(|it| it["whenUnsatisfiable"] == "DoNotSchedule");
            spread.any(|it| selects(&it["labelSelector"], other))
        };
        let mut wanted = ["podAffinity", "podAntiAffinity"]
            .into_iter()
            .flat_map(|kind| required_affinity_terms(pod, kind));
        let is_wanted = wanted.any(|term| term_matches(situation, term, pod, other));
        let mut unwanted = required_affinity_terms(other, "podAntiAffinity");
        shares_claim
            || shares_port
            || is_counted
            || is_wanted
            || unwanted.any(|term| term_matches(situation, term, other, pod))
    })
}

/// Whether an affinity term of `pod` selects the pod `other`, by namespace and labels.
fn term_matches(situation: &Situation<'_>, term: &Value, pod: &Value, other: &Value) -> bool {
    let listed: Vec<&str> = term["namespaces"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let by_label = &term["namespaceSelector"];
    let own = listed.is_empty() && by_label.is_null() && namespace_of(pod) == namespace_of(other);
    let named = listed.contains(&namespace_of(other));
    let nothing = Value::Null;
    let namespace = situation
        .namespaces
        .get(namespace_of(other))
        .copied()
        .unwrap_or(&nothing);
    (own || named || selects(by_label, namespace)) && selects(&term["labelSelector"], other)
}

/// Whether a label selector matches an object. A null selector matches no object.
fn selects(selector: &Value, object: &Value) -> bool {
    let Ok(Some(selector)) = serde_json::from_value::<Option<ApiLabelSelector>>(selector.clone()) else {
        return false;
    };
    let labels: Labels = object["metadata"]["labels"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned())))
        .collect();
    let expressions = selector.match_expressions.iter().flatten().map(|it| Expression {
        key: &it.key,
        operator: &it.operator,
        values: it.values.as_deref().unwrap_or_default(),
    });
    let compiled = LabelSelector::compile(selector.match_labels.iter().flatten(), expressions);
    compiled.is_ok_and(|compiled| compiled.matches(&labels))
}
