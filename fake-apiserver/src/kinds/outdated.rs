//! Warnings about what is out of date: labels of nodes and annotations that have successors.
//!
//! Owns the lists and the texts. Where such labels and annotations stand is known to the kinds.

use crate::machinery::json::list;
use serde_json::Value;

/// Labels of nodes that should not be used any more, and what to do instead.
const NODE_LABELS: [(&str, &str); 8] = [
    (
        "beta.kubernetes.io/arch",
        "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
    ),
    (
        "beta.kubernetes.io/os",
        "deprecated since v1.14; use \"kubernetes.io/os\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    (
        "node-role.kubernetes.io/master",
        "use \"node-role.kubernetes.io/control-plane\" instead",
    ),
];

/// Annotations of volumes, and the first of them of claims, that are fields now.
const VOLUME_ANNOTATIONS: [(&str, &str); 2] = [
    (
        "volume.beta.kubernetes.io/storage-class",
        "deprecated since v1.8; use \"storageClassName\" attribute instead",
    ),
    (
        "volume.beta.kubernetes.io/mount-options",
        "deprecated since v1.31; use \"mountOptions\" attribute instead",
    ),
];

/// Plugins for volumes that are gone: their names, as they are shown, and since when. Those of volumes by themselves come
/// in this order.
pub(super) const VOLUME_PLUGINS: [(&str, &str, &str); 6] = [
    (
        "cephfs",
        "cephfs",
        "deprecated in v1.28, non-functional in v1.31+",
    ),
    (
        "photonPersistentDisk",
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    (
        "scaleIO",
        "scaleIO",
        "deprecated in v1.16, non-functional in v1.22+",
    ),
    (
        "storageos",
        "storageOS",
        "deprecated in v1.22, non-functional in v1.25+",
    ),
    (
        "glusterfs",
        "glusterfs",
        "deprecated in v1.25, non-functional in v1.26+",
    ),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// The warning about a label of nodes, if it is outdated.
pub(super) fn node_label(key: &str) -> Option<&'static str> {
    NODE_LABELS
        .iter()
        .find(|(label, _)| *label == key)
        .map(|(_, text)| *text)
}

/// The warnings for a label selector that selects nodes.
pub(super) fn label_selector(selector: &Value, at: &str) -> Vec<String> {
    let mut warnings = expressions(selector, at);
    for label in selector["matchLabels"].as_object().into_iter().flatten() {
        if let Some(text) = node_label(label.0) {
            warnings.push(format!("{at}.matchLabels.{}: {text}", label.0));
        }
    }
    warnings
}

/// The warnings for the terms of a node selector.
pub(super) fn node_selector(terms: &Value, at: &str) -> Vec<String> {
    let terms = terms.as_array().into_iter().flatten().enumerate();
    terms
        .flat_map(|(i, term)| expressions(term, &format!("{at}[{i}]")))
        .collect()
}

/// The warnings for the requirements of one term.
fn expressions(term: &Value, at: &str) -> Vec<String> {
    let all = list(&term["matchExpressions"]).iter().enumerate();
    all.filter_map(|(i, requirement)| expression(requirement, &format!("{at}.matchExpressions[{i}]")))
        .collect()
}

/// The warning for one requirement.
pub(super) fn expression(requirement: &Value, at: &str) -> Option<String> {
    let key = requirement["key"].as_str()?;
    let text = node_label(key)?;
    Some(format!("{at}.key: {key} is {text}"))
}

/// The warnings for the annotations of a volume, or of a claim, for which only the first counts.
pub(super) fn annotations(object: &Value, count: usize) -> Vec<String> {
    let annotations = &object["metadata"]["annotations"];
    let present = VOLUME_ANNOTATIONS
        .iter()
        .take(count)
        .filter(|(name, _)| !annotations[*name].is_null());
    present
        .map(|(name, text)| format!("metadata.annotations[{name}]: {text}"))
        .collect()
}
