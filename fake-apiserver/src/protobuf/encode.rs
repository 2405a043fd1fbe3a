//! Encodes JSON as the protobuf message that kube-apiserver would send for the same object.
//!
//! Owns which fields are written: non-pointer fields always, even if zero; pointers, lists and maps only if present. Unknown members are
//! omitted.

use super::table::{Message, Shape, TABLE, WireField, WireType};
use super::wire::{bytes_field_length, put_bytes, put_fixed, put_nested, put_number};
use super::{CodecError, either, envelope, scalars};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::ops::Range;

/// A protobuf object in its envelope.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    whole: Bytes,
    /// The range of the object's message inside the envelope.
    raw: Range<usize>,
}

impl Encoded {
    /// The envelope with the object: a response body, or the object of a watch event.
    pub(crate) fn whole(&self) -> &Bytes {
        &self.whole
    }

    /// The message of the object without envelope, as in lists.
    pub(crate) fn raw(&self) -> &[u8] {
        &self.whole[self.raw.clone()]
    }
}

pub(crate) fn encode(object: &Value) -> Result<Encoded, CodecError> {
    let text = |member: &str| object[member].as_str().unwrap_or_default();
    // Some discovery documents contain no `apiVersion`.
    let api_version = if text("apiVersion").is_empty() {
        "v1"
    } else {
        text("apiVersion")
    };
    let kind = text("kind");
    let Some(message) = TABLE.kind(api_version, kind) else {
        return Err(no_protobuf_form(api_version, kind));
    };
    let mut raw = Vec::with_capacity(512);
    put_message(TABLE.message(message), object.as_object(), &mut raw)?;
    let mut whole = Vec::with_capacity(raw.len() + 64);
    let at = envelope::open(api_version, kind, raw.len(), &mut whole);
    whole.extend_from_slice(&raw);
    envelope::close(&mut whole);
    Ok(Encoded {
        whole: whole.into(),
        raw: at..at + raw.len(),
    })
}

/// Encodes a list. `items`: the objects, which are encoded already; `kind`: the kind of the list.
pub(crate) fn list<'a>(
    api_version: &str,
    kind: &str,
    metadata: Map<String, Value>,
    items: impl Iterator<Item = &'a [u8]> + Clone,
) -> Result<Bytes, CodecError> {
    let Some(message) = TABLE.kind(api_version, kind) else {
        return Err(no_protobuf_form(api_version, kind));
    };
    let mut head = Vec::new();
    // Encodes the message without items: only the metadata.
    let members = Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]);
    put_message(TABLE.message(message), Some(&members), &mut head)?;
    let length = head.len()
        + items
            .clone()
            .map(|item| bytes_field_length(item.len()))
            .sum::<usize>();
    let mut out = Vec::with_capacity(length + 128);
    envelope::open(api_version, kind, length, &mut out);
    out.extend_from_slice(&head);
    for item in items {
        put_bytes(&mut out, 2, item);
    }
    envelope::close(&mut out);
    Ok(out.into())
}

fn no_protobuf_form(api_version: &str, kind: &str) -> CodecError {
    CodecError::new(format!(
        "{api_version} {kind} is not available as protobuf; request application/json"
    ))
}

fn put_message(
    message: &Message,
    members: Option<&Map<String, Value>>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    for field in &message.fields {
        match (field.member, field.of) {
            (None, WireType::Message(inner)) => {
                put_nested(out, field.number, |out| {
                    put_message(TABLE.message(inner), members, out)
                })?;
            }
            (Some(member), _) => {
                let value = members
                    .and_then(|members| members.get(member))
                    .filter(|value| !value.is_null());
                put_field(field, value, out)
                    .map_err(|CodecError(text)| CodecError(format!("{member}: {text}")))?;
            }
            (None, _) => {}
        }
    }
    Ok(())
}

fn put_field(field: &WireField, value: Option<&Value>, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match (field.shape, value) {
        (Shape::One, None) if matches!(field.of, WireType::Bytes | WireType::Strings) => Ok(()),
        (Shape::One, value) => put_value(field.number, field.of, value.unwrap_or(&Value::Null), out),
        (_, None) => Ok(()),
        (Shape::Pointer, Some(value)) => put_value(field.number, field.of, value, out),
        (Shape::List, Some(Value::Array(items))) => items
            .iter()
            .try_for_each(|item| put_value(field.number, field.of, item, out)),
        (Shape::Map, Some(Value::Object(entries))) => entries.iter().try_for_each(|(key, value)| {
            put_nested(out, field.number, |out| {
                put_bytes(out, 1, key.as_bytes());
                put_value(2, field.of, value, out)
            })
        }),
        (Shape::List, Some(value)) => Err(scalars::mismatch("a list", value)),
        (Shape::Map, Some(value)) => Err(scalars::mismatch("a map", value)),
    }
}

/// Encodes a field with its tag; `null` is encoded as the zero value.
fn put_value(number: u32, of: WireType, value: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match (of, value) {
        (WireType::Message(inner), _) if TABLE.message(inner).either => {
            let message = TABLE.message(inner);
            let members = either::union_members(message, value);
            put_nested(out, number, |out| put_message(message, Some(&members), out))
        }
        (WireType::Double, value) => {
            put_fixed(out, number, value.as_f64().unwrap_or_default());
            Ok(())
        }
        (WireType::Message(inner), Value::Object(members)) => put_nested(out, number, |out| {
            put_message(TABLE.message(inner), Some(members), out)
        }),
        (WireType::Message(inner), Value::Null) => {
            put_nested(out, number, |out| put_message(TABLE.message(inner), None, out))
        }
        (WireType::Message(inner), _) => Err(scalars::mismatch(TABLE.message(inner).short(), value)),
        (of, value) if of.is_varint() => {
            let varint = if value.is_null() {
                0
            } else {
                scalars::varint(of, value)?
            };
            put_number(out, number, varint);
            Ok(())
        }
        (of, value) => put_nested(out, number, |out| scalars::encode(of, value, out)),
    }
}
