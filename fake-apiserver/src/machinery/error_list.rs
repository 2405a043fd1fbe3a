//! Field errors (`field.ErrorList`), with the messages of apimachinery.
//!
//! Owns how errors are formatted and combined into one message. Does not know the validation rules of fields.

use super::go;
use super::names::{self, Messages, NameRule};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// One error of an object or request (`metav1.StatusCause`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The machine-readable reason, for example `FieldValueInvalid`; may be empty.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// The message for users, with the value and the rule that it violates.
    pub message: String,
    /// Path of the field; empty if the error concerns no single field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// Maximum number of errors per object. One body can cause a million; kube-apiserver reports all of them.
const ERRORS_MAX: usize = 10_000;

/// The errors of one object in the order of kube-apiserver (`field.ErrorList`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorList(Vec<Cause>);

impl ErrorList {
    /// Adds `field.Invalid`: the value is malformed or out of range.
    pub fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {}: {detail}", shown(&value.into())),
        );
    }

    /// Adds `field.Invalid` for a value that is formatted already.
    pub fn invalid_as(&mut self, field: impl Into<String>, value: &str, detail: &str) {
        let message = match detail {
            "" => format!("Invalid value: {value}"),
            detail => format!("Invalid value: {value}: {detail}"),
        };
        self.push("FieldValueInvalid", field, message);
    }

    /// Adds `field.Invalid` with a message that does not contain the value.
    pub fn invalid_without_value(&mut self, field: impl Into<String>, detail: &str) {
        self.push("FieldValueInvalid", field, format!("Invalid value: {detail}"));
    }

    /// Adds `field.InternalError`: the field could not be validated.
    pub fn internal(&mut self, field: impl Into<String>, why: &str) {
        self.push("InternalError", field, format!("Internal error: {why}"));
    }

    /// Whether the list contains an error with one of the given reasons.
    pub fn has_reason(&self, reasons: &[&str]) -> bool {
        self.0.iter().any(|cause| reasons.contains(&cause.reason))
    }

    /// Replaces the message of each error by the message of the error in `others` with the same field and reason.
    pub fn replace_messages(&mut self, others: Self) {
        let mut others = others.0;
        for cause in &mut self.0 {
            let is_same = |other: &Cause| other.field == cause.field && other.reason == cause.reason;
            if let Some(at) = others.iter().position(is_same) {
                cause.message = others.remove(at).message;
            }
        }
    }

    /// Appends the errors in `found`, in their order.
    pub fn append(&mut self, found: Self) {
        self.0.extend(found.0);
    }

    /// Adds `field.Required`: the field must have a value.
    pub fn required(&mut self, field: impl Into<String>, detail: &str) {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        self.push("FieldValueRequired", field, message);
    }

    /// Adds `field.Forbidden`: the field must not have this value, or must not be set.
    pub fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push("FieldValueForbidden", field, format!("Forbidden: {detail}"));
    }

    /// Adds `field.Duplicate`: the value must be unique.
    pub fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        self.push(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {}", shown(&value.into())),
        );
    }

    /// Adds `field.Duplicate` for a value that is formatted already.
    pub fn duplicate_as(&mut self, field: impl Into<String>, value: &str) {
        self.push("FieldValueDuplicate", field, format!("Duplicate value: {value}"));
    }

    /// Adds `field.Duplicate` for a formatted value, with a detail.
    pub fn duplicate_because(&mut self, field: impl Into<String>, value: &str, why: &str) {
        self.push(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {value}: {why}"),
        );
    }

    /// Adds `field.NotFound`: the field refers to a value that does not exist.
    pub fn not_found(&mut self, field: impl Into<String>, value: &str) {
        self.push(
            "FieldValueNotFound",
            field,
            format!("Not found: {}", go::quoted(value)),
        );
    }

    /// Number of errors in the list.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds `field.NotSupported`: the value is not in `supported`.
    pub fn not_supported(&mut self, field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) {
        self.not_supported_as(field, &shown(&value.into()), supported);
    }

    /// Adds `field.NotSupported` for a value that is formatted already.
    pub fn not_supported_as(&mut self, field: impl Into<String>, value: &str, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let list = list.join(", ");
        let message = format!("Unsupported value: {value}: supported values: {list}");
        self.push("FieldValueNotSupported", field, message);
    }

    /// Adds `field.TooLong`: the value has more than `most` bytes.
    pub fn too_long(&mut self, field: impl Into<String>, most: usize) {
        self.push(
            "FieldValueTooLong",
            field,
            format!("Too long: may not be more than {most} bytes"),
        );
    }

    /// Adds `field.TooMany`: the list has more than `most` entries.
    pub fn too_many(&mut self, field: impl Into<String>, count: usize, most: usize) {
        let message = format!("Too many: {count}: must have at most {most} items");
        self.push("FieldValueTooMany", field, message);
    }

    /// Adds `field.NotSupported` if the value is not in `supported`.
    pub fn one_of(&mut self, field: &str, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            self.not_supported(field, value, supported);
        }
    }

    /// Adds an error for each of the immutable members `names` that differs between `new` and `old`.
    pub fn require_members_unchanged(&mut self, new: &Value, old: &Value, names: &[&str]) {
        for name in names {
            self.require_unchanged(name, &new[*name], &old[*name]);
        }
    }

    /// Adds an error if an immutable field changed; `null` means unset.
    pub fn require_unchanged(&mut self, field: &str, new: &Value, old: &Value) {
        if new != old {
            self.invalid(field, new.clone(), "field is immutable");
        }
    }

    /// Adds `field.TypeInvalid`: the value has the wrong type.
    pub fn wrong_type(&mut self, field: impl Into<String>, value: &str, detail: &str) {
        self.push(
            "FieldValueTypeInvalid",
            field,
            format!("Invalid value: {}: {detail}", go::quoted(value)),
        );
    }

    /// Appends the errors of a nested value; `root` is prefixed to their field paths.
    pub fn extend_with_prefix(&mut self, root: &str, found: Self) {
        for mut cause in found.0 {
            if !root.is_empty() {
                cause.field.insert(0, '.');
                cause.field.insert_str(0, root);
            }
            if !self.is_full() {
                self.0.push(cause);
            }
        }
    }

    /// Appends the errors in `found`, sorted by message.
    pub fn extend_sorted(&mut self, mut found: Self) {
        found
            .0
            .sort_by_cached_key(|cause| format!("{}: {}", cause.field, cause.message));
        self.extend_with_prefix("", found);
    }

    /// Adds one `field.Invalid` error about a value for each message.
    pub fn invalid_all(&mut self, field: &str, value: &str, messages: Messages) {
        for message in messages {
            self.invalid(field, value, &message);
        }
    }

    /// Adds an error if a port number is invalid.
    pub fn validate_port(&mut self, field: &str, number: i64) {
        for message in names::port_number(number) {
            self.invalid(field, number, &message);
        }
    }

    /// Adds an error if the port of a webhook's service is invalid.
    pub fn validate_service_port(&mut self, field: &str, number: i64) {
        for message in names::port_number(number) {
            self.invalid(field, number, &format!("port is not valid: {message}"));
        }
    }

    /// Adds `field.Required` if the text is empty, otherwise the errors that the validation function `rule` returns.
    pub fn require_valid(&mut self, field: &str, value: &str, rule: NameRule) {
        match value {
            "" => self.required(field, ""),
            value => self.invalid_all(field, value, rule(value)),
        }
    }

    /// Whether the list contains no errors.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The field errors as causes of a `Status`.
    pub fn into_causes(self) -> Vec<Cause> {
        self.0
    }

    /// Whether the maximum number of errors is reached, so that pairwise checks of lists can stop.
    pub fn is_full(&self) -> bool {
        self.0.len() >= ERRORS_MAX
    }

    fn push(&mut self, reason: &'static str, field: impl Into<String>, message: String) {
        if self.is_full() {
            return;
        }
        self.0.push(Cause {
            reason,
            message,
            field: field.into(),
        });
    }
}

impl fmt::Display for ErrorList {
    /// A single error is printed as it is; several errors are printed in brackets, equal messages only once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut seen = HashSet::new();
        let texts = self
            .0
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message));
        let texts: Vec<String> = texts.filter(|text| seen.insert(text.clone())).collect();
        match texts.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}

/// A value as error messages show it: strings quoted as in Go, other values as JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go::quoted(text),
        other => other.to_string(),
    }
}
