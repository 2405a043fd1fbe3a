//! Field selectors: grammar and matching. The selectable fields come from the resource definitions.

use crate::machinery::status::Status;
use serde_json::Value;

/// A field of a kind that clients can use in field selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selectable {
    /// The name of the field in selectors, such as `spec.nodeName`.
    pub label: &'static str,
    /// JSON pointers to the field; the first one that points to a value is used.
    pub pointers: &'static [&'static str],
    /// The text that the selector compares if the field is unset: empty, except for some booleans.
    pub absent: &'static str,
}

/// A selectable field whose text in field selectors is empty if the field is unset.
pub const fn selectable(label: &'static str, pointers: &'static [&'static str]) -> Selectable {
    Selectable {
        label,
        pointers,
        absent: "",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: Selectable,
    equal: bool,
    value: String,
}

pub(crate) struct UnresolvedFieldSelector(Vec<(String, bool, String)>);

impl UnresolvedFieldSelector {
    /// Resolves the field labels. `find` returns the field with a label, or the error message for an unsupported label.
    pub(crate) fn resolve(
        self,
        find: impl Fn(&str) -> Result<Selectable, String>,
    ) -> Result<FieldSelector, Status> {
        let terms = self.0.into_iter().map(|(label, equal, value)| {
            Ok(Term {
                field: find(&label).map_err(Status::bad_request)?,
                equal,
                value,
            })
        });
        terms.collect::<Result<_, _>>().map(FieldSelector)
    }
}

impl FieldSelector {
    pub(crate) fn read(text: &str) -> Result<UnresolvedFieldSelector, Status> {
        let mut read = Vec::new();
        for part in split_terms(text).iter().filter(|part| !part.is_empty()) {
            let (label, equal, value) = split_term(part).ok_or_else(|| {
                Status::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"))
            })?;
            read.push((label.to_owned(), equal, unescape(value)?));
        }
        Ok(UnresolvedFieldSelector(read))
    }

    pub(crate) fn matches(&self, object: &Value) -> bool {
        self.0
            .iter()
            .all(|term| (term.field.read(object) == term.value) == term.equal)
    }

    /// The value that the selector requires for the field at a pointer; `None` if the selector has no `=` term for the field.
    pub(crate) fn required_value(&self, pointer: &str) -> Option<&str> {
        let mut terms = self.0.iter();
        let exact = terms.find(|term| term.equal && *term.field.pointers == [pointer])?;
        Some(&exact.value)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Selectable {
    fn read(&self, object: &Value) -> String {
        let found = self.pointers.iter().filter_map(|pointer| object.pointer(pointer));
        let mut texts = found.filter_map(|value| match value {
            Value::Null => None,
            Value::String(text) => (!text.is_empty()).then(|| text.clone()),
            other => Some(other.to_string()),
        });
        texts.next().unwrap_or_else(|| self.absent.to_owned())
    }
}

/// Splits a selector at unescaped commas.
fn split_terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut escaped = false;
    for c in text.chars() {
        if c == ',' && !escaped {
            terms.push(String::new());
        } else if let Some(last) = terms.last_mut() {
            last.push(c);
        }
        escaped = c == '\\' && !escaped;
    }
    terms
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    let at = term.find(['=', '!'])?;
    let (label, rest) = term.split_at(at);
    let operators = [("!=", false), ("==", true), ("=", true)];
    operators
        .iter()
        .find_map(|(operator, equal)| Some((label, *equal, rest.strip_prefix(operator)?)))
}

fn unescape(value: &str) -> Result<String, Status> {
    let mut out = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(c @ ('\\' | ',' | '=')) => out.push(c),
                other => {
                    let found = other.map(String::from).unwrap_or_default();
                    return Err(Status::bad_request(format!(
                        "invalid field selector: invalid escape sequence: \\{found}"
                    )));
                }
            },
            c @ '=' => {
                let text = format!(
                    "invalid field selector: unescaped character in value: {}",
                    u32::from(c)
                );
                return Err(Status::bad_request(text));
            }
            c => out.push(c),
        }
    }
    Ok(out)
}
