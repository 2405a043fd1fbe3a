//! Kubernetes resource quantities as the scheduler reads them: parsing, exact comparison, and whole bytes.
//!
//! Deliberately not here: formatting back to the canonical form, and arithmetic between quantities. Nobody in this
//! crate writes a quantity.

use std::str::FromStr;

/// One unit holds this many nano-units, the finest step that Kubernetes keeps.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Longer texts are refused: the longest sensible quantity has some thirty characters.
const LENGTH_MAX: usize = 128;
/// Moving the decimal point further than this changes nothing: the value is saturated or below one nano-unit.
const SHIFT_MAX: i64 = 200;
/// Up to this many digits Kubernetes holds a decimal as an int64 with a power of ten, beyond it as a big decimal.
const FAST_DIGITS_MAX: usize = 18;

/// How a quantity becomes a number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// The exact value, rounded away from zero.
    #[default]
    Exact,
    /// The number that `Quantity.Value()` of Kubernetes 1.36 gives and int64 calculations with it, overflows included:
    /// a limit of `100E` is 0 bytes, and utilisation wraps above some 81.9Pi.
    Wrapping,
    /// The number that `Quantity.Value()` gives from 1.37 on: capped at the ends of int64, so that `100E` and `10E` are
    /// the same. Calculations with it still overflow.
    Saturating,
}

/// A parsed quantity. Values finer than a nano-unit are rounded away from zero, as Kubernetes does when it parses, and
/// values beyond 10^29 units are held at that bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantity {
    nanos: i128,
    wrapped: i64,
}

/// Why a text is no quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("quantity {text:?} is malformed: write digits with an optional suffix such as 5Gi, 1500m or 1e9")]
pub struct QuantityError {
    text: String,
}

impl Quantity {
    /// The value in bytes (for storage quantities), fractions rounded away from zero.
    pub fn bytes(self, arithmetic: Arithmetic) -> i128 {
        match arithmetic {
            Arithmetic::Exact => round_away(self.nanos),
            Arithmetic::Wrapping => self.wrapped.into(),
            Arithmetic::Saturating => round_away(self.nanos).clamp(i64::MIN.into(), i64::MAX.into()),
        }
    }

    /// The exact value in nano-units. Static volumes are matched on this, without rounding to bytes.
    pub fn nanos(self) -> i128 {
        self.nanos
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| QuantityError {
            text: text.chars().take(LENGTH_MAX).collect(),
        })
    }
}

/// Bytes for people: with the largest binary suffix that loses nothing, such as `10Gi`, and plain otherwise.
pub fn human(bytes: i128) -> String {
    let suffixes = SUFFIXES.iter().rev();
    let exact = suffixes.filter_map(|(suffix, multiplier)| match multiplier {
        Multiplier::Two(exponent) if bytes != 0 && bytes % (1 << exponent) == 0 => {
            Some(format!("{}{suffix}", bytes >> exponent))
        }
        _ => None,
    });
    exact.into_iter().next().unwrap_or_else(|| bytes.to_string())
}

/// What a suffix multiplies by.
#[derive(Clone, Copy, PartialEq)]
enum Multiplier {
    /// Ten to this power.
    Ten(i64),
    /// Two to this power.
    Two(u32),
}

/// Every suffix of the quantity grammar but the decimal exponent.
const SUFFIXES: [(&str, Multiplier); 16] = [
    ("", Multiplier::Ten(0)),
    ("n", Multiplier::Ten(-9)),
    ("u", Multiplier::Ten(-6)),
    ("m", Multiplier::Ten(-3)),
    ("k", Multiplier::Ten(3)),
    ("M", Multiplier::Ten(6)),
    ("G", Multiplier::Ten(9)),
    ("T", Multiplier::Ten(12)),
    ("P", Multiplier::Ten(15)),
    ("E", Multiplier::Ten(18)),
    ("Ki", Multiplier::Two(10)),
    ("Mi", Multiplier::Two(20)),
    ("Gi", Multiplier::Two(30)),
    ("Ti", Multiplier::Two(40)),
    ("Pi", Multiplier::Two(50)),
    ("Ei", Multiplier::Two(60)),
];

fn parse(text: &str) -> Option<Quantity> {
    if text.len() > LENGTH_MAX {
        return None;
    }
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let end = rest
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(rest.len());
    let (number, suffix) = rest.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') || whole.len() + fraction.len() == 0 {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    Some(match multiplier(suffix)? {
        Multiplier::Ten(exponent) => decimal(negative, whole, fraction, exponent),
        Multiplier::Two(exponent) => binary(negative, whole, fraction, exponent),
    })
}

