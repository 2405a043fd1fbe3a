//! Scalars, and messages that are encoded as a scalar or list in JSON.
//!
//! Owns the conversion of quantities, times, int-or-strings, raw content and string lists, in both directions. Does not know the type
//! table.

use super::CodecError;
use super::table::WireType;
use super::wire::{BYTES, Reader, VARINT, put_bytes, put_number};
use crate::machinery::quantity::{Quantity, QuantityError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use jiff::Timestamp;
use serde_json::Value;

/// Unix time of Go's zero `time.Time`, 0001-01-01. A time with this value is treated as unset.
const NO_TIME: i64 = -62_135_596_800;
/// The value of `IntOrString.type` for a string.
const IS_STRING: u64 = 1;

/// Converts an integer or boolean to JSON.
pub(super) fn number(of: WireType, value: u64) -> Value {
    match of {
        WireType::Bool => (value != 0).into(),
        // Like Go, uses only the lower 32 bits.
        WireType::Int32 => (value as i32).into(),
        _ => (value as i64).into(),
    }
}

/// Converts a double to JSON. Like Go, writes integral values without a fraction.
pub(super) fn double(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        return (value as i64).into();
    }
    value.into()
}

/// Converts a string to JSON like Go: invalid UTF-8 is replaced.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn zero(of: WireType) -> Value {
    match of {
        WireType::String => "".into(),
        WireType::Int32 | WireType::Int64 | WireType::IntOrString | WireType::Double => 0.into(),
        WireType::Bool => false.into(),
        WireType::Quantity => "0".into(),
        _ => Value::Null,
    }
}

/// Decodes the bytes of a length-delimited scalar.
pub(super) fn decode(of: WireType, bytes: &[u8]) -> Result<Value, CodecError> {
    match of {
        WireType::String => Ok(text(bytes).into()),
        WireType::Bytes => Ok(BASE64.encode(bytes).into()),
        WireType::Quantity => quantity(&text(wrapped_bytes(bytes)?)).map(Value::from),
        WireType::Time | WireType::MicroTime => time(of, bytes),
        WireType::IntOrString => int_or_string(bytes),
        WireType::Strings => strings(bytes),
        _ => Ok(Value::Null),
    }
}

/// The byte string in a message that only wraps a byte string (field 1). If the field occurs several times, the last value is used.
pub(super) fn wrapped_bytes(bytes: &[u8]) -> Result<&[u8], CodecError> {
    let mut reader = Reader::new(bytes, "content");
    let mut content: &[u8] = &[];
    while let Some(tag) = reader.tag()? {
        match (tag.number, tag.wire) {
            (1, BYTES) => content = reader.bytes()?,
            _ => reader.skip(tag)?,
        }
    }
    Ok(content)
}

fn quantity(text: &str) -> Result<String, CodecError> {
    if text.is_empty() {
        return Ok("0".to_owned());
    }
    let parsed: Result<Quantity, QuantityError> = text.parse();
    parsed
        .map(|quantity| quantity.to_string())
        .map_err(|error| CodecError::new(error.to_string()))
}

/// Decodes a time from seconds and nanoseconds. An empty message is an unset time.
fn time(of: WireType, bytes: &[u8]) -> Result<Value, CodecError> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (seconds, nanos) = seconds_and_nanos(bytes)?;
    if seconds == NO_TIME {
        return Ok(Value::Null);
    }
    let (format, nanos) = match of {
        WireType::MicroTime => ("%Y-%m-%dT%H:%M:%S%.6fZ", i128::from(nanos as i32)),
        // In JSON, `metav1.Time` has whole seconds; kube-apiserver drops the fraction on decoding.
        _ => ("%Y-%m-%dT%H:%M:%SZ", 0),
    };
    let time = Timestamp::from_nanosecond(i128::from(seconds) * 1_000_000_000 + nanos)
        .map_err(|_| CodecError::new(format!("the Unix time {seconds} is out of range")))?;
    Ok(time.strftime(format).to_string().into())
}

fn seconds_and_nanos(bytes: &[u8]) -> Result<(i64, i64), CodecError> {
    let mut reader = Reader::new(bytes, "Timestamp");
    let mut numbers = (0, 0);
    while let Some(tag) = reader.tag()? {
        match (tag.number, tag.wire) {
            (1, VARINT) => numbers.0 = reader.varint()? as i64,
            (2, VARINT) => numbers.1 = reader.varint()? as i64,
            _ => reader.skip(tag)?,
        }
    }
    Ok(numbers)
}

