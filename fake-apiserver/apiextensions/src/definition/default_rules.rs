//! Validation of defaults in a structural schema: each default must be valid against the schema of its field.

use crate::structural::{prune, read, validate as judge, validate_lists};
use fake_apiserver::extension::ErrorList;
use serde_json::Value;

pub(super) fn validate(schema: &Value, at: &str, errors: &mut ErrorList) {
    if schema.get("default").is_some_and(|default| !default.is_null()) {
        validate_default(schema, at, errors);
    }
    if schema["items"].is_object() {
        validate(&schema["items"], &format!("{at}.items"), errors);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        validate(property, &format!("{at}.properties[{name}]"), errors);
    }
}

fn validate_default(text: &Value, at: &str, errors: &mut ErrorList) {
    let schema = read(text);
    let (default, place) = (&text["default"], format!("{at}.default"));
    let mut pruned = default.clone();
    if !prune(&mut pruned, &schema, schema.embedded).is_empty() {
        errors.invalid(place.as_str(), default.clone(), "must not have unknown fields");
    }
    for failure in judge(default, &schema, None) {
        failure.report(Some(&place), errors);
    }
    let mut found = ErrorList::default();
    validate_lists(default, &schema, &mut found);
    errors.extend_with_prefix(&place, found);
}
