//! What is around an object: the four magic bytes with type and content, and the frames of a watch.
//!
//! Owns `runtime.Unknown` and `WatchEvent`, and the texts with which the real server refuses bodies. Does not know
//! what is inside.

use super::decode::{Budget, merge};
use super::table::TABLE;
use super::wire::{BYTES, Reader, bytes_field_length, put_bytes, put_tag, put_varint};
use super::{Fault, special};
use crate::document::summary;
use crate::status::Status;
use bytes::{BufMut, BytesMut};
use serde_json::{Map, Value};

/// How every body begins.
pub(super) const MAGIC: &[u8] = b"k8s\0";

/// Type and content of a body.
#[derive(Default)]
struct Envelope<'a> {
    api_version: String,
    kind: String,
    raw: &'a [u8],
}

/// Decodes a request body into the JSON that stands for the same object.
///
/// `expected` is the type that the request is about, for bodies that do not say theirs. The error is the real
/// server's 400.
pub(crate) fn decode(body: &[u8], expected: (&str, &str)) -> Result<Value, Status> {
    let unrecognized = |why: &Fault| {
        let kind = expected.1;
        Status::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            summary(body)
        ))
    };
    let envelope = Envelope::read(body).map_err(|why| unrecognized(&why))?;
    let named = if envelope.kind.is_empty() {
        expected.1.to_owned()
    } else {
        envelope.kind.clone()
    };
    object(body, Some(expected), &mut Budget::default()).map_err(|why| {
        let version = envelope.api_version.rsplit('/').next().unwrap_or_default();
        let version = if version.is_empty() {
            expected.0.rsplit('/').next().unwrap_or_default()
        } else {
            version
        };
        let kind = if expected.1.is_empty() { &named } else { expected.1 };
        Status::bad_request(format!(
            "{named} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}

/// Decodes an enveloped object. An object of a kind without protobuf form comes back as nothing but its type, which
/// whoever takes it refuses.
pub(super) fn object(
    body: &[u8],
    expected: Option<(&str, &str)>,
    budget: &mut Budget,
) -> Result<Value, Fault> {
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
        return Err(Fault::new(text));
    }
    let mut members = Map::new();
    if let Some(message) = TABLE.wire(&envelope.api_version, &envelope.kind) {
        merge(TABLE.message(message), envelope.raw, &mut members, budget)?;
    }
    members.insert("apiVersion".to_owned(), envelope.api_version.into());
    members.insert("kind".to_owned(), envelope.kind.into());
    Ok(members.into())
}

impl<'a> Envelope<'a> {
    fn read(body: &'a [u8]) -> Result<Self, Fault> {
        if body.is_empty() {
            return Err(Fault::new("empty data"));
        }
        let Some(rest) = body.strip_prefix(MAGIC) else {
            let text = "provided data does not appear to be a protobuf message, expected prefix";
            return Err(Fault::new(format!("{text} [107 56 115 0]")));
        };
        if rest.is_empty() {
            return Err(Fault::new("empty body"));
        }
        let mut envelope = Self::default();
        let mut reader = Reader::new(rest, "Unknown");
        while let Some(tag) = reader.tag()? {
            match (tag.number, tag.wire) {
                (1, BYTES) => envelope.read_type(reader.bytes()?)?,
                (2, BYTES) => envelope.raw = reader.bytes()?,
                _ => reader.skip(tag)?,
            }
        }
        Ok(envelope)
    }

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let mut reader = Reader::new(bytes, "TypeMeta");
        while let Some(tag) = reader.tag()? {
            match (tag.number, tag.wire) {
                (1, BYTES) => self.api_version = special::text(reader.bytes()?),
                (2, BYTES) => self.kind = special::text(reader.bytes()?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

/// Writes an envelope up to where its object of `length` bytes begins, and returns that place.
pub(super) fn open(api_version: &str, kind: &str, length: usize, out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(MAGIC);
    let mut type_meta = Vec::with_capacity(64);
    put_bytes(&mut type_meta, 1, api_version.as_bytes());
    put_bytes(&mut type_meta, 2, kind.as_bytes());
    put_bytes(out, 1, &type_meta);
    put_tag(out, 2, BYTES);
    put_varint(out, length as u64);
    out.len()
}

/// Writes what follows the object: content encoding and content type, both empty.
pub(super) fn close(out: &mut Vec<u8>) {
    put_bytes(out, 3, b"");
    put_bytes(out, 4, b"");
}

/// Appends one event of a watch: its length, its type and its enveloped object.
pub(crate) fn watch_frame(out: &mut BytesMut, event: &str, object: &[u8]) {
    let mut head = Vec::with_capacity(event.len() + 16);
    put_bytes(&mut head, 1, event.as_bytes());
    put_tag(&mut head, 2, BYTES);
    put_varint(&mut head, bytes_field_length(object.len()) as u64);
    put_tag(&mut head, 1, BYTES);
    put_varint(&mut head, object.len() as u64);
    // A frame's length has 32 bits; objects have at most a few MiB.
    out.put_u32((head.len() + object.len()) as u32);
    out.put_slice(&head);
    out.put_slice(object);
}
