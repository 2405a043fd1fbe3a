//! Validation of volume sources that consist of files: keys of Secrets and ConfigMaps, and the downward API.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use serde_json::Value;

const MODE: &str = "must be a number between 0 and 0777 (octal), both inclusive";

/// Validates the files of a source.
pub(super) fn keys(source: &Value, at: &str, faults: &mut ErrorList) {
    mode(&source["defaultMode"], &format!("{at}.defaultMode"), faults);
    items(source, at, faults);
}

fn items(source: &Value, at: &str, faults: &mut ErrorList) {
    for (i, one) in list(&source["items"]).iter().enumerate() {
        item(one, &format!("{at}.items[{i}]"), faults);
    }
}

/// Validates a key that is projected as a file.
pub(super) fn item(item: &Value, at: &str, faults: &mut ErrorList) {
    for part in ["key", "path"] {
        if string(item, part).is_empty() {
            faults.required(format!("{at}.{part}"), "");
        }
    }
    inner_path(string(item, "path"), &format!("{at}.path"), faults);
    mode(&item["mode"], &format!("{at}.mode"), faults);
}

/// Validates a downward API file: a field or a resource of the pod.
pub(super) fn shown(item: &Value, at: &str, faults: &mut ErrorList) {
    let path = string(item, "path");
    if path.is_empty() {
        faults.required(format!("{at}.path"), "");
    }
    inner_path(path, &format!("{at}.path"), faults);
    mode(&item["mode"], &format!("{at}.mode"), faults);
}

pub(super) fn mode(mode: &Value, field: &str, faults: &mut ErrorList) {
    if let Some(mode) = mode.as_i64().filter(|mode| !(0..=0o777).contains(mode)) {
        faults.invalid(field, mode, MODE);
    }
}

/// A relative path that does not start with `..`, a prefix that the kubelet uses for its own files.
pub(super) fn inner_path(path: &str, field: &str, faults: &mut ErrorList) {
    descending_path(path, field, faults);
    if path.starts_with("..") && !path.starts_with("../") {
        faults.invalid(field, path, "must not start with '..'");
    }
}

/// A relative path without `..` segments.
pub(super) fn descending_path(path: &str, field: &str, faults: &mut ErrorList) {
    if path.starts_with('/') {
        faults.invalid(field, path, "must be a relative path");
    }
    if path.split('/').any(|part| part == "..") {
        faults.invalid(field, path, "must not contain '..'");
    }
}
