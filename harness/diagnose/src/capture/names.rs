//! Object names in the case file: the original names or neutral ones, always unique.
//!
//! Equal strings are replaced by equal names, so that selectors still match.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// What is named: the kind of an object, or the meaning of a string. Names are unique per kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Node,
    Class,
    Claim,
    Volume,
    Capacity,
    Pod,
    Driver,
    Key,
    Value,
}

/// Assigns the names of the case file, and stores the assigned names by original string.
pub(super) struct Names {
    scrub: bool,
    assigned: BTreeMap<(Kind, String), String>,
    used: BTreeSet<(Kind, String)>,
    /// Label keys whose values are compared as numbers. Values of these labels are not replaced.
    numeric: BTreeSet<String>,
}

/// Domains whose label keys and names are not confidential.
const PUBLIC: [&str; 2] = ["kubernetes.io", "k8s.io"];

impl Names {
    /// Creates the mapping and names `nodes` first, because label values often contain node names. `scrub`: whether names are neutral.
    pub(super) fn new(scrub: bool, nodes: &[&str], numeric: BTreeSet<String>) -> Self {
        let mut names = Names {
            scrub,
            assigned: BTreeMap::new(),
            used: BTreeSet::new(),
            numeric,
        };
        let width = nodes.len().to_string().len();
        for (number, node) in nodes.iter().enumerate() {
            let neutral = format!("node-{:0width$}", number + 1);
            let name = if scrub { neutral } else { (*node).to_owned() };
            names.assign(Kind::Node, node, name);
        }
        names
    }

    pub(super) fn scrubs(&self) -> bool {
        self.scrub
    }

    fn assign(&mut self, kind: Kind, text: &str, name: String) -> String {
        self.used.insert((kind, name.clone()));
        self.assigned.insert((kind, text.to_owned()), name.clone());
        name
    }

    fn known(&self, kind: Kind, text: &str) -> Option<String> {
        self.assigned.get(&(kind, text.to_owned())).cloned()
    }

    /// The name in the case file for a string, or for the name of an object without a namespace.
    pub(super) fn of(&mut self, kind: Kind, text: &str) -> String {
        if let Some(name) = self.known(kind, text) {
            return name;
        }
        let name = if self.scrub {
            self.next_neutral_name(kind)
        } else {
            text.to_owned()
        };
        self.assign(kind, text, name)
    }

    /// The name in the case file for an object that moves to the namespace `default`. If its name is in use there, the original namespace
    /// becomes a prefix.
    pub(super) fn in_namespace(&mut self, kind: Kind, namespace: &str, name: &str) -> String {
        let text = format!("{namespace}/{name}");
        if let Some(name) = self.known(kind, &text) {
            return name;
        }
        if self.scrub {
            let name = self.next_neutral_name(kind);
            return self.assign(kind, &text, name);
        }
        let mut free = name.to_owned();
        let mut number = 1;
        while self.used.contains(&(kind, free.clone())) {
            free = match number {
                1 => format!("{namespace}-{name}"),
                _ => format!("{namespace}-{name}-{number}"),
            };
            number += 1;
        }
        self.assign(kind, &text, free)
    }

    /// Assigns the name `required`, for example to an ephemeral volume's PVC, whose name the API prescribes.
    pub(super) fn assign_required(&mut self, kind: Kind, namespace: &str, name: &str, required: String) {
        self.assign(kind, &format!("{namespace}/{name}"), required);
    }

    fn next_neutral_name(&self, kind: Kind) -> String {
        let number = 1 + self.used.iter().filter(|(other, _)| *other == kind).count();
        match kind {
            Kind::Node => format!("node-{number}"),
            Kind::Class => format!("class-{number}"),
            Kind::Claim => format!("claim-{number}"),
            Kind::Volume => format!("volume-{number}"),
            Kind::Capacity => format!("capacity-{number}"),
            Kind::Pod => format!("pod-{number}"),
            Kind::Driver => format!("driver-{number}.example.com"),
            Kind::Key => format!("example.com/key-{number}"),
            Kind::Value => format!("value-{number}"),
        }
    }

    /// The name in the case file for a driver or provisioner. Names that start with `kubernetes.io/` are retained.
    pub(super) fn rename_driver(&mut self, name: &str) -> String {
        if name.starts_with("kubernetes.io/") {
            return name.to_owned();
        }
        self.of(Kind::Driver, name)
    }

    /// The name in the case file for the key of a label or taint. Keys of Kubernetes domains are retained.
    pub(super) fn rename_key(&mut self, key: &str) -> String {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        let is_public = |public: &str| domain == public || domain.ends_with(&format!(".{public}"));
        if PUBLIC.into_iter().any(is_public) {
            return key.to_owned();
        }
        self.of(Kind::Key, key)
    }

