//! Validation of volume sources that project files: keys of Secrets and ConfigMaps, and the downward API.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use serde_json::Value;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// Validates `defaultMode` and `items` of a volume source that projects keys of a Secret or ConfigMap as files.
pub(super) fn keys(source: &Value, at: &str, errors: &mut ErrorList) {
    mode(&source["defaultMode"], &format!("{at}.defaultMode"), errors);
    items(source, at, errors);
}

fn items(source: &Value, at: &str, errors: &mut ErrorList) {
    for (i, one) in list(&source["items"]).iter().enumerate() {
        validate_key_file(one, &format!("{at}.items[{i}]"), errors);
    }
}

/// Validates one entry of `items`: a key of a Secret or ConfigMap that is projected as a file.
pub(super) fn validate_key_file(item: &Value, at: &str, errors: &mut ErrorList) {
    for part in ["key", "path"] {
        if string(item, part).is_empty() {
            errors.required(format!("{at}.{part}"), "");
        }
    }
    inner_path(string(item, "path"), &format!("{at}.path"), errors);
    mode(&item["mode"], &format!("{at}.mode"), errors);
}

/// Validates a downward API file: a field or a resource of the pod.
pub(super) fn downward_file(item: &Value, at: &str, errors: &mut ErrorList) {
    let path = string(item, "path");
    if path.is_empty() {
        errors.required(format!("{at}.path"), "");
    }
    inner_path(path, &format!("{at}.path"), errors);
    mode(&item["mode"], &format!("{at}.mode"), errors);
}

pub(super) fn mode(mode: &Value, field: &str, errors: &mut ErrorList) {
    if let Some(mode) = mode.as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        errors.invalid(field, mode, MODE);
    }
}

/// Validates a relative path. It must not start with `..`, because the kubelet uses that prefix for its own files.
pub(super) fn inner_path(path: &str, field: &str, errors: &mut ErrorList) {
    descending_path(path, field, errors);
    if path.starts_with("..") && !path.starts_with("../") {
        errors.invalid(field, path, "must not start with '..'");
    }
}

/// Validates a relative path without `..` segments.
pub(super) fn descending_path(path: &str, field: &str, errors: &mut ErrorList) {
    if path.starts_with('/') {
        errors.invalid(field, path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        errors.invalid(field, path, "must not contain '..'");
    }
}
