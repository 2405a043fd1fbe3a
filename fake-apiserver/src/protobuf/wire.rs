//! The wire format of protobuf: tags, varints and length-delimited fields.
//!
//! Owns the grammar, with the error messages of kube-apiserver's decoder. Does not know message types.

use super::CodecError;

/// The wire types of fields. Only varint, 64-bit and length-delimited fields are decoded.
pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const GROUP: u8 = 3;
const GROUP_END: u8 = 4;
const FIXED32: u8 = 5;

#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire: u8,
}

pub(super) struct Reader<'a> {
    rest: &'a [u8],
    message: &'static str,
}

impl<'a> Reader<'a> {
    /// Creates a reader. `message` is the name of the message in errors.
    pub(super) fn new(rest: &'a [u8], message: &'static str) -> Self {
        Self { rest, message }
    }

    /// Reads the tag of the next field; `None` at the end of the message.
    pub(super) fn tag(&mut self) -> Result<Option<Tag>, CodecError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let wire = (tag & 7) as u8;
        // Like Go, treats field numbers as int32.
        let number = (tag >> 3) as i32;
        if wire == GROUP_END {
            let text = format!("proto: {}: wiretype end group for non-group", self.message);
            return Err(CodecError::new(text));
        }
        match u32::try_from(number) {
            Ok(number) if number > 0 => Ok(Some(Tag { number, wire })),
            _ => Err(CodecError::new(format!(
                "proto: {}: illegal tag {number} (wire type {tag})",
                self.message
            ))),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn varint(&mut self) -> Result<u64, CodecError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.rest.split_first().ok_or_else(CodecError::end)?;
            self.rest = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(CodecError::new("proto: integer overflow"))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], CodecError> {
        let length = self.varint()? as i64;
        let length = usize::try_from(length)
            .map_err(|_| CodecError::new("proto: negative length found during unmarshaling"))?;
        self.take(length)
    }

    /// Reads a value of wire type 1 as a double.
    pub(super) fn fixed(&mut self) -> Result<f64, CodecError> {
        let bytes = self.take(8)?;
        Ok(f64::from_le_bytes(
            bytes.try_into().map_err(|_| CodecError::end())?,
        ))
    }

    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), CodecError> {
        let mut groups = 0_u32;
        let mut wire = tag.wire;
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                GROUP => groups += 1,
                GROUP_END if groups > 0 => groups -= 1,
                GROUP_END => return Err(CodecError::new("proto: unexpected end of group")),
                FIXED32 => drop(self.take(4)?),
                other => return Err(CodecError::new(format!("proto: illegal wireType {other}"))),
            }
            if groups == 0 {
                return Ok(());
            }
            wire = (self.varint()? & 7) as u8;
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], CodecError> {
        let (head, rest) = self.rest.split_at_checked(length).ok_or_else(CodecError::end)?;
        self.rest = rest;
        Ok(head)
    }
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(super) fn put_tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// Writes a length-delimited field.
pub fn put_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    put_tag(out, number, BYTES);
    put_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Writes a varint field.
pub fn put_number(out: &mut Vec<u8>, number: u32, value: u64) {
    put_tag(out, number, VARINT);
    put_varint(out, value);
}

/// Writes a double field.
pub fn put_fixed(out: &mut Vec<u8>, number: u32, value: f64) {
    put_tag(out, number, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Writes a nested message; `fill` appends its content.
pub(super) fn put_nested(
    out: &mut Vec<u8>,
    number: u32,
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), CodecError>,
) -> Result<(), CodecError> {
    put_tag(out, number, BYTES);
    let length_at = out.len();
    // Most messages are short: reserves one byte for the length, and moves the content if the length needs more bytes.
    out.push(0);
    fill(out)?;
    let length = out.len() - length_at - 1;
    match u8::try_from(length) {
        Ok(short) if short < 0x80 => out[length_at] = short,
        _ => {
            let mut count = Vec::with_capacity(4);
            put_varint(&mut count, length as u64);
            out.splice(length_at..=length_at, count);
        }
    }
    Ok(())
}

/// The encoded size of a length-delimited field with a number below 16.
pub(super) fn bytes_field_length(length: usize) -> usize {
    let mut count = Vec::with_capacity(10);
    put_varint(&mut count, length as u64);
    1 + count.len() + length
}
