//! Validation that a schema is structural: the type of every value is given outside of `allOf`, `anyOf`, `oneOf` and `not`.

use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::{list, string};
use fake_apiserver::extension::pattern;
use serde_json::{Value, json};

/// The position of a nested schema within the schema of a CRD.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Entry,
    Member,
}

/// Keywords that schemas within `allOf`, `anyOf`, `oneOf` and `not` must not have, each with its error message.
const NOT_NESTED: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

/// Validates that a schema is structural. Errors are sorted by their text.
pub(super) fn validate(schema: &Value, at: &str, errors: &mut ErrorList) {
    let mut found = ErrorList::default();
    visit(schema, at, Level::Root, &mut found);
    errors.extend_sorted(found);
}

fn visit(schema: &Value, at: &str, level: Level, errors: &mut ErrorList) {
    let of = string(schema, "type");
    if of == "array" && schema["items"].is_null() {
        errors.required(format!("{at}.items"), "must be specified");
    }
    if schema["items"].is_object() {
        visit(&schema["items"], &format!("{at}.items"), Level::Entry, errors);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        visit(
            property,
            &format!("{at}.properties[{name}]"),
            Level::Member,
            errors,
        );
    }
    let additional = &schema["additionalProperties"];
    if !additional.is_null() && level == Level::Root {
        errors.forbidden(
            format!("{at}.additionalProperties"),
            "must not be used at the root",
        );
    }
    if additional.is_object() {
        visit(
            additional,
            &format!("{at}.additionalProperties"),
            Level::Member,
            errors,
        );
    }
    validate_combined_schemas(schema, at, is_int_or_string(schema), errors);
    types(schema, at, level, errors);
}

fn types(schema: &Value, at: &str, level: Level, errors: &mut ErrorList) {
    let of = string(schema, "type");
    let is_embedded = schema["x-kubernetes-embedded-resource"] == true;
    let is_free = schema["x-kubernetes-int-or-string"] == true
        || schema["x-kubernetes-preserve-unknown-fields"] == true;
    if is_embedded && of != "object" {
        let text = "must be object if x-kubernetes-embedded-resource is true";
        match of {
            "" => errors.required(format!("{at}.type"), text),
            of => errors.invalid(format!("{at}.type"), of, text),
        }
    } else if of.is_empty() && !is_free {
        let text = match level {
            Level::Root => "must not be empty at the root",
            Level::Entry => "must not be empty for specified array items",
            Level::Member => "must not be empty for specified object fields",
        };
        errors.required(format!("{at}.type"), text);
    }
    if is_embedded && !schema["additionalProperties"].is_null() {
        let text = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(format!("{at}.additionalProperties"), text);
    }
    if level == Level::Root && !of.is_empty() && of != "object" {
        errors.invalid(format!("{at}.type"), of, "must be object at the root");
    }
}

/// The `anyOf` of `x-kubernetes-int-or-string` values, the only `anyOf` that may contain types.
fn int_or_string() -> Value {
    json!([{"type": "integer"}, {"type": "string"}])
}

fn is_int_or_string(schema: &Value) -> bool {
    schema["x-kubernetes-int-or-string"] == true
}

/// Validates the schemas within `allOf`, `anyOf`, `oneOf` and `not`.
fn validate_combined_schemas(schema: &Value, at: &str, may_be_either: bool, errors: &mut ErrorList) {
    let is_either = |inner: &Value| may_be_either && *inner == int_or_string();
    if !is_either(&schema["anyOf"]) {
        each(schema, "anyOf", at, errors);
    }
    for (index, inner) in list(&schema["allOf"]).iter().enumerate() {
        let place = format!("{at}.allOf[{index}]");
        let mut inner = inner.clone();
        if index == 0 && is_either(&inner["anyOf"]) {
            inner["anyOf"] = Value::Null;
        }
        validate_nested_schema(&inner, &place, errors);
    }
    each(schema, "oneOf", at, errors);
    if schema["not"].is_object() {
        validate_nested_schema(&schema["not"], &format!("{at}.not"), errors);
    }
    let pattern = string(schema, "pattern");
    if let Err(error) = pattern::read(pattern) {
        let text = format!("must be a valid regular expression, but isn't: {error}");
        errors.invalid(format!("{at}.pattern"), pattern, &text);
    }
}

fn each(schema: &Value, word: &str, at: &str, errors: &mut ErrorList) {
    for (index, inner) in list(&schema[word]).iter().enumerate() {
        validate_nested_schema(inner, &format!("{at}.{word}[{index}]"), errors);
    }
}

fn validate_nested_schema(schema: &Value, at: &str, errors: &mut ErrorList) {
    validate_combined_schemas(schema, at, false, errors);
    if schema["items"].is_object() {
        validate_nested_schema(&schema["items"], &format!("{at}.items"), errors);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        validate_nested_schema(property, &format!("{at}.properties[{name}]"), errors);
    }
    for (word, text) in NOT_NESTED {
        let is_set = schema
            .get(word)
            .is_some_and(|value| !value.is_null() && *value != false);
        if is_set {
            errors.forbidden(format!("{at}.{word}"), text);
        }
    }
    if schema["properties"].get("metadata").is_some() {
        let place = format!("{at}.properties[metadata]");
        errors.forbidden(place, "must not be specified in a nested context");
    }
}
