//! Parses JSON bodies, reporting duplicate fields, with the errors of Go's `encoding/json` for invalid JSON.
//!
//! Does not know API types. The last of several fields of the same name wins, as in Go.

use super::go;
use bytes::Bytes;
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::fmt;

/// Maximum number of reported duplicate fields: a body can contain millions.
const DUPLICATES_MAX: usize = 100;

/// Number of bytes of an invalid body that an error message quotes.
const SUMMARY_BYTES: usize = 30;

/// A parsed request body: its JSON value, and the duplicate fields and field order, which the value does not preserve.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    pub(crate) value: Value,
    /// Paths of fields that the body contains more than once.
    pub(crate) duplicates: Vec<String>,
    /// The body as sent, if it is JSON: kube-apiserver reports errors in the order of the fields in the body.
    pub(crate) source: Option<Bytes>,
}

impl From<Value> for Document {
    fn from(value: Value) -> Self {
        Self {
            value,
            duplicates: Vec::new(),
            source: None,
        }
    }
}

impl Document {
    /// Parses JSON. Error messages are those of Go's `encoding/json`.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, String> {
        let duplicates = RefCell::default();
        let mut reader = serde_json::Deserializer::from_slice(body);
        let value = Position::root(&duplicates)
            .deserialize(&mut reader)
            .and_then(|value| reader.end().map(|()| value))
            .map_err(|error| message(body, &error))?;
        Ok(Self {
            value,
            duplicates: duplicates.into_inner(),
            source: None,
        })
    }
}

/// Go's decoding error if the document is not an object, or if its `apiVersion` or `kind` is not a string.
pub(crate) fn type_meta_error(document: &Value) -> Option<String> {
    if !document.is_object() {
        return Some(go::cannot_unmarshal(
            json_type(document),
            "value of type struct { APIVersion string \
             \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
        ));
    }
    let member = |name| {
        document
            .get(name)
            .filter(|value| !value.is_null() && !value.is_string())
    };
    let wrong = ["apiVersion", "kind"]
        .into_iter()
        .find_map(|name| Some((name, member(name)?)))?;
    let (name, found) = (wrong.0, json_type(wrong.1));
    Some(go::cannot_unmarshal(
        found,
        &format!("struct field .{name} of type string"),
    ))
}

impl Document {
    /// The JSON type of the document, such as `array`, as named in Go's decoding errors.
    pub(crate) fn json_type(&self) -> &'static str {
        json_type(&self.value)
    }
}

/// The JSON type of a value, such as `array`, as named in Go's decoding errors.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A position in the document during parsing; deserializes the value at this position. Positions live on the stack: the path is built only
/// to report a duplicate field.
#[derive(Clone, Copy)]
pub(crate) struct Position<'a> {
    parent: Option<&'a Position<'a>>,
    step: PositionStep<'a>,
    duplicates: &'a RefCell<Vec<String>>,
}

#[derive(Clone, Copy)]
enum PositionStep<'a> {
    Root,
    Key(&'a str),
    Index(usize),
}

impl<'a> Position<'a> {
    /// The position of the whole document. Paths of duplicate fields are added to `duplicates`.
    pub(crate) fn root(duplicates: &'a RefCell<Vec<String>>) -> Self {
        Self {
            parent: None,
            step: PositionStep::Root,
            duplicates,
        }
    }
}

impl Position<'_> {
    fn path(&self) -> String {
        let mut path = self.parent.map(Position::path).unwrap_or_default();
        match self.step {
            PositionStep::Root => {}
            PositionStep::Key(key) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(key);
            }
            PositionStep::Index(i) => path.push_str(&format!("[{i}]")),
        }
        path
    }
}

impl<'de> DeserializeSeed<'de> for Position<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Position<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        loop {
            let here = Position {
                parent: Some(&self),
                step: PositionStep::Index(out.len()),
                duplicates: self.duplicates,
            };
            match items.next_element_seed(here)? {
                Some(item) => out.push(item),
                None => return Ok(out.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            let here = Position {
                parent: Some(&self),
                step: PositionStep::Key(&key),
                duplicates: self.duplicates,
            };
            if out.contains_key(&key) {
                let mut duplicates = self.duplicates.borrow_mut();
                let path = here.path();
                if duplicates.len() < DUPLICATES_MAX && !duplicates.contains(&path) {
                    duplicates.push(path);
                }
            }
            let value = members.next_value_seed(here)?;
            out.insert(key, value);
        }
        Ok(out.into())
    }
}

pub(crate) fn body_excerpt(body: &[u8]) -> String {
    if body.is_empty() {
        return "<empty>".to_owned();
    }
    let shown = &body[..body.len().min(SUMMARY_BYTES)];
    let mut text = if body[0] == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    if body.len() > SUMMARY_BYTES {
        text.push_str(" ...");
    }
    text
}

/// For errors of serde_json, the context that follows `invalid character 'x'` in the corresponding errors of Go.
const GO_MESSAGES: [(&str, &str); 6] = [
    ("trailing characters", "after top-level value"),
    (
        "key must be a string",
        "looking for beginning of object key string",
    ),
    ("expected `,` or `]`", "after array element"),
    ("expected `,` or `}`", "after object key:value pair"),
    ("expected `:`", "after object key"),
    ("trailing comma", "looking for beginning of value"),
];

fn message(body: &[u8], error: &serde_json::Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let text = error.to_string();
    let line = body
        .split(|byte| *byte == b'\n')
        .nth(error.line().saturating_sub(1));
    let byte = line.and_then(|line| line.get(error.column().saturating_sub(1)).or(line.last()));
    let Some(byte) = byte else { return text };
    let known = GO_MESSAGES.iter().find(|(ours, _)| text.starts_with(ours));
    match known {
        Some((_, go)) => format!("invalid character {} {go}", quoted(*byte)),
        None if text.starts_with("expected value") || text.starts_with("expected ident") => {
            format!(
                "invalid character {} looking for beginning of value",
                quoted(*byte)
            )
        }
        None => text,
    }
}

/// A byte, quoted as in Go's error messages.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_duplicate_fields_wins_and_duplicates_are_reported() {
        let text = br#"{"a": 1, "l": [{"b": 1}, {"b": 1, "b": 2}], "a": {"c": true, "c": null}}"#;
        let parsed = Document::parse(text).expect("the text is valid JSON");
        assert_eq!(parsed.value, json!({"a": {"c": null}, "l": [{"b": 1}, {"b": 2}]}));
        assert_eq!(parsed.duplicates, ["l[1].b", "a", "a.c"]);
    }

    #[test]
    fn invalid_json_gets_the_error_of_go() {
        for (text, message) in [
            ("", "unexpected end of JSON input"),
            ("{\"a\": ", "unexpected end of JSON input"),
            ("hello", "invalid character 'h' looking for beginning of value"),
            ("{} x", "invalid character 'x' after top-level value"),
            (
                "{a: 1}",
                "invalid character 'a' looking for beginning of object key string",
            ),
            ("[1 2]", "invalid character '2' after array element"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
        ] {
            assert_eq!(
                Document::parse(text.as_bytes()).map(|d| d.value),
                Err(message.to_owned()),
                "{text}"
            );
        }
    }
}