    /// The name in the case file for a label value. If the value is a node name, the name of that node in the case file.
    pub(super) fn rename_label_value(&mut self, key: &str, value: &str) -> String {
        if self.numeric.contains(key) {
            return value.to_owned();
        }
        self.rename_text(value)
    }

    /// The name in the case file for a string whose meaning is unknown.
    pub(super) fn rename_text(&mut self, value: &str) -> String {
        if value.is_empty() || matches!(value, "true" | "false") {
            return value.to_owned();
        }
        match self.known(Kind::Node, value) {
            Some(node) => node,
            None => self.of(Kind::Value, value),
        }
    }

    /// Replaces label keys, label values and node names in a selector, at any depth.
    pub(super) fn rename_selector(&mut self, value: &Value) -> Value {
        match value {
            Value::Object(fields) if fields.contains_key("key") => self.rename_expression(fields),
            Value::Object(fields) => {
                let field = |(name, value): (&String, &Value)| match (name.as_str(), value) {
                    ("matchLabels", Value::Object(labels)) => (name.clone(), self.rename_labels(labels)),
                    _ => (name.clone(), self.rename_selector(value)),
                };
                fields.iter().map(field).collect()
            }
            Value::Array(items) => items.iter().map(|item| self.rename_selector(item)).collect(),
            other => other.clone(),
        }
    }

    pub(super) fn rename_labels(&mut self, labels: &Map<String, Value>) -> Value {
        let label = |(key, value): (&String, &Value)| {
            let value = self.rename_label_value(key, value.as_str().unwrap_or_default());
            (self.rename_key(key), Value::String(value))
        };
        labels.iter().map(label).collect()
    }

    /// Replaces `key`, and `values` or `value`, in a selector expression. Fields such as `operator` are unchanged.
    pub(super) fn rename_expression(&mut self, fields: &Map<String, Value>) -> Value {
        let key = fields["key"].as_str().unwrap_or_default().to_owned();
        // The key of a field selector is defined by the API, so it is not replaced.
        let is_field = key == "metadata.name";
        let field = |(name, value): (&String, &Value)| {
            let value = match (name.as_str(), value) {
                ("key", _) if is_field || key.is_empty() => value.clone(),
                ("key", _) => self.rename_key(&key).into(),
                ("value", Value::String(text)) => self.rename_label_value(&key, text).into(),
                ("values", Value::Array(texts)) => texts
                    .iter()
                    .map(|text| {
                        Value::String(self.rename_label_value(&key, text.as_str().unwrap_or_default()))
                    })
                    .collect(),
                _ => value.clone(),
            };
            (name.clone(), value)
        };
        fields.iter().map(field).collect()
    }
}

/// Collects the label keys that a selector uses, and those with the operator `Gt` or `Lt`, which compares values as numbers.
pub(super) fn collect_label_keys(value: &Value, keys: &mut BTreeSet<String>, numeric: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(key) = fields.get("key").and_then(Value::as_str) {
                keys.insert(key.to_owned());
                if matches!(fields.get("operator").and_then(Value::as_str), Some("Gt" | "Lt")) {
                    numeric.insert(key.to_owned());
                }
            }
            if let Some(labels) = fields.get("matchLabels").and_then(Value::as_object) {
                keys.extend(labels.keys().cloned());
            }
            fields
                .values()
                .for_each(|value| collect_label_keys(value, keys, numeric));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| collect_label_keys(item, keys, numeric)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_renamed_selector_still_matches_the_renamed_labels() {
        let mut names = Names::new(true, &["db-a", "db-b"], BTreeSet::from(["rank".to_owned()]));
        let selector = json!({"matchLabels": {"corp.example/host": "db-b"}, "matchExpressions": [
            {"key": "corp.example/host", "operator": "In", "values": ["db-b", "other"]},
            {"key": "rank", "operator": "Gt", "values": ["7"]},
            {"key": "topology.kubernetes.io/zone", "operator": "Exists"}]});
        assert_eq!(
            names.rename_selector(&selector),
            json!({"matchLabels": {"example.com/key-1": "node-2"}, "matchExpressions": [
                {"key": "example.com/key-1", "operator": "In", "values": ["node-2", "value-1"]},
                {"key": "example.com/key-2", "operator": "Gt", "values": ["7"]},
                {"key": "topology.kubernetes.io/zone", "operator": "Exists"}]})
        );
    }

    #[test]
    fn equal_names_of_several_namespaces_stay_distinct() {
        let mut names = Names::new(false, &[], BTreeSet::new());
        let mut named = |namespace| names.in_namespace(Kind::Claim, namespace, "data");
        assert_eq!([named("a"), named("b"), named("a")], ["data", "b-data", "data"]);
    }
}
