//! Decodes protobuf to the JSON that kube-apiserver would write for the same bytes.
//!
//! Owns the merging of repeated fields, and the zero values that only JSON or only protobuf omits. Limits depth and number of values,
//! because a few bytes can encode a large value.

use super::envelope::{self, Envelope};
use super::table::{Message, Omission, Shape, TABLE, WireField, WireType};
use super::wire::{BYTES, FIXED64, Reader, Tag, VARINT};
use super::{CodecError, either, scalars};
use serde_json::{Map, Value};

/// Maximum nesting depth of messages. API types need far less, but embedded objects could be nested without limit.
const DEPTH_MAX: usize = 100;
/// Maximum number of values in a body. Real objects have far fewer.
const VALUES_MAX: usize = 1_000_000;

/// How many more nesting levels and values a body may contain.
pub(super) struct Budget {
    depth: usize,
    values: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            depth: DEPTH_MAX,
            values: VALUES_MAX,
        }
    }
}

impl Budget {
    /// Runs `inside` with one nesting level less available.
    pub(super) fn enter<T>(
        &mut self,
        inside: impl FnOnce(&mut Self) -> Result<T, CodecError>,
    ) -> Result<T, CodecError> {
        self.depth = self
            .depth
            .checked_sub(1)
            .ok_or_else(|| CodecError::new(format!("messages are nested deeper than {DEPTH_MAX} levels")))?;
        let found = inside(self);
        self.depth += 1;
        found
    }

    fn spend(&mut self) -> Result<(), CodecError> {
        self.values = self
            .values
            .checked_sub(1)
            .ok_or_else(|| CodecError::new(format!("the body contains more than {VALUES_MAX} values")))?;
        Ok(())
    }
}

/// Decodes a message into `out`. Merges the message with existing members, as protobuf requires if a field occurs several times.
pub(super) fn merge(
    message: &Message,
    bytes: &[u8],
    out: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), CodecError> {
    budget.enter(|budget| {
        let mut reader = Reader::new(bytes, message.short());
        while let Some(tag) = reader.tag()? {
            match message.field(tag.number) {
                Some(field) => {
                    budget.spend()?;
                    decode_field(field, tag, &mut reader, out, budget)?;
                }
                None => reader.skip(tag)?,
            }
        }
        add_omitted_fields(message, out, budget)
    })
}

fn decode_field(
    field: &WireField,
    tag: Tag,
    reader: &mut Reader<'_>,
    out: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), CodecError> {
    let Some(member) = field.member else {
        let WireType::Message(number) = field.of else {
            return reader.skip(tag);
        };
        expect(BYTES, tag, field)?;
        return merge(TABLE.message(number), reader.bytes()?, out, budget);
    };
    let slot = out.entry(member).or_insert(Value::Null);
    match field.shape {
        Shape::One | Shape::Pointer => {
            value(field, tag, reader, slot, budget)?;
            if field.shape == Shape::One && field.empty != Omission::Kept && is_zero(field, slot) {
                out.remove(member);
            }
        }
        Shape::List => {
            let list = array(slot);
            if field.of.is_varint() && tag.wire == BYTES {
                let mut packed = Reader::new(reader.bytes()?, "list");
                while !packed.is_empty() {
                    budget.spend()?;
                    list.push(scalars::number(field.of, packed.varint()?));
                }
            } else {
                let mut item = Value::Null;
                value(field, tag, reader, &mut item, budget)?;
                list.push(item);
            }
        }
        Shape::Map => {
            expect(BYTES, tag, field)?;
            entry(field, reader.bytes()?, slot, budget)?;
        }
    }
    Ok(())
}

/// Decodes a map entry: a message that consists of key and value, either of which may be absent.
fn entry(field: &WireField, bytes: &[u8], slot: &mut Value, budget: &mut Budget) -> Result<(), CodecError> {
    let mut reader = Reader::new(bytes, "entry");
    let (mut key, mut found) = (String::new(), None);
    while let Some(tag) = reader.tag()? {
        match tag.number {
            1 => {
                expect(BYTES, tag, field)?;
                key = scalars::text(reader.bytes()?);
            }
            2 => value(field, tag, &mut reader, found.get_or_insert(Value::Null), budget)?,
            _ => reader.skip(tag)?,
        }
    }
    let found = match found {
        Some(found) => found,
        None => zero(field.of, budget)?,
    };
    map(slot).insert(key, found);
    Ok(())
}

