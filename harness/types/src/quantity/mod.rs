//! Kubernetes resource quantities (`resource.Quantity`): parsing, exact comparison, whole bytes, and text forms of byte sizes.
//!
//! Does not support arithmetic, and does not preserve the original notation of a quantity: programs of this project write byte sizes.

mod bytes;

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

pub use self::bytes::{format_bytes, format_canonical};

/// Nano-units per unit. A nano-unit is the smallest fraction in a Kubernetes quantity.
const NANOS_PER_UNIT: i128 = 1_000_000_000;
/// Maximum length of a quantity text in bytes; sensible quantities have at most about thirty characters.
const LENGTH_MAX: usize = 128;
/// Maximum shift of the decimal point by an exponent. Larger shifts saturate the value, or make it smaller than one nano-unit.
const SHIFT_MAX: i64 = 200;
/// Kubernetes parses a decimal with at most this number of digits into an int64 and a power of ten, and a longer one into a big decimal.
const FAST_DIGITS_MAX: usize = 18;

/// How Kubernetes code converts a quantity to bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteConversion {
    /// The exact value, rounded away from zero.
    #[default]
    Exact,
    /// The result of `Quantity.Value()` in Kubernetes 1.36 and of int64 calculations with it, including overflows: a limit of `100E` is 0
    /// bytes, and utilisation overflows above about 81.9Pi.
    Wrapping,
    /// The result of `Quantity.Value()` since 1.37: clamped to int64, so that `100E` and `10E` are equal. Calculations with the result
    /// still overflow.
    Saturating,
}

/// A parsed quantity. As in Kubernetes, fractions smaller than a nano-unit are rounded away from zero. Values beyond 10^29 units are
/// clamped to that bound.
///
/// Quantities are compared by value: `1024Mi` equals `1Gi`.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    wrapped: i64,
}

/// The text is not a valid Kubernetes quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("quantity {text:?} is malformed: write digits with an optional suffix such as 5Gi, 1500m or 1e9")]
pub struct QuantityError {
    text: String,
}

impl Quantity {
    /// The value of a storage quantity in bytes. Fractions are rounded away from zero.
    pub fn bytes(self, arithmetic: ByteConversion) -> i128 {
        match arithmetic {
            ByteConversion::Exact => round_to_units(self.nanos),
            ByteConversion::Wrapping => self.wrapped.into(),
            ByteConversion::Saturating => round_to_units(self.nanos).clamp(i64::MIN.into(), i64::MAX.into()),
        }
    }

    /// The exact value in nano-units, without rounding to bytes.
    pub fn nanos(self) -> i128 {
        self.nanos
    }

    /// Whether the quantity is exactly this number of bytes.
    pub fn equals_bytes(self, bytes: u64) -> bool {
        self.nanos == i128::from(bytes) * NANOS_PER_UNIT
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

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nanos.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// The factor by which the suffix of a quantity multiplies.
#[derive(Clone, Copy, PartialEq)]
enum Multiplier {
    /// A power of ten, given by its exponent.
    Ten(i64),
    /// A power of two, given by its exponent.
    Two(u32),
}

/// All suffixes of the quantity grammar, except decimal exponents.
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
        Multiplier::Ten(exponent) => parse_decimal(negative, whole, fraction, exponent),
        Multiplier::Two(exponent) => parse_binary(negative, whole, fraction, exponent),
    })
}

fn multiplier(suffix: &str) -> Option<Multiplier> {
    if let Some((_, found)) = SUFFIXES.iter().find(|(known, _)| *known == suffix) {
        return Some(*found);
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    exponent.parse().ok().map(Multiplier::Ten)
}

fn parse_decimal(negative: bool, whole: &str, fraction: &str, exponent: i64) -> Quantity {
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let (whole_digits, fraction_digits) = move_point(&digits, whole.len(), exponent);
    let nanos = with_sign(negative, scale(&whole_digits, &fraction_digits, NANOS_PER_UNIT));
    // Kubernetes counts the implied zero before a decimal point, as in `.5`, as a digit.
    let fast = whole.len().max(1) + fraction.len() <= FAST_DIGITS_MAX
        && exponent.saturating_sub(fraction.len() as i64) >= -9;
    let wrapped = if fast {
        i64::try_from(round_to_units(nanos)).unwrap_or(0)
    } else {
        low_bits(negative, &whole_digits, &fraction_digits)
    };
    Quantity { nanos, wrapped }
}

/// Parses a number with a binary suffix. Kubernetes clamps such numbers to the maximum int64 when parsing, so `100Ei` *is* 2^63-1.
fn parse_binary(negative: bool, whole: &str, fraction: &str, exponent: u32) -> Quantity {
    let factor = NANOS_PER_UNIT << exponent;
    let cap = i128::from(i64::MAX) * NANOS_PER_UNIT;
    let magnitude = scale(whole.as_bytes(), fraction.as_bytes(), factor).min(cap);
    let nanos = with_sign(negative, magnitude);
    // The conversion cannot fail, because `nanos` was clamped to the range of int64 bytes.
    let wrapped = i64::try_from(round_to_units(nanos)).unwrap_or(i64::MAX);
    Quantity { nanos, wrapped }
}

/// Splits the digits at the decimal point, after moving the point `exponent` digits to the right.
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

/// Computes the decimal `whole.fraction` times `factor`, rounded up and saturating. `whole` and `fraction` are ASCII digits.
fn scale(whole: &[u8], fraction: &[u8], factor: i128) -> i128 {
    let whole_part = whole.iter().fold(0_i128, |sum, digit| {
        sum.saturating_mul(10).saturating_add(value_of(*digit))
    });
    // Summing from the last digit keeps partial sums below `factor`. A remainder only affects the rounding.
    let (fraction_part, inexact) = fraction.iter().rev().fold((0, false), |(sum, inexact), digit| {
        let scaled = value_of(*digit) * factor + sum;
        (scaled / 10, inexact || scaled % 10 != 0)
    });
    whole_part
        .saturating_mul(factor)
        .saturating_add(fraction_part)
        .saturating_add(inexact.into())
}

/// The int64 to which Kubernetes truncates a big decimal: its low 64 bits. The minimum int64 becomes 0.
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

fn with_sign(negative: bool, magnitude: i128) -> i128 {
    if negative { -magnitude } else { magnitude }
}

fn round_to_units(nanos: i128) -> i128 {
    let whole = nanos / NANOS_PER_UNIT;
    whole + (nanos % NANOS_PER_UNIT).signum()
}

#[cfg(test)]
mod tests;
