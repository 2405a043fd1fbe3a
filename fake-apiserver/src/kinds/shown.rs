//! Values as the real server's refusals show them: Go structs, whose members have an order and, in types of the
//! server's own, Go's names.
//!
//! Owns the forms of the structs that more than one rule shows. Does not know the rules.

use serde_json::{Value, json};

/// Members of a struct in Go's order: the name that is shown, and the name in JSON.
type StructMembers = &'static [(&'static str, &'static str)];

const REFERENCE: StructMembers = &[
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
];
const SOURCE: StructMembers = &[("Component", "component"), ("Host", "host")];

/// A reference to an object.
pub(super) fn reference(value: &Value) -> String {
    texts(value, REFERENCE)
}

/// Who an event is from.
pub(super) fn event_source(value: &Value) -> String {
    texts(value, SOURCE)
}

/// A struct of strings of the server's own, each of which is shown even if it is empty.
fn texts(value: &Value, members: StructMembers) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let members = members.iter().map(|(shown, name)| {
        let text = value[*name].as_str().unwrap_or_default();
        format!("{shown:?}:{}", Value::from(text))
    });
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// A label selector. Its type is the one that clients have, too.
pub(super) fn label_selector(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let requirements = value["matchExpressions"].as_array();
    let requirements = requirements.map(|all| {
        let all: Vec<String> = all
            .iter()
            .map(|each| ordered(each, &["key", "operator", "values"]))
            .collect();
        format!("\"matchExpressions\":[{}]", all.join(","))
    });
    let labels = value
        .get("matchLabels")
        .map(|labels| format!("\"matchLabels\":{labels}"));
    let parts: Vec<String> = labels.into_iter().chain(requirements).collect();
    format!("{{{}}}", parts.join(","))
}

/// The members that there are, in the order of the names.
fn ordered(value: &Value, names: &[&str]) -> String {
    let members = names
        .iter()
        .filter_map(|name| Some((name, value.get(*name).filter(|member| !member.is_null())?)));
    let members: Vec<String> = members
        .map(|(name, member)| format!("{name:?}:{member}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// A part of a spec as the real server shows it: its own types have no names of JSON, and nothing is left out.
pub(super) fn as_internal(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(as_internal).collect(),
        Value::Object(members) if members.contains_key("operator") => json!({
            "Key": members.get("key"), "Operator": members.get("operator"), "Values": members.get("values"),
        }),
        Value::Object(members) => {
            let requirements = |name: &str| members.get(name).map(as_internal);
            json!({
                "MatchExpressions": requirements("matchExpressions"), "MatchFields": requirements("matchFields"),
            })
        }
        other => other.clone(),
    }
}
