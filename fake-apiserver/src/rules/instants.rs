//! Points in time and durations, as texts write them.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// A point in time, or the begin of a day.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    let day = || {
        let day: Date = text.parse().ok()?;
        let day = day.to_zoned(TimeZone::UTC).ok()?;
        Some(day.timestamp())
    };
    text.parse().ok().or_else(day)
}

/// A duration as Go writes it: `1h30m`, `-1.5s`.
pub(super) fn duration(text: &str) -> Option<SignedDuration> {
    const UNITS: [(&str, f64); 8] = [
        ("ns", 1e-9),
        ("us", 1e-6),
        ("µs", 1e-6),
        ("μs", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
    ];
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(SignedDuration::ZERO);
    }
    let mut seconds = 0.0;
    while !rest.is_empty() || seconds == 0.0 {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let unit = rest
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .unwrap_or(rest.len());
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == &rest[..unit])?;
        seconds += amount * factor;
        rest = &rest[unit..];
        if rest.is_empty() {
            break;
        }
    }
    SignedDuration::try_from_secs_f64(sign * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_those_of_go() {
        for (text, seconds) in [("1h30m", 5400.0), ("-1.5s", -1.5), ("0", 0.0), ("250ms", 0.25)] {
            assert_eq!(
                duration(text).map(|value| value.as_secs_f64()),
                Some(seconds),
                "{text}"
            );
        }
        for text in ["", "1", "h", "1x", "1h 2m"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }
}
