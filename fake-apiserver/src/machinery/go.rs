//! How Go writes values and errors, where refusals show them.

use base64::DecodeError;
use serde_json::Value;
use std::num::{IntErrorKind, ParseIntError};

/// A value as Go prints maps.
pub(crate) fn map(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let parts: Vec<String> = members.iter().map(|(k, v)| format!("{k}:{}", map(v))).collect();
            format!("map[{}]", parts.join(" "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(map).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}

/// A string as the JSON of Go has it: safe within HTML.
pub(crate) fn json(plain: &str) -> String {
    let json = Value::from(plain).to_string();
    [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026")]
        .into_iter()
        .fold(json, |json, (sign, escaped)| json.replace(sign, escaped))
}

/// The name that a member of a struct has in JSON: with a small first letter.
pub(crate) fn member_name(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}

/// A number as Go writes it (`%g`): with an exponent where it is large or very small.
pub(crate) fn float(number: f64) -> String {
    let shown = format!("{number:e}");
    let (digits, power) = shown.split_once('e').unwrap_or((&shown, "0"));
    match power.parse::<i32>() {
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number.is_infinite() => if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned(),
        Ok(power) if !(-4..6).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.abs())
        }
        _ => number.to_string(),
    }
}

/// Whether Go counts a character as printable.
pub(crate) fn is_print(c: char) -> bool {
    c == ' ' || !(c.is_control() || c.is_whitespace() || ('\u{200b}'..='\u{200f}').contains(&c))
}

/// The error of `strconv` for a text that is no number of that size; `function` is `ParseInt` or `ParseUint`.
pub(crate) fn no_number(function: &str, text: &str, error: &ParseIntError) -> String {
    let why = match error.kind() {
        IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
        _ => "invalid syntax",
    };
    format!("strconv.{function}: parsing {text:?}: {why}")
}

/// The error of `encoding/base64` for a text that it cannot decode.
pub(crate) fn no_base64(text: &str, error: &DecodeError) -> String {
    let at = match error {
        DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => *at,
        // Where the padding has begun, it is what is missing; otherwise the last four characters are not complete.
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding if text.ends_with('=') => text.len(),
        DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => text.len() / 4 * 4,
    };
    format!("illegal base64 data at input byte {at}")
}

/// The error of `encoding/json` for a value that does not fit the Go value that it is decoded into.
pub(crate) fn cannot_unmarshal(found: &str, into: &str) -> String {
    format!("json: cannot unmarshal {found} into Go {into}")
}