fn multiplier(suffix: &str) -> Option<Multiplier> {
    if let Some((_, found)) = SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Some(*found);
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    exponent.parse().ok().map(Multiplier::Ten)
}

fn decimal(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Quantity {
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let (whole_digits, fraction_digits) = move_point(&digits, whole.len(), exponent);
    let nanos = signed(negative, scale(&whole_digits, &fraction_digits, NANOS_PER_UNIT));
    // Kubernetes counts the stand-in zero of an empty whole part as a digit too.
    let fast = whole.len().max(1) + fraction.len() <= FAST_DIGITS_MAX
        && exponent.saturating_sub(fraction.len() as i64) >= -9;
    let wrapped = if fast {
        i64::try_from(round_away(nanos)).unwrap_or(0)
    } else {
        low_bits(negative, &whole_digits, &fraction_digits)
    };
    Quantity { nanos, wrapped }
}

/// Binary suffixes are capped at the largest int64 while they are parsed, so `100Ei` *is* 2^63-1.
fn binary(negative: bool, whole: &str, fraction: &str, exponent: u32) -> Quantity {
    let factor = NANOS_PER_UNIT << exponent;
    let cap = i128::from(i64::MAX) * NANOS_PER_UNIT;
    let magnitude = scale(whole.as_bytes(), fraction.as_bytes(), factor).min(cap);
    let nanos = signed(negative, magnitude);
    // The cap makes the conversion fit.
    let wrapped = i64::try_from(round_away(nanos)).unwrap_or(i64::MAX);
    Quantity { nanos, wrapped }
}

/// Splits the digits at the decimal point after moving it `exponent` places to the right.
fn move_point(digits: &[u8], point: usize, exponent: i64) -> (Vec<u8>, Vec<u8>) {
    let point = point as i64 + exponent.clamp(-SHIFT_MAX, SHIFT_MAX);
    let missing_in_front = usize::try_from(-point).unwrap_or(0);
    let missing_behind = usize::try_from(point - digits.len() as i64).unwrap_or(0);
    let mut all = vec![b'0'; missing_in_front];
    all.extend_from_slice(digits);
    all.resize(all.len() + missing_behind, b'0');
    let fraction = all.split_off(usize::try_from(point).unwrap_or(0));
    (all, fraction)
}

/// `whole.fraction × factor`, rounded up, saturating.
fn scale(whole: &[u8], fraction: &[u8], factor: i128) -> i128 {
    let whole_part = whole.iter().fold(0_i128, |sum, digit| {
        sum.saturating_mul(10).saturating_add(value_of(*digit))
    });
    // From the last digit forwards the partial sums stay below `factor`; remainders only matter for rounding.
    let (fraction_part, inexact) = fraction.iter().rev().fold((0, false), |(sum, inexact), digit| {
        let scaled = value_of(*digit) * factor + sum;
        (scaled / 10, inexact || scaled % 10 != 0)
    });
    whole_part
        .saturating_mul(factor)
        .saturating_add(fraction_part)
        .saturating_add(inexact.into())
}

/// The low 64 bits of a big decimal, which is what Kubernetes keeps of one. Its smallest int64 comes out as 0.
fn low_bits(negative: bool, whole: &[u8], fraction: &[u8]) -> i64 {
    let rounded_up = fraction.iter().any(|digit| *digit != b'0');
    let magnitude = whole.iter().fold(0_u64, |sum, digit| {
        sum.wrapping_mul(10).wrapping_add((digit - b'0').into())
    });
    let magnitude = magnitude.wrapping_add(rounded_up.into()).cast_signed();
    match (negative, magnitude) {
        (true, i64::MIN) => 0,
        (true, magnitude) => magnitude.wrapping_neg(),
        (false, magnitude) => magnitude,
    }
}

fn value_of(digit: u8) -> i128 {
    (digit - b'0').into()
}

fn signed(negative: bool, magnitude: i128) -> i128 {
    if negative { -magnitude } else { magnitude }
}

fn round_away(nanos: i128) -> i128 {
    let whole = nanos / NANOS_PER_UNIT;
    whole + (nanos % NANOS_PER_UNIT).signum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    /// Numbers that Kubernetes 1.36 gave for `Value()`.
    #[test]
    fn wrapping_values_are_those_of_kubernetes() {
        let max = i64::MAX;
        for (text, expected) in [
            ("1m", 1),
            ("999m", 1),
            ("1n", 1),
            ("0.1", 1),
            ("5e-1", 1),
            ("1001m", 2),
            ("1500m", 2),
            ("-1m", -1),
            ("-1500m", -2),
            ("1.1Ki", 1127),
            ("0.5Ki", 512),
            ("1.5Gi", 1_610_612_736),
            ("1e3", 1000),
            ("1E3", 1000),
            ("0", 0),
            ("9999999999999999999Ki", max),
            ("8Ei", max),
            ("100Ei", max),
            ("8796093022208Mi", max),
            ("7Ei", 8_070_450_532_247_928_832),
            ("9.2E", 9_200_000_000_000_000_000),
            ("9223P", 9_223_000_000_000_000_000),
            ("9.3E", 0),
            ("9224P", 0),
            ("10E", 0),
            ("100E", 0),
            ("1e19", 0),
            ("1e20", 0),
            ("9223372036854775807", max),
            ("9223372036854775808", i64::MIN),
            ("12345678901234567890", -6_101_065_172_474_983_726),
            ("18446744073709551616", 0),
            ("18446744073709551617", 1),
            ("-9223372036854775808", 0),
        ] {
            assert_eq!(read(text).bytes(Arithmetic::Wrapping), expected.into(), "{text}");
        }
    }

    #[test]
    fn exact_values_do_not_overflow() {
        for (text, expected) in [
            ("100E", 100_000_000_000_000_000_000),
            ("9223372036854775808", 9_223_372_036_854_775_808),
            ("-9223372036854775808", -9_223_372_036_854_775_808),
            ("1e19", 10_000_000_000_000_000_000),
            ("8Ei", i64::MAX.into()),
            ("1024100m", 1025),
            ("1e-30", 1),
            (".5", 1),
            ("5.", 5),
            ("+7k", 7000),
        ] {
            assert_eq!(read(text).bytes(Arithmetic::Exact), expected, "{text}");
        }
        assert!(read("1e90").bytes(Arithmetic::Exact) > i64::MAX.into());
    }

    #[test]
    fn people_see_the_largest_suffix_that_loses_nothing() {
        for (bytes, expected) in [
            (10 << 30, "10Gi"),
            (1536 << 20, "1536Mi"),
            (1000, "1000"),
            (0, "0"),
            (-(1 << 20), "-1Mi"),
            ((10 << 30) + 1, "10737418241"),
        ] {
            assert_eq!(human(bytes), expected);
        }
    }

    #[test]
    fn malformed_texts_are_refused() {
        let long = "1".repeat(LENGTH_MAX + 1);
        for text in [
            "", ".", "+", "Gi", "1.2.3", "1gi", "1 Gi", "1e", "1e1.5", "0x1", "1é", &long,
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn whole_numbers_are_themselves(value in any::<i64>()) {
            let quantity = read(&value.to_string());
            prop_assert_eq!(quantity.bytes(Arithmetic::Exact), value.into());
        }

        #[test]
        fn both_arithmetics_agree_below_the_overflow(value in 0_i64..1 << 40, milli in 0_u16..1000, binary in any::<bool>()) {
            let text = format!("{value}.{milli:03}{}", if binary { "Ki" } else { "k" });
            let quantity = read(&text);
            prop_assert_eq!(quantity.bytes(Arithmetic::Exact), quantity.bytes(Arithmetic::Wrapping));
        }

        #[test]
        fn rounding_goes_away_from_zero(milli in any::<i32>()) {
            let quantity = read(&format!("{milli}m"));
            let exact = f64::from(milli) / 1000.0;
            let expected = if exact < 0.0 { exact.floor() } else { exact.ceil() };
            prop_assert_eq!(quantity.bytes(Arithmetic::Exact), expected as i128);
        }

        #[test]
        fn spelling_does_not_change_the_value(value in 1_u32.., zeros in 0_usize..5) {
            let spelled = format!("{}{value}.{}", "0".repeat(zeros), "0".repeat(zeros));
            prop_assert_eq!(read(&spelled).nanos(), read(&value.to_string()).nanos());
            prop_assert_eq!(read(&format!("{value}Ki")).nanos(), read(&(u64::from(value) * 1024).to_string()).nanos());
            prop_assert_eq!(read(&format!("{value}k")).nanos(), read(&format!("{value}e3")).nanos());
        }

        #[test]
        fn no_text_panics(text in "[-+]?[0-9.]{0,40}[eEinumkKMGTP]{0,2}[-+]?[0-9]{0,20}") {
            let _ = text.parse::<Quantity>().map(|quantity| quantity.bytes(Arithmetic::Wrapping));
        }
    }
}
