//! Numbers of pods, or so many of a hundred (`IntOrString`).

use crate::machinery::faults::Faults;
use serde_json::Value;

/// Judges what is no number or percentage, and a number below zero.
pub(super) fn legal(share: &Value, field: &str, faults: &mut Faults) {
    match share {
        Value::Number(_) => faults.not_negative(field, share),
        Value::String(text) if percent(text).is_none() => {
            let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', \
                regex used for validation is '[0-9]+%')";
            faults.invalid(field, text.as_str(), why);
        }
        _ => {}
    }
}

/// Judges a percentage of more than all.
pub(super) fn at_most_all(share: &Value, field: &str, faults: &mut Faults) {
    let percent = share.as_str().and_then(percent);
    if percent.is_some_and(|percent| percent > 100) {
        faults.invalid(field, share.clone(), "must not be greater than 100%");
    }
}

/// Whether it is a number or percentage of nothing, which a text is, too, that is neither.
pub(super) fn is_none(share: &Value) -> bool {
    match share {
        Value::String(text) => percent(text).unwrap_or_else(|| text.parse().unwrap_or_default()) == 0,
        share => share.as_i64().unwrap_or_default() == 0,
    }
}

/// The number before the sign; one that is too large counts as the largest.
fn percent(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(i64::MAX))
}
