//! Values in the form of kube-apiserver's internal Go types, as JSON: some validation errors contain such a value, or the diff of two
//! values.
//!
//! Owns this format. The types and their fields are listed in `internal_types.txt`. Does not know which changes are invalid.

use crate::machinery::{go, unified_diff};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

static TYPES: LazyLock<HashMap<&str, Vec<Member>>> =
    LazyLock::new(|| parse(include_str!("internal_types.txt")));

/// A field of a Go struct.
struct Member {
    name: &'static str,
    /// The path of the field in the API object.
    place: Cow<'static, str>,
    kind: &'static str,
    /// Whether the output omits the field if it is unset in the API object.
    is_optional: bool,
}

/// The diff of two values of a type in `internal_types.txt`, as in kube-apiserver's errors.
pub(super) fn diff(kind: &str, old: &Value, new: &Value) -> String {
    unified_diff::unified_diff(&lines(kind, old), &lines(kind, new))
}

/// A value of a type in `internal_types.txt`, on one line.
pub fn format_compact(kind: &str, value: &Value) -> String {
    write_lines(kind, value, true).concat()
}

fn lines(kind: &str, value: &Value) -> Vec<String> {
    write_lines(kind, value, false)
}

fn write_lines(kind: &str, value: &Value, is_compact: bool) -> Vec<String> {
    let mut writer = Writer {
        is_compact,
        ..Writer::default()
    };
    writer.member(kind, value, &Value::Null);
    writer.lines
}

