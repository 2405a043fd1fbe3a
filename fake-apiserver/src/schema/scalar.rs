//! Scalars that are validated and converted to canonical form: quantities, times, bytes, integers.

use crate::machinery::go;
use crate::machinery::quantity::{Quantity, QuantityError};
use base64::Engine;
use jiff::Timestamp;
use serde_json::Value;

pub(super) fn is_int32(number: Option<i64>) -> bool {
    number.is_some_and(|n| i32::try_from(n).is_ok())
}

pub(super) fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let parsed: Quantity = text.parse().map_err(|error: QuantityError| error.to_string())?;
    *value = parsed.to_string().into();
    Ok(())
}

/// A time layout: Go's layout, for error messages, and the equivalent strftime format.
pub(super) type Layout = (&'static str, &'static str);

pub(super) const TIME_LAYOUT: Layout = ("2006-01-02T15:04:05Z07:00", "%Y-%m-%dT%H:%M:%SZ");

pub(super) const MICRO_TIME_LAYOUT: Layout = ("2006-01-02T15:04:05.000000Z07:00", "%Y-%m-%dT%H:%M:%S.%6fZ");

/// Converts a time to canonical form.
pub(super) fn time(text: &str, (layout, format): Layout) -> Result<String, String> {
    let refuse = |rest: &str, wanted: &str| {
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {wanted:?}"
        ))
    };
    let Ok(parsed) = text.parse::<Timestamp>() else {
        if let Some((_, rest)) = text
            .split_once('Z')
            .filter(|(before, _)| format!("{before}Z").parse::<Timestamp>().is_ok())
        {
            return Err(format!("parsing time {text:?}: extra text: {rest:?}"));
        }
        let (rest, wanted) = unreadable(text);
        return refuse(rest, wanted);
    };
    // If the layout has a fraction, Go requires exactly that many digits.
    if format == MICRO_TIME_LAYOUT.1 {
        let rest = text.get(19..).unwrap_or_default();
        let digits = rest
            .strip_prefix('.')
            .unwrap_or_default()
            .chars()
            .take_while(char::is_ascii_digit);
        if digits.count() != 6 {
            return refuse(rest, ".000000");
        }
    }
    Ok(parsed.strftime(format).to_string())
}

pub(super) fn bytes(text: &str) -> Result<(), String> {
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    decoded.map(drop).map_err(|error| go::base64_error(text, &error))
}

/// The position at which Go's parser rejects a time: the remaining input and the expected layout element; by default the whole input.
fn unreadable(text: &str) -> (&str, &'static str) {
    let mut rest = text;
    for wanted in ["2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05"] {
        let is_number = wanted.starts_with(|c: char| c.is_ascii_digit());
        let Some((found, left)) = rest.split_at_checked(wanted.len()) else {
            return (rest, wanted);
        };
        let fits = match is_number {
            true => found.bytes().all(|byte| byte.is_ascii_digit()),
            false => found == wanted,
        };
        if !fits {
            return (rest, wanted);
        }
        rest = left;
    }
    (text, "2006")
}
