//! Durations in Go's notation: `1h30m`, `1.5s`.
//!
//! Owns the grammar and its errors.

use std::time::Duration;

/// Units of Go durations, in nanoseconds.
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

/// Largest magnitude of a Go duration (int64 nanoseconds). Only negative durations can have this magnitude.
const MOST: u64 = 1 << 63;

/// Parses a duration like Go's `time.ParseDuration`; `None` if the duration is negative. Errors have Go's message.
pub fn parse(text: &str) -> Result<Option<Duration>, String> {
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

/// Splits the leading digits off `rest`.
fn digits<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits
}

/// Converts a number of duration units to nanoseconds; `None` on overflow.
fn nanoseconds(whole: &str, fraction: &str, unit: u64) -> Option<u64> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // In any unit, digits after the nineteenth decimal place are worth less than a nanosecond.
    let fraction = &fraction[..fraction.len().min(19)];
    let share = match fraction.parse::<u64>() {
        Ok(digits) => u128::from(digits) * u128::from(unit) / 10_u128.pow(fraction.len() as u32),
        Err(_) => 0,
    };
    whole.checked_mul(unit)?.checked_add(u64::try_from(share).ok()?)
}

/// A text quoted byte by byte, like Go's `time` package.
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