fn parse(table: &'static str) -> HashMap<&'static str, Vec<Member>> {
    let mut types: HashMap<&str, Vec<Member>> = HashMap::new();
    let mut current = "";
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    for word in rows.flat_map(str::split_ascii_whitespace) {
        match word.strip_suffix(':') {
            Some(name) => current = name,
            None => types.entry(current).or_default().push(member(word)),
        }
    }
    types
}

fn member(word: &'static str) -> Member {
    let (names, kind) = word.split_once(':').unwrap_or((word, "-"));
    let (name, place) = match names.split_once('=') {
        Some((name, place)) => (name, place.into()),
        None => (names, go::member_name(names).into()),
    };
    let required = kind.strip_prefix('?');
    Member {
        name,
        place,
        kind: required.unwrap_or(kind),
        is_optional: required.is_some(),
    }
}

/// Whether Go's JSON encoder omits a struct field that is tagged `omitempty` and has this value.
fn is_omitted_if_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(entries) => entries.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Writes JSON as Go does: indented by one space for each level, or compact.
#[derive(Default)]
struct Writer {
    is_compact: bool,
    lines: Vec<String>,
    depth: usize,
    /// The field name, such as `"spec": `, that precedes the next value on its line.
    label: String,
}

impl Writer {
    fn push_line(&mut self, text: &str) {
        let indent = match self.is_compact {
            true => String::new(),
            false => " ".repeat(self.depth),
        };
        let label = std::mem::take(&mut self.label);
        self.lines.push(format!("{indent}{label}{text}"));
    }

    fn set_label(&mut self, name: &str) {
        let space = if self.is_compact { "" } else { " " };
        self.label = format!("{name}:{space}");
    }

    fn write_list<T>(&mut self, brackets: [&str; 2], parts: &[T], mut each: impl FnMut(&mut Self, &T)) {
        let [open, close] = brackets;
        if parts.is_empty() {
            return self.push_line(&format!("{open}{close}"));
        }
        self.push_line(open);
        self.depth += 1;
        for (at, part) in parts.iter().enumerate() {
            each(self, part);
            if let Some(last) = self.lines.last_mut().filter(|_| at + 1 < parts.len()) {
                last.push(',');
            }
        }
        self.depth -= 1;
        self.push_line(close);
    }

    fn structure(&mut self, kind: &str, value: &Value, parent: &Value) {
        let members = TYPES.get(kind).map_or(&[] as &[Member], Vec::as_slice);
        let members = members
            .iter()
            .map(|member| (member, find_field(&member.place, value, parent)));
        let members: Vec<_> = members
            .filter(|(member, found)| !member.is_optional || !is_omitted_if_empty(found))
            .collect();
        self.write_list(["{", "}"], &members, |writer, (member, found)| {
            writer.set_label(&format!("{:?}", member.name));
            writer.member(member.kind, found, value);
        });
    }

    fn member(&mut self, kind: &str, value: &Value, parent: &Value) {
        if let Some(items) = kind.strip_prefix("[]") {
            return match value.as_array() {
                Some(list) => self.write_list(["[", "]"], list, |writer, item| {
                    writer.member(items, item, value);
                }),
                None => self.push_line("null"),
            };
        }
        if let Some(kind) = kind.strip_prefix('*') {
            return match value {
                Value::Object(_) => self.structure(kind, value, parent),
                _ => self.push_line("null"),
            };
        }
        match kind {
            _ if TYPES.contains_key(kind) => self.structure(kind, value, parent),
            "-" if value.is_null() => self.push_line("null"),
            // `kind` can be a literal such as `0` or `false` instead of a type: the text to write for an unset value.
            nothing if value.is_null() => self.push_line(nothing),
            _ => self.write_api_value(value),
        }
    }

    fn write_api_value(&mut self, value: &Value) {
        match value {
            Value::Array(items) => self.write_list(["[", "]"], items, Self::write_api_value),
            Value::Object(members) => {
                let members: Vec<_> = members.iter().collect();
                self.write_list(["{", "}"], &members, |writer, (name, value)| {
                    writer.set_label(&go::json_string(name));
                    writer.write_api_value(value);
                });
            }
            Value::String(plain) => self.push_line(&go::json_string(plain)),
            scalar => self.push_line(&scalar.to_string()),
        }
    }
}

fn find_field<'v>(place: &str, value: &'v Value, parent: &'v Value) -> &'v Value {
    match place.strip_prefix('^') {
        Some(place) => &parent[place],
        None => place.split('/').fold(value, |value, name| &value[name]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_field_type_is_defined() {
        for (kind, members) in TYPES.iter() {
            for member in members {
                let of = member.kind.trim_start_matches("[]").trim_start_matches('*');
                let is_plain = ["\"\"", "\"0\"", "0", "false", "-"].contains(&of);
                assert!(is_plain || TYPES.contains_key(of), "{of} of {kind}");
            }
        }
    }

    #[test]
    fn unset_fields_are_shown_as_go_zero_values() {
        let source = json!({"hostPath": {"path": "/a&b"}});
        let shown = lines("PersistentVolumeSource", &source);
        let expected = [
            "{",
            " \"GCEPersistentDisk\": null,",
            " \"AWSElasticBlockStore\": null,",
            " \"HostPath\": {",
            "  \"Path\": \"/a\\u0026b\",",
            "  \"Type\": null",
            " },",
        ];
        assert_eq!(shown[..7], expected);
        assert_eq!(shown.last().map(String::as_str), Some("}"));
    }

    #[test]
    fn values_in_errors_are_shown_on_one_line() {
        assert_eq!(format_compact("*VolumeNodeAffinity", &Value::Null), "null");
        let selector =
            json!({"matchExpressions": [{"key": "a", "operator": "Exists"}], "matchLabels": {"b": "c"}});
        let expected = r#"{"matchLabels":{"b":"c"},"matchExpressions":[{"key":"a","operator":"Exists"}]}"#;
        assert_eq!(format_compact("*LabelSelector", &selector), expected);
    }

    #[test]
    fn fields_are_nested_as_in_the_internal_types() {
        let spec = json!({"hostNetwork": true, "securityContext": {"fsGroup": 1}, "containers": [{"name": "a"}],
            "topologySpreadConstraints": [{"maxSkew": 1, "labelSelector": {"matchLabels": {"a": "b"}}}]});
        let shown = lines("PodSpec", &spec);
        let place = |line: &str| shown.iter().position(|shown| shown == line);
        let context = place(" \"SecurityContext\": {").expect("it is shown");
        assert_eq!(shown[context + 1], "  \"HostNetwork\": true,");
        assert!(place("  \"FSGroup\": 1,").is_some_and(|at| at > context));
        let selector = place("   \"LabelSelector\": {").expect("it is shown");
        assert_eq!(
            shown[selector + 1..selector + 5],
            ["    \"matchLabels\": {", "     \"a\": \"b\"", "    }", "   },"]
        );
    }
}
