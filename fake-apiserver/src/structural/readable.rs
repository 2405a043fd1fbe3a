//! Words of JSON schemas that keep a schema from being read as a structural one.

use crate::machinery::json::list;
use serde_json::Value;

/// These words, in the order in which the real server looks for them, with the names that it tells.
const WORDS: [(&str, &str); 7] = [
    ("id", "id"),
    ("$schema", "schema"),
    ("$ref", "$ref"),
    ("patternProperties", "patternProperties"),
    ("dependencies", "dependencies"),
    ("additionalItems", "additionalItems"),
    ("definitions", "definitions"),
];

/// Why a schema cannot be read as a structural one; none where it can.
pub(crate) fn unreadable(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return None;
    }
    if let Some((_, told)) = WORDS.iter().find(|(word, _)| is_set(word, &schema[*word])) {
        return Some(format!("OpenAPIV3Schema '{told}' is not supported"));
    }
    let combined = ["allOf", "anyOf", "oneOf"].into_iter();
    let combined = combined.flat_map(|word| list(&schema[word]));
    let found = std::iter::once(&schema["not"])
        .chain(combined)
        .find_map(unreadable);
    if found.is_some() {
        return found;
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let why = "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
        return Some(why.to_owned());
    }
    if schema["items"].is_array() {
        return Some("OpenAPIV3Schema 'items' must be a schema, but is an array".to_owned());
    }
    let properties = schema["properties"].as_object().into_iter().flatten();
    std::iter::once(&schema["items"])
        .chain(properties.map(|(_, inner)| inner))
        .chain([&schema["additionalProperties"]])
        .find_map(unreadable)
}

fn is_set(word: &str, value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Object(members) => word == "additionalItems" || !members.is_empty(),
        _ => true,
    }
}
