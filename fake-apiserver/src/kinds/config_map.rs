//! ConfigMap, and validation that ConfigMap and Secret have in common.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::Of;
use crate::kinds::columns::{AGE, NAME, count, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::{json, names};
use serde_json::{Value, json};

pub(super) static CONFIG_MAP: ResourceDefinition = ResourceDefinition {
    kind: "ConfigMap",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "configmaps",
    short_names: &["cm"],
    hooks: Hooks {
        validate_create: config_map_validate,
        validate_update: |new, old, errors| {
            validate_immutable_update(new, old, errors);
            config_map_validate(new, errors);
        },
        ..NO_HOOKS
    },
    columns: &[
        NAME,
        text("Data", Of(|o| json!(count(&o["data"]) + count(&o["binaryData"])))),
        AGE,
    ],
    ..PLAIN
};

/// The maximum total size of all values of a ConfigMap or Secret, in bytes.
pub(super) const BYTES_MAX: usize = 1024 * 1024;

fn config_map_validate(object: &Value, errors: &mut ErrorList) {
    let binary = &object["binaryData"];
    let mut bytes = 0;
    for (key, value) in json::string_members(&object["data"]) {
        config_key("data", key, errors);
        if !binary[key].is_null() {
            errors.invalid(
                format!("data[{key}]"),
                key,
                "duplicate of key present in binaryData",
            );
        }
        bytes += value.len();
    }
    for (key, value) in json::string_members(binary) {
        config_key("binaryData", key, errors);
        bytes += base64_decoded_len(value);
    }
    if bytes > BYTES_MAX {
        errors.too_long("", BYTES_MAX);
    }
}

pub(super) fn config_key(list: &str, key: &str, errors: &mut ErrorList) {
    errors.invalid_all(&format!("{list}[{key}]"), key, names::config_key(key));
}

pub(super) fn base64_decoded_len(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

/// Validates an update of an immutable ConfigMap or Secret: it must remain immutable, and its data must not change.
pub(super) fn validate_immutable_update(new: &Value, old: &Value, errors: &mut ErrorList) {
    if old["immutable"] != true {
        return;
    }
    for field in ["immutable", "data", "binaryData"] {
        if new[field] != old[field] {
            errors.forbidden(field, "field is immutable when `immutable` is set");
        }
    }
}
