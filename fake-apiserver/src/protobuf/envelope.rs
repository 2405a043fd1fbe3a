//! The envelope of an object (magic bytes, type, content), and the frames of a watch stream.
//!
//! Owns the messages `runtime.Unknown` and `WatchEvent`. Does not know the content of objects.

use super::wire::{BYTES, Reader, bytes_field_length, put_bytes, put_tag, put_varint};
use super::{CodecError, scalars};
use bytes::{BufMut, BytesMut};

pub(super) const MAGIC: &[u8] = b"k8s\0";

/// The decoded envelope `runtime.Unknown`.
#[derive(Default)]
pub(super) struct Envelope<'a> {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) raw: &'a [u8],
}

impl<'a> Envelope<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Self, CodecError> {
        if body.is_empty() {
            return Err(CodecError::new("empty data"));
        }
        let Some(rest) = body.strip_prefix(MAGIC) else {
            let text = "provided data does not appear to be a protobuf message, expected prefix";
            return Err(CodecError::new(format!("{text} [107 56 115 0]")));
        };
        if rest.is_empty() {
            return Err(CodecError::new("empty body"));
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

    fn read_type(&mut self, bytes: &[u8]) -> Result<(), CodecError> {
        let mut reader = Reader::new(bytes, "TypeMeta");
        while let Some(tag) = reader.tag()? {
            match (tag.number, tag.wire) {
                (1, BYTES) => self.api_version = scalars::text(reader.bytes()?),
                (2, BYTES) => self.kind = scalars::text(reader.bytes()?),
                _ => reader.skip(tag)?,
            }
        }
        Ok(())
    }
}

/// Writes the envelope up to the object, which has `length` bytes; returns the offset of the object.
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

/// Writes the rest of the envelope after the object: empty content encoding and content type.
pub(super) fn close(out: &mut Vec<u8>) {
    put_bytes(out, 3, b"");
    put_bytes(out, 4, b"");
}

/// Appends a watch frame: length, event type and enveloped object.
pub(crate) fn watch_frame(out: &mut BytesMut, event: &str, object: &[u8]) {
    let mut head = Vec::with_capacity(event.len() + 16);
    put_bytes(&mut head, 1, event.as_bytes());
    put_tag(&mut head, 2, BYTES);
    put_varint(&mut head, bytes_field_length(object.len()) as u64);
    put_tag(&mut head, 1, BYTES);
    put_varint(&mut head, object.len() as u64);
    // The frame length is a 32-bit number, which is large enough for an object of a few MiB.
    out.put_u32((head.len() + object.len()) as u32);
    out.put_slice(&head);
    out.put_slice(object);
}
