//! How long a request may take: the `timeout` parameter, in the durations of Go.
//!
//! Owns the grammar and its complaints. Does not know what is done about a request that takes too long.

use crate::machinery::status::Status;
use std::time::Duration;

/// Units and their nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The longest duration is 2^63 nanoseconds, and only before the present.
const MOST: u64 = 1 << 63;

/// The time that a request has: its `timeout` parameter, but no more than `most`.
pub(super) fn allotted(text: &str, most: Duration) -> Result<Duration, Status> {
    if text.is_empty() {
        return Ok(most);
    }
    let asked = parse(text).map_err(|why| {
        Status::bad_request(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    Ok(asked.filter(|asked| !asked.is_zero()).unwrap_or(most).min(most))
}

/// Reads a duration; none where it is before the present (`time.ParseDuration`).
fn parse(text: &str) -> Result<Option<Duration>, String> {
    let invalid = || format!("time: invalid duration {}", quoted(text));
    let negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Ok(Some(Duration::ZERO));
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let whole = digits(&mut rest);
        let fraction = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                digits(&mut rest)
            }
            None => "",
        };
        if whole.is_empty() && fraction.is_empty() {
            return Err(invalid());
        }
        let end = rest.find(|c: char| c == '.' || c.is_ascii_digit());
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        if name.is_empty() {
            return Err(format!("time: missing unit in duration {}", quoted(text)));
        }
        let Some((_, unit)) = UNITS.iter().find(|(known, _)| *known == name) else {
            let (unit, text) = (quoted(name), quoted(text));
            return Err(format!("time: unknown unit {unit} in duration {text}"));
        };
        let part = nanoseconds(whole, fraction, *unit).ok_or_else(invalid)?;
        total = total
            .checked_add(part)
            .filter(|total| *total <= MOST)
            .ok_or_else(invalid)?;
        rest = after;
    }
    if negative {
        return Ok(None);
    }
    if total == MOST {
        return Err(invalid());
    }
    Ok(Some(Duration::from_nanos(total)))
}

/// Takes the digits that a text begins with.
fn digits<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits
}

/// A number of units; none where there are too many.
fn nanoseconds(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // Digits of the fraction beyond the nineteenth are worth less than any nanosecond.
    let fraction = &fraction[..fraction.len().min(19)];
    let share = match fraction.parse::<u64>() {
        Ok(digits) => u128::from(digits) * u128::from(unit) / 10_u128.pow(fraction.len() as u32),
        Err(_) => 0,
    };
    whole.checked_mul(unit)?.checked_add(u64::try_from(share).ok()?)
}

/// A text as Go's `time` quotes it: byte by byte.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' | 0x7f => out.push(char::from(byte)),
            _ => out.push_str(&format!("\\x{byte:02x}")),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn durations_are_those_of_go() {
        for (text, milliseconds) in [
            ("", 60_000),
            ("0", 60_000),
            ("0s", 60_000),
            ("-1s", 60_000),
            ("-9223372036854775808ns", 60_000),
            ("1.5s", 1_500),
            ("+.5s", 500),
            ("1.s", 1_000),
            ("3\u{b5}s5s", 5_000),
            ("1h30m", 60_000),
            ("9223372036854775807ns", 60_000),
            ("0.0000000000000000000000009h5ms", 5),
        ] {
            let found = allotted(text, MINUTE).expect(text);
            assert_eq!(found.as_millis(), milliseconds, "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_told_in_the_words_of_go() {
        for (text, why) in [
            ("abc", r#"time: invalid duration "abc""#),
            ("-", r#"time: invalid duration "-""#),
            (".", r#"time: invalid duration ".""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1s2", r#"time: missing unit in duration "1s2""#),
            ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
            ("\"\u{e9}\u{1}", r#"time: invalid duration "\"\xc3\xa9\x01""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
            ("99999999999999h", r#"time: invalid duration "99999999999999h""#),
        ] {
            let refused = allotted(text, MINUTE).expect_err(text);
            assert_eq!(
                refused.message,
                format!("invalid timeout specified in the request URL - {why}")
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_is_allotted_more_than_there_is(text in "[-+]?([0-9.]{0,25}(ns|us|\u{b5}s|ms|s|m|h|\\PC)){0,3}") {
            if let Ok(time) = allotted(&text, MINUTE) {
                prop_assert!(time <= MINUTE && !time.is_zero());
            }
        }
    }
}
