//! Validation of a CRD's OpenAPI schema: allowed keywords and values.
//!
//! Validates every nested schema. `structure_rules` checks whether the schema is structural, `default_rules` validates defaults.

use super::{default_rules, structure_rules};
use crate::structural::{self, TYPES};
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::{self, list, string};
use serde_json::{Value, json};

/// JSON schema keywords that a CRD's schema must not have.
const FORBIDDEN: [&str; 7] = [
    "id",
    "$schema",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

pub(super) fn validate(schema: &Value, at: &str, errors: &mut ErrorList) {
    let before = errors.len();
    if schema["nullable"] == true {
        errors.forbidden(format!("{at}.nullable"), "nullable cannot be true at the root");
    }
    structure_rules::validate(schema, at, errors);
    if errors.len() == before {
        default_rules::validate(schema, at, errors);
    }
    visit(schema, at, errors);
    if errors.len() == before {
        structural::validate_expressions(schema, at, errors);
    }
}

fn visit(schema: &Value, at: &str, errors: &mut ErrorList) {
    validate_keywords(schema, at, errors);
    additional(schema, at, errors);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        visit(property, &format!("{at}.properties[{name}]"), errors);
    }
    for word in ["not", "items"] {
        if schema[word].is_object() {
            visit(&schema[word], &format!("{at}.{word}"), errors);
        }
    }
    for word in ["allOf", "oneOf", "anyOf"] {
        for (index, inner) in list(&schema[word]).iter().enumerate() {
            visit(inner, &format!("{at}.{word}[{index}]"), errors);
        }
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let place = format!("{at}.x-kubernetes-preserve-unknown-fields");
        errors.invalid(place, false, "must be true or undefined");
    }
    map_type(schema, at, errors);
    list_type(schema, at, errors);
    structural::validate_rules(schema, at, errors);
}

/// Validates the keywords of one schema, without nested schemas.
fn validate_keywords(schema: &Value, at: &str, errors: &mut ErrorList) {
    let of = string(schema, "type");
    if !of.is_empty() && !TYPES.contains(&of) {
        errors.not_supported(format!("{at}.type"), of, &TYPES);
    }
    let is_set = |value: &Value| !value.is_null() && *value != json!({});
    for word in FORBIDDEN.iter().filter(|word| is_set(&schema[**word])) {
        errors.forbidden(format!("{at}.{word}"), &format!("{word} is not supported"));
    }
    if schema["items"].is_array() {
        errors.forbidden(
            format!("{at}.items"),
            "items must be a schema object and not an array",
        );
    }
    if schema["uniqueItems"] == true {
        let text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors.forbidden(format!("{at}.uniqueItems"), text);
    }
}

fn additional(schema: &Value, at: &str, errors: &mut ErrorList) {
    let additional = &schema["additionalProperties"];
    let properties = schema["properties"].as_object();
    if !additional.is_null() && additional != true && properties.is_some_and(|all| !all.is_empty()) {
        let text = "additionalProperties and properties are mutual exclusive";
        errors.forbidden(format!("{at}.additionalProperties"), text);
    }
    if additional.is_object() {
        visit(additional, &format!("{at}.additionalProperties"), errors);
    }
}

fn map_type(schema: &Value, at: &str, errors: &mut ErrorList) {
    let Some(map_type) = schema["x-kubernetes-map-type"].as_str() else {
        return;
    };
    require_type(schema, "object", "x-kubernetes-map-type", at, errors);
    errors.one_of(
        &format!("{at}.x-kubernetes-map-type"),
        map_type,
        &["atomic", "granular"],
    );
}

/// Adds an error unless the schema has type `of`, which the keyword `word` requires.
fn require_type(schema: &Value, of: &str, word: &str, at: &str, errors: &mut ErrorList) {
    let text = format!("must be {of} if {word} is specified");
    match string(schema, "type") {
        "" => errors.required(format!("{at}.type"), &text),
        found if found != of => errors.invalid(format!("{at}.type"), found, &text),
        _ => {}
    }
}

fn list_type(schema: &Value, at: &str, errors: &mut ErrorList) {
    let keys = json::texts(&schema["x-kubernetes-list-map-keys"]);
    let (of_list, of_keys) = (
        format!("{at}.x-kubernetes-list-type"),
        format!("{at}.x-kubernetes-list-map-keys"),
    );
    let Some(list_type) = schema["x-kubernetes-list-type"].as_str() else {
        if !keys.is_empty() {
            errors.required(of_list, "must be map if x-kubernetes-list-map-keys is non-empty");
        }
        return;
    };
    require_type(schema, "array", "x-kubernetes-list-type", at, errors);
    errors.one_of(&of_list, list_type, &["atomic", "set", "map"]);
    if !keys.is_empty() && list_type != "map" {
        errors.invalid(
            of_list,
            list_type,
            "must be map if x-kubernetes-list-map-keys is non-empty",
        );
    }
    if list_type == "map" {
        if keys.is_empty() {
            errors.required(
                of_keys.as_str(),
                "must not be empty if x-kubernetes-list-type is map",
            );
        }
        map_items(schema, &keys, at, errors);
    }
}

/// The items of a list of type `map` must declare the list map keys.
fn map_items(schema: &Value, keys: &[&str], at: &str, errors: &mut ErrorList) {
    let (items, place) = (&schema["items"], format!("{at}.items"));
    if items.is_null() {
        return errors.required(place, "must have a schema if x-kubernetes-list-type is map");
    }
    if items["type"] != "object" {
        let text = "must be object if parent array's x-kubernetes-list-type is map";
        return errors.invalid(format!("{place}.type"), string(items, "type"), text);
    }
    for (index, key) in keys.iter().enumerate() {
        let all = || schema["x-kubernetes-list-map-keys"].clone();
        let of_keys = format!("{at}.x-kubernetes-list-map-keys");
        let at = format!("{place}.properties[{key}]");
        let property = &items["properties"][*key];
        if property.is_null() {
            errors.invalid(
                of_keys.as_str(),
                all(),
                "entries must all be names of item properties",
            );
        } else if ["array", "object"].contains(&string(property, "type")) {
            let text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.invalid(format!("{at}.type"), string(items, "type"), text);
        }
        if keys[..index].contains(key) {
            errors.invalid(of_keys, all(), "must not contain duplicate entries");
        }
    }
}
