//! Go's formatting of values and errors, for error messages.

use base64::DecodeError;
use serde_json::Value;
use std::num::{IntErrorKind, ParseIntError};

/// A JSON value as Go's `%v` prints maps.
pub(crate) fn format_map(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let parts: Vec<String> = members
                .iter()
                .map(|(k, v)| format!("{k}:{}", format_map(v)))
                .collect();
            format!("map[{}]", parts.join(" "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(format_map).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// The Go type into which a JSON value is decoded.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A string as Go's `encoding/json` writes it: HTML characters are escaped.
pub(crate) fn json_string(plain: &str) -> String {
    let json = Value::from(plain).to_string();
    [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")]
        .into_iter()
        .fold(json, |json, (sign, escaped)| json.replace(sign, escaped))
}

/// A text as quoted by Go's `%q`.
pub(crate) fn quoted(text: &str) -> String {
    quoted_bytes(text.as_bytes())
}

/// Bytes as quoted by Go's `%q`; invalid UTF-8 is escaped byte by byte.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() + 2);
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|c| quote(c, &mut out));
        for byte in chunk.invalid() {
            out.push_str(&format!("\\x{byte:02x}"));
        }
    }
    out.push('"');
    out
}

fn quote(c: char, out: &mut String) {
    match c {
        '"' | '\\' => out.extend(['\\', c]),
        '\x07' => out.push_str("\\a"),
        '\x08' => out.push_str("\\b"),
        '\x0b' => out.push_str("\\v"),
        '\x0c' => out.push_str("\\f"),
        '\n' | '\r' | '\t' => out.extend(c.escape_default()),
        c if is_print(c) => out.push(c),
        c if c.is_ascii() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
        c if u32::from(c) < 0x10000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
        c => out.push_str(&format!("\\U{:08x}", u32::from(c))),
    }
}

/// The JSON name of a Go struct field: the first letter is in lower case.
pub(crate) fn member_name(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}

/// Whether Go's `strconv.IsPrint` is true for a character.
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_graphic();
    }
    // `escape_debug` escapes a combining character at the start of a text, which Go does not; the leading `a` prevents that.
    format!("a{c}").escape_debug().nth(1) == Some(c)
}

/// Go's `strconv` error for an invalid or too large integer; `function` is `ParseInt` or `ParseUint`.
pub(crate) fn parse_int_error(function: &str, text: &str, error: &ParseIntError) -> String {
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {why}")
}

pub(crate) fn base64_error(text: &str, error: &DecodeError) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        // If the text ends with padding, more padding is missing at the end; otherwise the last group of four characters is incomplete.
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding if text.ends_with('=') => text.len(),
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}

pub(crate) fn cannot_unmarshal(found: &str, into: &str) -> String {
    format!("json: cannot unmarshal {found} into Go {into}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_go_does() {
        assert_eq!(quoted("a'b\"c\\ é"), r#""a'b\"c\\ é""#);
        assert_eq!(quoted("\0\x01\x07\t\n\x7f"), r#""\x00\x01\a\t\n\x7f""#);
        assert_eq!(quoted("\u{85}\u{200b}\u{e0001}"), r#""\u0085\u200b\U000e0001""#);
        assert_eq!(quoted_bytes(b"urn\xc3"), r#""urn\xc3""#);
    }
}
