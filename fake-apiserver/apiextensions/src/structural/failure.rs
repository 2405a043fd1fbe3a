//! Validation errors of a structural schema, with the messages of kube-apiserver's validator.
//!
//! Owns the conversion to `field.Error`. Does not know schemas.

use fake_apiserver::extension::ErrorList;
use serde_json::Value;

/// A validation error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// The path of the field; unset if the error has none.
    pub(super) path: Option<String>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Required,
    /// The value is not in the enum.
    Enum(Value, Vec<Value>),
    TooLong(i64),
    TooMany(usize, i64),
    /// The value has the wrong type: its type, and the message.
    Type(String, String),
    /// Another violation: the value, and the message.
    Rule(Value, String),
}

impl Failure {
    pub(super) fn at(path: &str, what: What) -> Self {
        let path = Some(path.to_owned());
        Self { path, what }
    }

    /// An error without a path.
    pub(super) fn bare(text: String) -> Self {
        let what = What::Rule("".into(), text);
        Self { path: None, what }
    }

    /// Adds errors, without duplicates.
    pub(super) fn add(all: &mut Vec<Self>, more: Vec<Self>) {
        for failure in more {
            if !all.contains(&failure) {
                all.push(failure);
            }
        }
    }

    /// Adds the error to `faults`; `root` is the path of the validated value in its object.
    pub(crate) fn report(self, root: Option<&str>, faults: &mut ErrorList) {
        let field = match (self.path.filter(|path| !path.is_empty()), root) {
            (None, None) => "<nil>".to_owned(),
            (None, Some(root)) => root.to_owned(),
            (Some(path), None) => path,
            (Some(path), Some(root)) => format!("{root}.{path}"),
        };
        match self.what {
            What::Required => faults.required(field, ""),
            What::Enum(value, values) => {
                let values: Vec<String> = values.iter().map(shown).collect();
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                faults.not_supported(field, value, &values);
            }
            What::TooLong(most) => faults.too_long(field, usize::try_from(most).unwrap_or_default()),
            What::TooMany(count, most) => {
                faults.too_many(field, count, usize::try_from(most).unwrap_or_default());
            }
            What::Type(found, text) => faults.wrong_type(field, &found, &text),
            What::Rule(value, text) => faults.invalid(field, value, &text),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
