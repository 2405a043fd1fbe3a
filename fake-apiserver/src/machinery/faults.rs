//! Faults of single fields, with the texts of the API machinery's field errors.
//!
//! Owns how a fault reads and how several add up to one message. Does not know which field has which rule.

use super::go;
use super::names::{self, Complaints, NameRule};
use serde::Serialize;
use serde_json::Value;
use std::collections::HashSet;
use std::fmt;

/// One fault of an object or a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The machine readable reason, for example `FieldValueInvalid`; empty where there is none.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub reason: &'static str,
    /// The text for people.
    pub message: String,
    /// Path of the field; empty where no field is at fault.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// How many faults of one object are reported. One body can hold a million; the real server reports them all.
const FAULTS_MAX: usize = 10_000;

/// The faults found in one object, in the order in which the real server reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Cause>);

impl Faults {
    /// FieldValueInvalid: the value is malformed or out of range (`field.Invalid`).
    pub fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, detail: &str) {
        self.push(
            "FieldValueInvalid",
            field,
            format!("Invalid value: {}: {detail}", shown(&value.into())),
        );
    }

    /// The same with a value that is written already.
    pub fn invalid_as(&mut self, field: impl Into<String>, value: &str, detail: &str) {
        let message = match detail {
            "" => format!("Invalid value: {value}"),
            detail => format!("Invalid value: {value}: {detail}"),
        };
        self.push("FieldValueInvalid", field, message);
    }

    /// A value that breaks a rule, and is not shown.
    pub fn broken(&mut self, field: impl Into<String>, detail: &str) {
        self.push("FieldValueInvalid", field, format!("Invalid value: {detail}"));
    }

    /// What the real server could not find out.
    pub fn internal(&mut self, field: impl Into<String>, why: &str) {
        self.push("InternalError", field, format!("Internal error: {why}"));
    }

    /// Whether there are some of these reasons.
    pub fn have(&self, reasons: &[&str]) -> bool {
        self.0.iter().any(|cause| reasons.contains(&cause.reason))
    }

    /// Says the same faults in the words of others, where those tell of the same fields for the same reasons.
    pub fn reword(&mut self, others: Self) {
        let mut others = others.0;
        for cause in &mut self.0 {
            let is_same = |other: &Cause| other.field == cause.field && other.reason == cause.reason;
            if let Some(at) = others.iter().position(is_same) {
                cause.message = others.remove(at).message;
            }
        }
    }

    /// Adds what was found elsewhere.
    pub fn append(&mut self, found: Self) {
        self.0.extend(found.0);
    }

    /// FieldValueRequired (`field.Required`).
    pub fn required(&mut self, field: impl Into<String>, detail: &str) {
        let message = if detail.is_empty() {
            "Required value".to_owned()
        } else {
            format!("Required value: {detail}")
        };
        self.push("FieldValueRequired", field, message);
    }

    /// FieldValueForbidden (`field.Forbidden`).
    pub fn forbidden(&mut self, field: impl Into<String>, detail: &str) {
        self.push("FieldValueForbidden", field, format!("Forbidden: {detail}"));
    }

    /// FieldValueDuplicate (`field.Duplicate`).
    pub fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        self.push(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {}", shown(&value.into())),
        );
    }

    /// The same with a value that is written already.
    pub fn duplicate_as(&mut self, field: impl Into<String>, value: &str) {
        self.push("FieldValueDuplicate", field, format!("Duplicate value: {value}"));
    }

    /// The same with a reason.
    pub fn duplicate_because(&mut self, field: impl Into<String>, value: &str, why: &str) {
        self.push(
            "FieldValueDuplicate",
            field,
            format!("Duplicate value: {value}: {why}"),
        );
    }

    /// FieldValueNotFound (`field.NotFound`).
    pub fn not_found(&mut self, field: impl Into<String>, value: &str) {
        self.push(
            "FieldValueNotFound",
            field,
            format!("Not found: {}", go::quoted(value)),
        );
    }

    /// The same with what it was looked for in.
    pub fn not_found_because(&mut self, field: impl Into<String>, value: &str, why: &str) {
        self.push(
            "FieldValueNotFound",
            field,
            format!("Not found: {}: {why}", go::quoted(value)),
        );
    }

    /// How many faults there are so far.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// FieldValueNotSupported: the value is none of the supported ones (`field.NotSupported`).
    pub fn not_supported(&mut self, field: impl Into<String>, value: impl Into<Value>, supported: &[&str]) {
        self.not_supported_as(field, &shown(&value.into()), supported);
    }

    /// The same with a value that is written already.
    pub fn not_supported_as(&mut self, field: impl Into<String>, value: &str, supported: &[&str]) {
        let list: Vec<String> = supported.iter().map(|s| format!("{s:?}")).collect();
        let list = list.join(", ");
        let message = format!("Unsupported value: {value}: supported values: {list}");
        self.push("FieldValueNotSupported", field, message);
    }

    /// FieldValueTooLong: more than so many bytes (`field.TooLong`).
    pub fn too_long(&mut self, field: impl Into<String>, most: usize) {
        self.push(
            "FieldValueTooLong",
            field,
            format!("Too long: may not be more than {most} bytes"),
        );
    }

    /// FieldValueTooMany: more than so many entries (`field.TooMany`).
    pub fn too_many(&mut self, field: impl Into<String>, count: usize, most: usize) {
        let message = format!("Too many: {count}: must have at most {most} items");
        self.push("FieldValueTooMany", field, message);
    }

    /// Reports a value that is none of those supported.
    pub fn one_of(&mut self, field: &str, value: &str, supported: &[&str]) {
        if !supported.contains(&value) {
            self.not_supported(field, value, supported);
        }
    }

    /// Reports changes of members of an object that may not change.
    pub fn members_unchanged(&mut self, new: &Value, old: &Value, names: &[&str]) {
        for name in names {
            self.unchanged(name, &new[*name], &old[*name]);
        }
    }

    /// Reports a change of a field that may not change; `null` stands for an absent value.
    pub fn unchanged(&mut self, field: &str, new: &Value, old: &Value) {
        if new != old {
            self.invalid(field, new.clone(), "field is immutable");
        }
    }

    /// Reports a value of the wrong type.
    pub fn wrong_type(&mut self, field: impl Into<String>, value: &str, detail: &str) {
        self.push(
            "FieldValueTypeInvalid",
            field,
            format!("Invalid value: {}: {detail}", go::quoted(value)),
        );
    }

    /// Reports what was found in a part of an object.
    pub fn below(&mut self, root: &str, found: Self) {
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

    /// Adds faults in the order of their texts.
    pub fn extend_sorted(&mut self, mut found: Self) {
        found
            .0
            .sort_by_cached_key(|cause| format!("{}: {}", cause.field, cause.message));
        self.below("", found);
    }

    /// Reports everything that is wrong with one value.
    pub fn complain(&mut self, field: &str, value: &str, complaints: Complaints) {
        for complaint in complaints {
            self.invalid(field, value, &complaint);
        }
    }

    /// Reports a number that is none of a port.
    pub fn port(&mut self, field: &str, number: i64) {
        for complaint in names::port_number(number) {
            self.invalid(field, number, &complaint);
        }
    }

    /// The same for the port of a service that the server itself calls.
    pub fn service_port(&mut self, field: &str, number: i64) {
        for complaint in names::port_number(number) {
            self.invalid(field, number, &format!("port is not valid: {complaint}"));
        }
    }

    /// Reports a missing text, or everything that is wrong with one.
    pub fn needed(&mut self, field: &str, value: &str, rule: NameRule) {
        match value {
            "" => self.required(field, ""),
            value => self.complain(field, value, rule(value)),
        }
    }

    /// Whether there is no error.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The errors as causes of a status.
    pub fn into_causes(self) -> Vec<Cause> {
        self.0
    }

    /// So many that no more are kept: those who judge lists by pairs can stop.
    pub fn is_full(&self) -> bool {
        self.0.len() >= FAULTS_MAX
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

impl fmt::Display for Faults {
    /// One fault as it is, several in brackets; a repeated text appears once, although each stays a cause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = HashSet::new();
        let texts = self
            .0
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message));
        let texts: Vec<String> = texts.filter(|text| said.insert(text.clone())).collect();
        match texts.as_slice() {
            [one] => f.write_str(one),
            many => write!(f, "[{}]", many.join(", ")),
        }
    }
}

/// A value as messages show it: texts are quoted as Go does, what else there is stands in JSON.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go::quoted(text),
        other => other.to_string(),
    }
}
