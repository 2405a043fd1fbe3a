//! Kubernetes quantities, as far as a publisher needs them: writing bytes, and comparing by value. Rejects nothing on behalf of the API
//! server.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// Values are held in billionths, the finest step that a quantity has.
const NANO: i128 = 1_000_000_000;

/// Powers of 1024 by suffix.
const BINARY: [(&str, u32); 6] = [("Ki", 1), ("Mi", 2), ("Gi", 3), ("Ti", 4), ("Pi", 5), ("Ei", 6)];

/// Powers of ten by suffix.
const DECIMAL: [(&str, i32); 10] = [
    ("n", -9),
    ("u", -6),
    ("m", -3),
    ("", 0),
    ("k", 3),
    ("M", 6),
    ("G", 9),
    ("T", 12),
    ("P", 15),
    ("E", 18),
];

/// Bytes in the canonical binary form: the largest power of 1024 that leaves no rest; below 1024 the decimal form.
pub(crate) fn from_bytes(bytes: u64) -> Quantity {
    if bytes == 1000 {
        return Quantity("1k".to_owned());
    }
    let power = (bytes.trailing_zeros() / 10).min(6);
    let suffix = BINARY
        .iter()
        .find(|(_, of)| *of == power)
        .map_or("", |(suffix, _)| suffix);
    match bytes {
        0 => Quantity("0".to_owned()),
        _ => Quantity(format!("{}{suffix}", bytes >> (10 * power))),
    }
}

/// Whether a published quantity says exactly so many bytes; text that is no quantity says nothing.
pub(crate) fn equals_bytes(quantity: &Quantity, bytes: u64) -> bool {
    nano(&quantity.0) == i128::from(bytes).checked_mul(NANO)
}

/// Whole bytes of a positive quantity, rounded up as Kubernetes does; `None` if it is negative, no quantity, or beyond 2^63-1.
pub(crate) fn to_bytes(quantity: &Quantity) -> Option<i64> {
    let nano = nano(&quantity.0).filter(|nano| *nano >= 0)?;
    i64::try_from(u128::try_from(nano).ok()?.div_ceil(NANO.unsigned_abs())).ok()
}

/// The exact value in billionths; finer digits round away from zero.
fn nano(text: &str) -> Option<i128> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(digits.len());
    let (number, suffix) = digits.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let fraction = fraction.trim_end_matches('0');
    if (whole.is_empty() && fraction.is_empty() && number != "0") && !number.contains('0')
        || fraction.contains('.')
    {
        return None;
    }
    let mantissa: i128 = match [whole, fraction].concat().as_str() {
        "" => 0,
        digits => digits.parse().ok()?,
    };
    let value = scaled(mantissa, i32::try_from(fraction.len()).ok()?, suffix)?;
    Some(if negative { -value } else { value })
}

/// `mantissa / 10^places`, times the suffix, in billionths.
fn scaled(mantissa: i128, places: i32, suffix: &str) -> Option<i128> {
    let binary = BINARY
        .iter()
        .find(|(known, _)| *known == suffix)
        .map(|(_, power)| *power);
    let exponent = match binary {
        Some(_) => 0,
        None => decimal_exponent(suffix)?,
    };
    let shifted = mantissa.checked_mul(1024_i128.checked_pow(binary.unwrap_or(0))?)?;
    let power = exponent.checked_add(9)?.checked_sub(places)?;
    if power >= 0 {
        return shifted.checked_mul(10_i128.checked_pow(power.unsigned_abs())?);
    }
    let divisor = u128::try_from(10_i128.checked_pow(power.unsigned_abs())?).ok()?;
    i128::try_from(u128::try_from(shifted).ok()?.div_ceil(divisor)).ok()
}

fn decimal_exponent(suffix: &str) -> Option<i32> {
    let known = DECIMAL
        .iter()
        .find(|(known, _)| *known == suffix)
        .map(|(_, exponent)| *exponent);
    known.or_else(|| suffix.strip_prefix(['e', 'E'])?.parse().ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn quantity(text: &str) -> Quantity {
        Quantity(text.to_owned())
    }

    #[test]
    fn bytes_are_written_like_upstream_sends_them() {
        for (bytes, text) in [
            (0, "0"),
            (1, "1"),
            (999, "999"),
            (1000, "1k"),
            (1023, "1023"),
            (1024, "1Ki"),
            (1025, "1025"),
            (1500, "1500"),
            (2000, "2000"),
            (2048, "2Ki"),
            (4_096_000, "4000Ki"),
            (1_000_000, "1000000"),
            (1_500_000_000, "1500000000"),
            (1_610_612_736, "1536Mi"),
            (1 << 30, "1Gi"),
            (100 << 30, "100Gi"),
            (1 << 40, "1Ti"),
            (1 << 50, "1Pi"),
            (i64::MAX as u64, "9223372036854775807"),
        ] {
            assert_eq!(from_bytes(bytes).0, text);
        }
    }

    #[test]
    fn values_are_compared_by_number() {
        for (text, bytes) in [
            ("1.5Gi", 1_610_612_736),
            ("1536Mi", 1_610_612_736),
            ("1500M", 1_500_000_000),
            ("1.5e9", 1_500_000_000),
            ("15E8", 1_500_000_000),
            ("+2k", 2000),
            ("0.0", 0),
            (".5k", 500),
            ("1E", 1_000_000_000_000_000_000),
            ("1000m", 1),
        ] {
            assert!(equals_bytes(&quantity(text), bytes), "{text}");
        }
        for (text, bytes) in [
            ("1500m", 1),
            ("1500m", 2),
            ("1Gi", 1_000_000_000),
            ("-1", 1),
            ("", 0),
            (".", 0),
            ("x", 0),
        ] {
            assert!(!equals_bytes(&quantity(text), bytes), "{text}");
        }
    }

    #[test]
    fn requests_round_up_to_whole_bytes() {
        for (text, bytes) in [
            ("7Gi", Some(7 << 30)),
            ("1500m", Some(2)),
            ("1n", Some(1)),
            ("0.0000000001", Some(1)),
            ("-1", None),
            ("16Ei", None),
            ("1.1.1", None),
            ("9223372036854775807", Some(i64::MAX)),
        ] {
            assert_eq!(to_bytes(&quantity(text)), bytes, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(bytes: u64) {
            prop_assert!(equals_bytes(&from_bytes(bytes), bytes));
        }

        #[test]
        fn one_byte_more_is_different(bytes in 0..u64::MAX) {
            prop_assert!(!equals_bytes(&from_bytes(bytes), bytes + 1));
        }

        #[test]
        fn no_text_panics(text in "[-+]?[0-9.]{0,50}[a-zA-Z]{0,3}[-0-9]{0,5}") {
            to_bytes(&quantity(&text));
        }
    }
}