fn int_or_string(bytes: &[u8]) -> Result<Value, CodecError> {
    let mut reader = Reader::new(bytes, "IntOrString");
    let (mut kind, mut int, mut string) = (0, 0, String::new());
    while let Some(tag) = reader.tag()? {
        match (tag.number, tag.wire) {
            (1, VARINT) => kind = reader.varint()?,
            (2, VARINT) => int = reader.varint()? as i32,
            (3, BYTES) => string = text(reader.bytes()?),
            _ => reader.skip(tag)?,
        }
    }
    Ok(if kind == IS_STRING {
        string.into()
    } else {
        int.into()
    })
}

fn strings(bytes: &[u8]) -> Result<Value, CodecError> {
    let mut reader = Reader::new(bytes, "list");
    let mut list: Vec<Value> = Vec::new();
    while let Some(tag) = reader.tag()? {
        match (tag.number, tag.wire) {
            (1, BYTES) => list.push(text(reader.bytes()?).into()),
            _ => reader.skip(tag)?,
        }
    }
    Ok(list.into())
}

/// Converts an integer or boolean to a varint.
pub(super) fn varint(of: WireType, value: &Value) -> Result<u64, CodecError> {
    match (of, value) {
        (WireType::Bool, Value::Bool(value)) => Ok(u64::from(*value)),
        // Negative int32 numbers are sign-extended to 64 bits, like int64.
        (WireType::Int32 | WireType::Int64, Value::Number(value)) => value
            .as_i64()
            .filter(|value| of == WireType::Int64 || i32::try_from(*value).is_ok())
            .map(|value| value as u64)
            .ok_or_else(|| CodecError::new(format!("{value} is not in the range of the field"))),
        _ => Err(mismatch(&format!("{of:?}"), value)),
    }
}

/// Appends the content of a length-delimited scalar. `null` is encoded as the zero value.
pub(super) fn encode(of: WireType, value: &Value, out: &mut Vec<u8>) -> Result<(), CodecError> {
    match (of, value) {
        (WireType::Quantity, Value::Null) => put_bytes(out, 1, b"0"),
        (WireType::IntOrString, Value::Null) => put_int_or_string(0, 0, "", out),
        (_, Value::Null) => {}
        (WireType::String, Value::String(text)) => out.extend_from_slice(text.as_bytes()),
        (WireType::Bytes, Value::String(text)) => out.extend(
            BASE64
                .decode(text)
                .map_err(|error| CodecError::new(format!("not base64: {error}")))?,
        ),
        (WireType::Quantity, Value::String(text)) => put_bytes(out, 1, quantity(text)?.as_bytes()),
        (WireType::Quantity, Value::Number(number)) => {
            put_bytes(out, 1, quantity(&number.to_string())?.as_bytes());
        }
        (WireType::Time | WireType::MicroTime, Value::String(text)) => put_time(of, text, out)?,
        (WireType::IntOrString, Value::String(text)) => put_int_or_string(IS_STRING, 0, text, out),
        (WireType::IntOrString, Value::Number(_)) => {
            put_int_or_string(0, varint(WireType::Int32, value)?, "", out);
        }
        (WireType::Raw, value) => put_bytes(out, 1, value.to_string().as_bytes()),
        (WireType::Strings, Value::Array(items)) => {
            for item in items {
                let text = item.as_str().ok_or_else(|| mismatch("String", item))?;
                put_bytes(out, 1, text.as_bytes());
            }
        }
        _ => return Err(mismatch(&format!("{of:?}"), value)),
    }
    Ok(())
}

fn put_time(of: WireType, text: &str, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let time: Timestamp = text.parse().map_err(|_| {
        CodecError::new(format!(
            "{text:?} is not a time; write it as in 2006-01-02T15:04:05Z"
        ))
    })?;
    let nanos = time.as_nanosecond();
    // The conversions cannot overflow: a Timestamp has at most 12 digits of seconds.
    let (seconds, nanos) = (
        nanos.div_euclid(1_000_000_000) as i64,
        nanos.rem_euclid(1_000_000_000),
    );
    if seconds == NO_TIME {
        return Ok(());
    }
    let nanos = match of {
        WireType::MicroTime => nanos / 1000 * 1000,
        _ => 0,
    };
    put_number(out, 1, seconds as u64);
    put_number(out, 2, nanos as u64);
    Ok(())
}

fn put_int_or_string(kind: u64, int: u64, string: &str, out: &mut Vec<u8>) {
    put_number(out, 1, kind);
    put_number(out, 2, int);
    put_bytes(out, 3, string.as_bytes());
}

pub(super) fn mismatch(wanted: &str, value: &Value) -> CodecError {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    CodecError::new(format!("expected {wanted}, found {found}"))
}
