//! Validation of `metav1.Condition`. Older kinds have their own condition types with less validation.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{list, string};
use crate::machinery::names;
use serde_json::Value;
use std::collections::HashSet;

pub(super) const STATES: [&str; 3] = ["False", "True", "Unknown"];
const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;

/// Validates a list of conditions at the field path `at`.
pub fn validate(conditions: &Value, at: &str, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for (i, condition) in list(conditions).iter().enumerate() {
        let (at, kind) = (format!("{at}[{i}]"), string(condition, "type"));
        if !seen.insert(kind) {
            errors.duplicate(format!("{at}.type"), kind);
        }
        validate_condition(condition, &at, errors);
    }
}

fn validate_condition(condition: &Value, at: &str, errors: &mut ErrorList) {
    let kind = string(condition, "type");
    errors.invalid_all(&format!("{at}.type"), kind, names::qualified_name(kind));
    errors.one_of(&format!("{at}.status"), string(condition, "status"), &STATES);
    let generation = &condition["observedGeneration"];
    if generation.as_i64().is_some_and(|number| number < 0) {
        let why = "must be greater than or equal to zero";
        errors.invalid(format!("{at}.observedGeneration"), generation.clone(), why);
    }
    if string(condition, "lastTransitionTime").is_empty() {
        errors.required(format!("{at}.lastTransitionTime"), "");
    }
    validate_reason(string(condition, "reason"), &format!("{at}.reason"), errors);
    if string(condition, "message").len() > MESSAGE_BYTES_MAX {
        errors.too_long(format!("{at}.message"), MESSAGE_BYTES_MAX);
    }
}

fn validate_reason(reason: &str, field: &str, errors: &mut ErrorList) {
    if reason.is_empty() {
        return errors.required(field, "");
    }
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let begins = reason.starts_with(|first: char| first.is_ascii_alphabetic());
    let ends = reason.bytes().last().is_some_and(is_word);
    let is_plain = reason.bytes().all(|byte| is_word(byte) || b",:".contains(&byte));
    if !(begins && ends && is_plain) {
        let why = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or \
             '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  \
             or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";
        errors.invalid(field, reason, why);
    }
    if reason.len() > REASON_BYTES_MAX {
        errors.too_long(field, REASON_BYTES_MAX);
    }
}
