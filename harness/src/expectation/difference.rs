//! Compares an object with the expected fields. Sizes are compared as quantities, topology selectors by meaning, everything else as JSON.

use capacity_types::{Quantity, capacity_api::RESOURCE};
use serde_json::{Map, Value};

use capacity_types::segment::as_label;

/// First differing field as (expected, actual). An expected `null` means that the field must be absent; lists must have equal lengths.
pub(super) fn first_difference(resource: &str, want: &Value, got: &Value) -> Option<(String, String)> {
    difference(resource, "", want, got)
}

fn difference(resource: &str, path: &str, want: &Value, got: &Value) -> Option<(String, String)> {
    match (want, got) {
        (Value::Null, Value::Null) => None,
        (Value::Object(want), Value::Object(got)) if is_topology_selector(resource, path) => {
            let (want, got) = (
                Value::Object(normalized_selector(want)),
                Value::Object(normalized_selector(got)),
            );
            let fields = ["matchLabels", "matchExpressions"].into_iter();
            let mut pairs = fields.map(|key| (format!("{path}.{key}"), &want[key], &got[key]));
            pairs.find_map(|(path, want, got)| difference(resource, &path, want, got))
        }
        (Value::Object(fields), Value::Object(_)) => fields
            .iter()
            .find_map(|(key, want)| difference(resource, &format!("{path}.{key}"), want, &got[key])),
        (Value::Array(wants), Value::Array(gots)) if wants.len() == gots.len() => {
            let pairs = wants.iter().zip(gots).enumerate();
            pairs
                .into_iter()
                .find_map(|(at, (want, got))| difference(resource, &format!("{path}[{at}]"), want, got))
        }
        (Value::String(want), Value::String(got))
            if is_size(resource, path) && equal_quantities(want, got) =>
        {
            None
        }
        // An expectation without `having` or `fields` requires nothing.
        (Value::Null, _) if path.is_empty() => None,
        _ if want == got => None,
        _ => Some((format!("{path} {want}"), format!("{path} {got}"))),
    }
}

/// Whether the field is the label selector of a CSIStorageCapacity object.
fn is_topology_selector(resource: &str, path: &str) -> bool {
    resource == RESOURCE && path == ".nodeTopology"
}

/// Whether the field is a quantity of a CSIStorageCapacity object.
fn is_size(resource: &str, path: &str) -> bool {
    resource == RESOURCE && matches!(path, ".capacity" | ".maximumVolumeSize")
}

fn equal_quantities(one: &str, other: &str) -> bool {
    matches!((one.parse::<Quantity>(), other.parse::<Quantity>()), (Ok(one), Ok(other)) if one == other)
}

/// Normalizes a label selector: an `In` expression with one value becomes a label, and empty label or expression lists are dropped.
fn normalized_selector(selector: &Map<String, Value>) -> Map<String, Value> {
    let mut labels = selector
        .get("matchLabels")
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default();
    let mut others = Vec::new();
    for term in selector
        .get("matchExpressions")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match as_label(term) {
            Some((key, value)) if labels.get(key).is_none_or(|known| known == value) => {
                labels.insert(key.to_owned(), value.into());
            }
            _ => others.push(term.clone()),
        }
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), labels.into());
    }
    if !others.is_empty() {
        selector.insert("matchExpressions".to_owned(), others.into());
    }
    selector
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn capacity_objects_compare_sizes_and_selectors_by_meaning() {
        let expression = json!({"key": "node", "operator": "In", "values": ["n1"]});
        let got = json!({"capacity": "10737418240", "nodeTopology": {"matchExpressions": [expression]}});
        let differs = |resource: &str, want: Value| first_difference(resource, &want, &got).is_some();
        assert!(!differs(RESOURCE, json!({"capacity": "10Gi"})));
        assert!(differs(RESOURCE, json!({"capacity": "10G"})));
        assert!(differs("configmaps", json!({"capacity": "10Gi"})));
        assert!(!differs(
            RESOURCE,
            json!({"nodeTopology": {"matchLabels": {"node": "n1"}}})
        ));
        assert!(differs(
            RESOURCE,
            json!({"nodeTopology": {"matchLabels": {"node": "n2"}}})
        ));
        assert!(
            differs(RESOURCE, json!({"nodeTopology": {}})),
            "an empty selector selects every node"
        );
    }

    #[test]
    fn the_first_difference_is_returned() {
        let got = json!({"a": {"b": 1, "c": [1, 2]}, "d": "x"});
        assert_eq!(first_difference("pods", &json!({"a": {"b": 1}}), &got), None);
        assert_eq!(first_difference("pods", &json!({"e": null}), &got), None);
        assert_eq!(first_difference("pods", &Value::Null, &got), None);
        let (want, got_text) = first_difference("pods", &json!({"a": {"c": [1, 3]}}), &got).unwrap();
        assert_eq!((want.as_str(), got_text.as_str()), (".a.c[1] 3", ".a.c[1] 2"));
        assert!(first_difference("pods", &json!({"d": null}), &got).is_some());
    }
}
