//! Validation of defaults in a schema: each must be valid against its schema.

use crate::structural::{prune, read, validate as judge, validate_lists};
use fake_apiserver::extension::ErrorList;
use serde_json::Value;

/// Validates the defaults of a structural schema.
pub(super) fn validate(schema: &Value, at: &str, faults: &mut ErrorList) {
    if schema.get("default").is_some_and(|default| !default.is_null()) {
        fits(schema, at, faults);
    }
    if schema["items"].is_object() {
        validate(&schema["items"], &format!("{at}.items"), faults);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        validate(property, &format!("{at}.properties[{name}]"), faults);
    }
}

fn fits(text: &Value, at: &str, faults: &mut ErrorList) {
    let schema = read(text);
    let (default, place) = (&text["default"], format!("{at}.default"));
    let mut pruned = default.clone();
    if !prune(&mut pruned, &schema, schema.embedded).is_empty() {
        faults.invalid(place.as_str(), default.clone(), "must not have unknown fields");
    }
    for failure in judge(default, &schema, None) {
        failure.report(Some(&place), faults);
    }
    let mut found = ErrorList::default();
    validate_lists(default, &schema, &mut found);
    faults.extend_with_prefix(&place, found);
}
