//! Validation errors of a structural schema, with the messages of kube-apiserver's validator.
//!
//! Owns the conversion to `field.Error`. Does not know schemas.

use fake_apiserver::extension::ErrorList;
use serde_json::Value;

/// A validation error: a value violates its schema.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// The path of the invalid field; None if the error has no path.
    pub(super) path: Option<String>,
    pub(super) kind: FailureKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum FailureKind {
    Required,
    /// A value that `enum` does not contain, and the values that `enum` permits.
    Enum(Value, Vec<Value>),
    TooLong(i64),
    TooMany(usize, i64),
    /// The wrong type of a value, and the error message with the required type.
    Type(String, String),
    /// The value that violates some other schema keyword, and the error message.
    Rule(Value, String),
}

impl Failure {
    pub(super) fn at(path: &str, kind: FailureKind) -> Self {
        let path = Some(path.to_owned());
        Self { path, kind }
    }

    pub(super) fn without_path(text: String) -> Self {
        let kind = FailureKind::Rule("".into(), text);
        Self { path: None, kind }
    }

    /// Adds the errors in `more` to `all`, except errors that `all` already contains.
    pub(super) fn add(all: &mut Vec<Self>, more: Vec<Self>) {
        for failure in more {
            if !all.contains(&failure) {
                all.push(failure);
            }
        }
    }

    /// Adds the validation error to `errors`; `root` is the path of the validated value in its object.
    pub(crate) fn report(self, root: Option<&str>, errors: &mut ErrorList) {
        let field = match (self.path.filter(|path| !path.is_empty()), root) {
            (None, None) => "<nil>".to_owned(),
            (None, Some(root)) => root.to_owned(),
            (Some(path), None) => path,
            (Some(path), Some(root)) => format!("{root}.{path}"),
        };
        match self.kind {
            FailureKind::Required => errors.required(field, ""),
            FailureKind::Enum(value, values) => {
                let values: Vec<String> = values.iter().map(shown).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                errors.not_supported(field, value, &values);
            }
            FailureKind::TooLong(most) => errors.too_long(field, usize::try_from(most).unwrap_or_default()),
            FailureKind::TooMany(count, most) => {
                errors.too_many(field, count, usize::try_from(most).unwrap_or_default());
            }
            FailureKind::Type(found, text) => errors.wrong_type(field, &found, &text),
            FailureKind::Rule(value, text) => errors.invalid(field, value, &text),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
