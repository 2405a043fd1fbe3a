//! `matchLabelKeys` and `mismatchLabelKeys`: at the creation of a pod, the values of these labels are merged into the label selector of the
//! same term, so that schedulers need not evaluate these fields (KEP-3633, KEP-3243).

use crate::machinery::json;
use serde_json::{Map, Value, json};

/// Both fields with label keys, each with the operator of the requirements that the field adds to the label selector.
const KEYS: [(&str, &str); 2] = [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")];

/// Adds `matchLabelKeys` and `mismatchLabelKeys` of a new pod to label selectors. A term without label selector matches no pod, so skips it.
pub(super) fn merge_label_keys(pod: &mut Value) {
    let Some(labels) = pod["metadata"]["labels"].as_object().cloned() else {
        return;
    };
    let spec = &mut pod["spec"];
    for kind in ["podAffinity", "podAntiAffinity"] {
        let at = format!("/affinity/{kind}/preferredDuringSchedulingIgnoredDuringExecution");
        for preference in json::entries(spec, &at) {
            merge_label_keys_of_term(&mut preference["podAffinityTerm"], &labels);
        }
        let at = format!("/affinity/{kind}/requiredDuringSchedulingIgnoredDuringExecution");
        json::entries(spec, &at).for_each(|term| merge_label_keys_of_term(term, &labels));
    }
    json::entries(spec, "/topologySpreadConstraints")
        .for_each(|term| merge_label_keys_of_term(term, &labels));
}

fn merge_label_keys_of_term(term: &mut Value, labels: &Map<String, Value>) {
    let requirements = KEYS.into_iter().flat_map(|(list, operator)| {
        let keys = json::texts(&term[list]).into_iter();
        keys.filter_map(move |key| {
            let value = labels.get(key)?;
            Some(json!({"key": key, "operator": operator, "values": [value]}))
        })
    });
    let requirements: Vec<Value> = requirements.collect();
    if requirements.is_empty() {
        return;
    }
    let Some(selector) = term["labelSelector"].as_object_mut() else {
        return;
    };
    let expressions = selector.entry("matchExpressions").or_insert_with(|| json!([]));
    if let Value::Array(expressions) = expressions {
        expressions.extend(requirements);
    }
}
