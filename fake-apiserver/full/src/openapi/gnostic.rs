//! OpenAPI documents as protobuf, in gnostic's messages for OpenAPI v2 and v3.
//!
//! Owns the protobuf message tables and the encoder. Does not know the content of OpenAPI documents. There is no decoder: the server never
//! reads OpenAPI documents.

use fake_apiserver::extension::protobuf::{put_bytes, put_fixed, put_number};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::LazyLock;

/// Message tables of OpenAPI v2 (`SECOND`) and v3 (`THIRD`).
static SECOND: LazyLock<Messages> = LazyLock::new(|| read(include_str!("gnostic2.txt")));
static THIRD: LazyLock<Messages> = LazyLock::new(|| read(include_str!("gnostic3.txt")));

type Messages = HashMap<&'static str, Vec<GnosticField>>;

/// A field of a gnostic message, and the part of the JSON document that the field encodes.
struct GnosticField {
    number: u32,
    from: FieldSource,
    of: FieldType,
    is_list: bool,
}

/// What a protobuf field encodes from the JSON value of its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldSource {
    /// The member with this name of the JSON object.
    Member(&'static str),
    /// All members of the JSON object whose name begins with `x-`, each as a protobuf message of name and value.
    Extensions,
    /// All members of the JSON object without a protobuf field of their own, each as a protobuf message of name and value.
    Others,
    /// The whole JSON value, if the condition is true. At most one such protobuf field is written (`oneof`).
    Whole(ValueCondition),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueCondition {
    Always,
    /// The JSON value is an object with this member.
    Has(&'static str),
    /// The JSON value is an object whose member `in` has this value.
    In(&'static str),
    Bool,
    Number,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FieldType {
    Text,
    Bool,
    Int,
    Double,
    /// Any JSON value, encoded as YAML text; JSON is valid YAML.
    Any,
    Message(&'static str),
}

const TYPES: [(&str, FieldType); 5] = [
    ("string", FieldType::Text),
    ("bool", FieldType::Bool),
    ("int", FieldType::Int),
    ("double", FieldType::Double),
    ("any", FieldType::Any),
];

pub(super) fn encode_version2(document: &Value) -> Vec<u8> {
    encode_document(&SECOND, document)
}

pub(super) fn encode_version3(document: &Value) -> Vec<u8> {
    encode_document(&THIRD, document)
}

fn encode_document(messages: &Messages, document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    encode_message(messages, "Document", document, &mut out);
    out
}

fn encode_message(messages: &Messages, name: &str, value: &Value, out: &mut Vec<u8>) {
    let fields = messages.get(name).map_or(&[][..], Vec::as_slice);
    for field in fields {
        match field.from {
            FieldSource::Whole(when) if when.holds(value) => {
                // A boolean in a `oneof` is written even if it is false.
                if value == &Value::Bool(false) {
                    put_number(out, field.number, 0);
                }
                return put_field(messages, field, value, out);
            }
            FieldSource::Whole(_) => {}
            FieldSource::Member(member) => {
                if let Some(value) = value.get(member) {
                    put_field(messages, field, value, out);
                }
            }
            FieldSource::Extensions | FieldSource::Others => put_members(messages, fields, field, value, out),
        }
    }
}

/// Writes members of a JSON object, each as a protobuf message of name and value.
fn put_members(
    messages: &Messages,
    fields: &[GnosticField],
    field: &GnosticField,
    value: &Value,
    out: &mut Vec<u8>,
) {
    let has_own = |name: &str| {
        let mut own = fields.iter();
        own.any(|field| matches!(field.from, FieldSource::Member(member) if member == name))
    };
    for (name, value) in value.as_object().into_iter().flatten() {
        if name.starts_with("x-") == (field.from == FieldSource::Extensions) && !has_own(name) {
            put_nested(out, field.number, |out| {
                put_bytes(out, 1, name.as_bytes());
                put_value(messages, 2, field.of, value, out);
            });
        }
    }
}

fn put_field(messages: &Messages, field: &GnosticField, value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(items) if field.is_list => items
            .iter()
            .for_each(|item| put_value(messages, field.number, field.of, item, out)),
        value => put_value(messages, field.number, field.of, value, out),
    }
}

/// Writes a protobuf field. As in proto3, a field with the value `false` is omitted.
fn put_value(messages: &Messages, number: u32, of: FieldType, value: &Value, out: &mut Vec<u8>) {
    match of {
        FieldType::Text => put_bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        FieldType::Bool if value == &Value::Bool(true) => put_number(out, number, 1),
        FieldType::Int => put_number(out, number, value.as_u64().unwrap_or_default()),
        FieldType::Double => put_fixed(out, number, value.as_f64().unwrap_or_default()),
        FieldType::Any => put_nested(out, number, |out| {
            put_bytes(out, 2, format!("{value}\n").as_bytes());
        }),
        FieldType::Message(name) => put_nested(out, number, |out| encode_message(messages, name, value, out)),
        FieldType::Bool => {}
    }
}

impl ValueCondition {
    fn holds(self, value: &Value) -> bool {
        match self {
            Self::Always => true,
            Self::Has(member) => value.get(member).is_some(),
            Self::In(place) => value.get("in").is_some_and(|found| found == place),
            Self::Bool => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
        }
    }

    fn read(text: &'static str) -> Option<Self> {
        Some(match text {
            "else" => Self::Always,
            "bool" => Self::Bool,
            "number" => Self::Number,
            "text" => Self::Text,
            _ => match text.split_once(':')? {
                ("has", member) => Self::Has(member),
                ("in", place) => Self::In(place),
                _ => return None,
            },
        })
    }
}

fn read(text: &'static str) -> Messages {
    let mut messages = Messages::new();
    let mut name = "";
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        match line.strip_prefix(' ') {
            None => name = line,
            Some(rest) => {
                let field = GnosticField::read(rest)
                    .expect("the embedded table is well formed, as a unit test checks");
                messages.entry(name).or_default().push(field);
            }
        }
    }
    messages
}

impl GnosticField {
    fn read(line: &'static str) -> Option<Self> {
        let mut words = line.split(' ');
        let (number, from, of) = (words.next()?, words.next()?, words.next()?);
        let (is_list, of) = match of.strip_prefix("[]") {
            Some(of) => (true, of),
            None => (false, of),
        };
        let known = TYPES.iter().find(|(name, _)| *name == of);
        Some(Self {
            number: number.parse().ok()?,
            from: match (from, from.strip_prefix('=')) {
                ("x-*", _) => FieldSource::Extensions,
                ("*", _) => FieldSource::Others,
                (_, Some(when)) => FieldSource::Whole(ValueCondition::read(when)?),
                (member, None) => FieldSource::Member(member),
            },
            of: known.map_or(FieldType::Message(of), |(_, of)| *of),
            is_list,
        })
    }
}

fn put_nested(out: &mut Vec<u8>, number: u32, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut content = Vec::new();
    fill(&mut content);
    put_bytes(out, number, &content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn messages_that_fields_refer_to_exist() {
        for messages in [&SECOND, &THIRD] {
            assert!(messages.contains_key("Document"));
            for (name, fields) in messages.iter() {
                for field in fields {
                    if let FieldType::Message(of) = field.of {
                        assert!(messages.contains_key(of), "{name} has a {of}");
                    }
                }
            }
        }
    }

    fn length_delimited(number: u32, bytes: impl AsRef<[u8]>) -> Vec<u8> {
        let mut out = Vec::new();
        put_bytes(&mut out, number, bytes.as_ref());
        out
    }

    #[test]
    fn named_values_references_and_extensions_have_fields() {
        let document = json!({"swagger": "2.0", "definitions": {
            "a.B": {"properties": {"x-c": {"$ref": "#/d"}}, "x-e": ["f"]},
        }});
        let property = [
            length_delimited(1, "x-c"),
            length_delimited(2, length_delimited(1, "#/d")),
        ]
        .concat();
        let extension = [
            length_delimited(1, "x-e"),
            length_delimited(2, length_delimited(2, "[\"f\"]\n")),
        ]
        .concat();
        let schema = [
            length_delimited(25, length_delimited(1, property)),
            length_delimited(31, extension),
        ]
        .concat();
        let named = [length_delimited(1, "a.B"), length_delimited(2, schema)].concat();
        let wanted = [
            length_delimited(1, "2.0"),
            length_delimited(9, length_delimited(1, named)),
        ]
        .concat();
        assert_eq!(encode_version2(&document), wanted);
    }

    #[test]
    fn default_values_of_false_and_zero_are_written() {
        let schema = |default: Value| {
            let document = json!({"components": {"schemas": {"a": {"default": default}}}});
            encode_version3(&document)
        };
        let wanted = |default: &[u8]| {
            let named = [
                length_delimited(1, "a"),
                length_delimited(2, length_delimited(1, length_delimited(33, default))),
            ]
            .concat();
            length_delimited(5, length_delimited(1, length_delimited(1, named)))
        };
        assert_eq!(schema(json!(false)), wanted(&[0x10, 0]));
        assert_eq!(schema(json!(true)), wanted(&[0x10, 1]));
        assert_eq!(schema(json!("")), wanted(&[0x1a, 0]));
        assert_eq!(schema(json!(0)), wanted(&[0x09, 0, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(schema(json!({})), wanted(&[]));
    }
}