/// Decodes the value of a field into `slot`, which contains the previously decoded value if the field occurs several times.
fn value(
    field: &WireField,
    tag: Tag,
    reader: &mut Reader<'_>,
    slot: &mut Value,
    budget: &mut Budget,
) -> Result<(), CodecError> {
    if field.of.is_varint() {
        expect(VARINT, tag, field)?;
        *slot = scalars::number(field.of, reader.varint()?);
        return Ok(());
    }
    if field.of == WireType::Double {
        expect(FIXED64, tag, field)?;
        *slot = scalars::double(reader.fixed()?);
        return Ok(());
    }
    expect(BYTES, tag, field)?;
    let bytes = reader.bytes()?;
    match field.of {
        WireType::Message(number) if TABLE.message(number).either => {
            let (message, mut members) = (TABLE.message(number), Map::new());
            merge(message, bytes, &mut members, budget)?;
            *slot = either::union_json(message, members);
        }
        WireType::Message(number) => merge(TABLE.message(number), bytes, map(slot), budget)?,
        WireType::Raw => *slot = raw(bytes, budget)?,
        of => *slot = scalars::decode(of, bytes)?,
    }
    Ok(())
}

/// Decodes an object in an envelope. If the kind has no protobuf form, returns only `apiVersion` and `kind`, and the caller rejects the
/// object.
pub(super) fn object(
    body: &[u8],
    expected: Option<(&str, &str)>,
    budget: &mut Budget,
) -> Result<Value, CodecError> {
    let mut envelope = Envelope::read(body)?;
    if let Some((api_version, kind)) = expected {
        if envelope.api_version.is_empty() {
            envelope.api_version = api_version.to_owned();
        }
        if envelope.kind.is_empty() {
            envelope.kind = kind.to_owned();
        }
    }
    if envelope.kind.is_empty() {
        let text = format!(
            "Object 'Kind' is missing in an object of version {:?}",
            envelope.api_version
        );
        return Err(CodecError::new(text));
    }
    let mut members = Map::new();
    if let Some(message) = TABLE.kind(&envelope.api_version, &envelope.kind) {
        merge(TABLE.message(message), envelope.raw, &mut members, budget)?;
    }
    members.insert("apiVersion".to_owned(), envelope.api_version.into());
    members.insert("kind".to_owned(), envelope.kind.into());
    Ok(members.into())
}

/// Decodes a field of type `runtime.RawExtension`: JSON, or an object in an envelope.
fn raw(bytes: &[u8], budget: &mut Budget) -> Result<Value, CodecError> {
    let content = scalars::wrapped_bytes(bytes)?;
    if content.is_empty() {
        return Ok(Value::Null);
    }
    if content.starts_with(envelope::MAGIC) {
        return budget.enter(|budget| object(content, None, budget));
    }
    serde_json::from_slice(content)
        .map_err(|error| CodecError::new(format!("a RawExtension field is not JSON: {error}")))
}

/// Adds the fields that protobuf omitted but JSON contains.
fn add_omitted_fields(
    message: &Message,
    out: &mut Map<String, Value>,
    budget: &mut Budget,
) -> Result<(), CodecError> {
    for field in &message.fields {
        match (field.member, field.of, field.shape) {
            (None, WireType::Message(inner), _) => add_omitted_fields(TABLE.message(inner), out, budget)?,
            (Some(member), of, shape) if !out.contains_key(member) => {
                let present = match (shape, field.empty) {
                    (Shape::One, Omission::Kept) => zero(of, budget)?,
                    (Shape::One, Omission::Omitted) if of.is_struct() => zero(of, budget)?,
                    (_, Omission::Kept) => Value::Null,
                    _ => continue,
                };
                budget.spend()?;
                out.insert(member.to_owned(), present);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The zero value of a wire type, as Go serializes it to JSON.
fn zero(of: WireType, budget: &mut Budget) -> Result<Value, CodecError> {
    match of {
        WireType::Message(number) if TABLE.message(number).either => Ok(Value::Null),
        WireType::Message(number) => {
            let mut out = Map::new();
            budget.enter(|budget| add_omitted_fields(TABLE.message(number), &mut out, budget))?;
            Ok(out.into())
        }
        of => Ok(scalars::zero(of)),
    }
}

/// Whether JSON omits a decoded value, because it is the zero value of a field with `omitempty` or `omitzero`.
fn is_zero(field: &WireField, value: &Value) -> bool {
    match field.empty {
        Omission::Kept => false,
        Omission::Omitted => !field.of.is_struct() && *value == scalars::zero(field.of),
        Omission::OmittedStruct => *value == scalars::zero(field.of),
    }
}

fn expect(wire: u8, tag: Tag, field: &WireField) -> Result<(), CodecError> {
    if tag.wire == wire {
        return Ok(());
    }
    let mut name = field.member.unwrap_or_default().to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    Err(CodecError::new(format!(
        "proto: wrong wireType = {} for field {name}",
        tag.wire
    )))
}

fn map(slot: &mut Value) -> &mut Map<String, Value> {
    if !slot.is_object() {
        *slot = Map::new().into();
    }
    slot.as_object_mut().expect("it was made an object above")
}

fn array(slot: &mut Value) -> &mut Vec<Value> {
    if !slot.is_array() {
        *slot = Value::Array(Vec::new());
    }
    slot.as_array_mut().expect("it was made a list above")
}
