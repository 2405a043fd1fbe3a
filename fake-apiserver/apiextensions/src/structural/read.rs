//! Parses structural schemas from JSON.
//!
//! Owns the parsing of schema keywords. Unsupported keywords were rejected by the validation of the CRD; invalid values are ignored.

use super::formats;
use fake_apiserver::extension::schema::{Additional, Checks, ListType, Pattern, Schema};
use fake_apiserver::extension::{json, pattern};
use serde_json::Value;

pub(crate) const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

pub(crate) fn read(text: &Value) -> Schema {
    let of = if_known(&TYPES, json::string(text, "type"));
    let flag = |name: &str| text[name] == true;
    let properties = text["properties"].as_object().into_iter().flatten();
    Schema {
        of,
        int_or_string: flag("x-kubernetes-int-or-string"),
        nullable: flag("nullable"),
        default: text.get("default").filter(|value| !value.is_null()).cloned(),
        preserve: flag("x-kubernetes-preserve-unknown-fields"),
        embedded: flag("x-kubernetes-embedded-resource"),
        list: list_type(text),
        atomic: text["x-kubernetes-map-type"] == "atomic",
        properties: properties
            .map(|(name, schema)| (name.clone(), read(schema)))
            .collect(),
        additional: additional(&text["additionalProperties"]),
        items: text["items"].is_object().then(|| Box::new(read(&text["items"]))),
        checks: checks(text, of),
    }
}

/// Returns `word` if `words` contains it; an empty string otherwise.
fn if_known(words: &[&'static str], word: &str) -> &'static str {
    words
        .iter()
        .find(|known| **known == word)
        .copied()
        .unwrap_or_default()
}

fn list_type(text: &Value) -> ListType {
    match json::string(text, "x-kubernetes-list-type") {
        "set" => ListType::Set,
        "map" => {
            let keys = json::texts(&text["x-kubernetes-list-map-keys"]).into_iter();
            ListType::Map(keys.map(str::to_owned).collect())
        }
        _ => ListType::Atomic,
    }
}

fn additional(text: &Value) -> Option<Additional> {
    match text {
        Value::Bool(allows) => Some(Additional::Any(*allows)),
        Value::Object(_) => Some(Additional::Schema(Box::new(read(text)))),
        _ => None,
    }
}

/// Schema keywords that validate values.
const WORDS: [&str; 20] = [
    "format",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "multipleOf",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "enum",
    "maxProperties",
    "minProperties",
    "required",
    "allOf",
    "oneOf",
    "anyOf",
    "not",
];

fn checks(text: &Value, of: &str) -> Option<Box<Checks>> {
    WORDS.iter().find(|word| text.get(**word).is_some())?;
    let schemas = |name: &str| json::list(&text[name]).iter().map(read).collect();
    let pattern = json::string(text, "pattern");
    let matcher = Some(pattern).filter(|pattern| !pattern.is_empty());
    let matcher = matcher.and_then(|pattern| pattern::read(pattern).ok());
    Some(Box::new(Checks {
        format: formats::canonical_format(of, json::string(text, "format")),
        maximum: text["maximum"].as_f64(),
        exclusive_maximum: text["exclusiveMaximum"] == true,
        minimum: text["minimum"].as_f64(),
        exclusive_minimum: text["exclusiveMinimum"] == true,
        multiple_of: text["multipleOf"].as_f64(),
        length_max: text["maxLength"].as_i64(),
        length_min: text["minLength"].as_i64(),
        pattern: matcher.map(|matcher| Pattern {
            text: pattern.to_owned(),
            matcher,
        }),
        items_max: text["maxItems"].as_i64(),
        items_min: text["minItems"].as_i64(),
        unique: text["uniqueItems"] == true,
        values: json::list(&text["enum"]).to_vec(),
        properties_max: text["maxProperties"].as_i64(),
        properties_min: text["minProperties"].as_i64(),
        required: json::texts(&text["required"])
            .into_iter()
            .map(str::to_owned)
            .collect(),
        all_of: schemas("allOf"),
        one_of: schemas("oneOf"),
        any_of: schemas("anyOf"),
        not: text["not"].is_object().then(|| read(&text["not"])),
    }))
}
