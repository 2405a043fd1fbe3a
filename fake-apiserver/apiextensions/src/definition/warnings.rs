//! Warnings to clients that write CRDs with unknown `format` values.

use crate::structural::is_known_format;
use fake_apiserver::extension::json::{list, string};
use serde_json::Value;

/// The warnings for a written CRD. `old` is null on create.
pub(crate) fn warn(new: &Value, old: &Value) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), Vec::new());
    for (definition, formats) in [(new, &mut found), (old, &mut before)] {
        for version in list(&definition["spec"]["versions"]) {
            collect(&version["schema"]["openAPIV3Schema"], formats);
        }
    }
    found.retain(|format| !before.contains(format));
    found
        .into_iter()
        .map(|format| format!("unrecognized format {format:?}"))
        .collect()
}

/// Collects the unknown formats of a schema and of all nested schemas.
fn collect(schema: &Value, unknown: &mut Vec<String>) {
    let format = string(schema, "format");
    if !format.is_empty() && !is_known_format(string(schema, "type"), format) {
        unknown.push(format.to_owned());
    }
    for (_, property) in schema["properties"].as_object().into_iter().flatten() {
        collect(property, unknown);
    }
    for word in ["allOf", "oneOf", "anyOf"] {
        list(&schema[word])
            .iter()
            .for_each(|inner| collect(inner, unknown));
    }
    for word in ["items", "additionalProperties", "not"] {
        if schema[word].is_object() {
            collect(&schema[word], unknown);
        }
    }
}
