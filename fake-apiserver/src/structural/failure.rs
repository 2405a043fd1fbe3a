//! What is wrong with a value, with the texts of the real server's validator.
//!
//! Owns how a failure becomes a fault of a field. Does not know schemas.

use crate::machinery::faults::Faults;
use serde_json::Value;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// Where; none for what is about no field.
    pub(super) path: Option<String>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Required,
    /// The value is none of these.
    Enum(Value, Vec<Value>),
    TooLong(i64),
    TooMany(usize, i64),
    /// A value of the wrong type: what it is, and the text.
    Type(String, String),
    /// Another rule, with the value and the text.
    Rule(Value, String),
}

impl Failure {
    pub(super) fn at(path: &str, what: What) -> Self {
        let path = Some(path.to_owned());
        Self { path, what }
    }

    /// A failure that is about no field.
    pub(super) fn bare(text: String) -> Self {
        let what = What::Rule("".into(), text);
        Self { path: None, what }
    }

    /// Adds failures to those that there are; the same thing is told once.
    pub(super) fn add(all: &mut Vec<Self>, more: Vec<Self>) {
        for failure in more {
            if !all.contains(&failure) {
                all.push(failure);
            }
        }
    }

    /// Reports the failure of a value that is at `root` in its object.
    pub(crate) fn report(self, root: Option<&str>, faults: &mut Faults) {
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
