//! OpenAPI parameters: names, types, descriptions, and the parameters of each type of operation.
//!
//! Does not know paths.

use serde_json::{Value, json};

pub(super) const WRITING: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
pub(super) const PATCHING: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
pub(super) const DELETING: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
];
pub(super) const LISTING: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
pub(super) const SELECTING: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// Type and description of the parameter with this name.
fn type_and_description(name: &str) -> (&'static str, &'static str) {
    let mut rows = include_str!("parameters.txt").lines();
    let found = rows.find_map(|row| row.strip_prefix(name)?.strip_prefix(' ')?.split_once(' '));
    found.unwrap_or(("string", ""))
}

/// The OpenAPI v3 parameter with this name.
pub(super) fn parameter(name: &str) -> Value {
    let (of, description) = type_and_description(name);
    if ["name", "namespace"].contains(&name) {
        return in_path(name, description);
    }
    json!({
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": of, "uniqueItems": true},
    })
}

pub(super) fn in_path(name: &str, text: &str) -> Value {
    json!({
        "name": name,
        "in": "path",
        "description": text,
        "required": true,
        "schema": {"type": "string", "uniqueItems": true},
    })
}
