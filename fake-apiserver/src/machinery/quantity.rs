//! Resource quantities: parsing, canonical form and comparison as in `apimachinery/pkg/api/resource`.
//!
//! Owns the arithmetic, on a 128-bit mantissa with a decimal exponent. Numbers of more than 38 significant digits are rejected, although
//! kube-apiserver accepts them. Does not know which fields are quantities.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// A fixed-point number with its notation.
///
/// Equality and order are numeric: `1024Mi` equals `1Gi`.
#[derive(Clone, Debug)]
pub struct Quantity {
    /// The number is `mantissa * 10^exponent`.
    mantissa: i128,
    exponent: i32,
    notation: Notation,
    /// Whether Kubernetes represents the number as `inf.Dec` (arbitrary precision) instead of as an int64 with a scale. On overflow, the
    /// result of `value` depends on this representation.
    big: bool,
    /// The original text, if Kubernetes returns that text unchanged because it considers the text canonical.
    verbatim: Option<Box<str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    DecimalExponent,
    BinarySi,
    DecimalSi,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number with a suffix.
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    /// The digits cannot be parsed as a number.
    #[error("unable to parse numeric part of quantity")]
    Numeric,
    /// The text after the number is no known suffix.
    #[error("unable to parse quantity's suffix")]
    Suffix,
    /// The number has more digits than this implementation supports.
    #[error("quantity has more than 38 digits, which this server does not support; use a shorter number")]
    TooLong,
}

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

/// Binary suffixes in steps of 2^10.
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Maximum number of decimal digits that Kubernetes parses as an int64 instead of with arbitrary precision.
const INT64_DIGITS: i32 = 18;

/// The smallest unit: nano.
const NANO: i32 = -9;

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = Parts::split(text)?;
        let (base, power, notation) = suffix(parts.suffix).ok_or(QuantityError::Suffix)?;
        if parts.lacks_digits_and_suffix() {
            return Err(QuantityError::Numeric);
        }
        match parts.parse_int64(text, base, power, notation)? {
            Some(quantity) => Ok(quantity),
            None => parts.parse_arbitrary_precision(base, power, notation),
        }
    }
}

impl Quantity {
    /// A quantity with an integer value, formatted with decimal suffixes.
    pub fn from_integer(value: i64) -> Self {
        Self {
            mantissa: value.into(),
            exponent: 0,
            notation: Notation::DecimalSi,
            big: false,
            verbatim: None,
        }
    }

    /// The value rounded away from zero to an integer, like `Quantity.Value()` of Kubernetes 1.36. On overflow of int64, returns the low 64
    /// bits if Kubernetes represents the number with arbitrary precision, otherwise 0.
    pub fn value(&self) -> i64 {
        let whole = round_to_integer(self.mantissa, self.exponent);
        match whole {
            Some(number) if i64::try_from(number).is_ok_and(|n| n != i64::MIN) => number as i64,
            Some(number) if self.big && number != i128::from(i64::MIN) => low_bits(number),
            _ => 0,
        }
    }

    /// The value rounded away from zero to an integer. Returns `i128::MAX` on overflow.
    pub fn ceil(&self) -> i128 {
        round_to_integer(self.mantissa, self.exponent).unwrap_or(i128::MAX)
    }

    /// Whether the quantity is 0, in any notation.
    pub fn is_zero(&self) -> bool {
        self.mantissa == 0
    }

    /// Whether the quantity is less than 0.
    pub fn is_negative(&self) -> bool {
        self.mantissa < 0
    }

    /// The sum, in the notation of this quantity or, if this quantity is zero, in the notation of the other. Saturates at `i128::MAX`.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let aligned = |number: &Self| {
            let factor = ten_to(number.exponent.abs_diff(exponent));
            factor.and_then(|factor| number.mantissa.checked_mul(factor))
        };
        let sum = aligned(self).zip(aligned(other));
        let sum = sum.and_then(|(one, other)| one.checked_add(other));
        Self {
            mantissa: sum.unwrap_or(i128::MAX),
            exponent: if sum.is_some() { exponent } else { 0 },
            notation: if self.is_zero() {
                other.notation
            } else {
                self.notation
            },
            big: self.big || other.big,
            verbatim: None,
        }
    }

    pub(crate) fn negated(&self) -> Self {
        Self {
            mantissa: -self.mantissa,
            verbatim: None,
            ..self.clone()
        }
    }

    /// The value rounded away from zero to an integer, in the notation of this quantity.
    pub fn rounded(&self) -> Self {
        match self.exponent {
            0.. => self.clone(),
            _ => Self {
                mantissa: self.ceil(),
                exponent: 0,
                verbatim: None,
                ..self.clone()
            },
        }
    }

    /// The quotient of this quantity and `other`.
    pub fn divide_to_float(&self, other: &Self) -> f64 {
        let float = |number: &Self| number.mantissa as f64 * 10_f64.powi(number.exponent);
        float(self) / float(other)
    }

    /// The mantissa without factors of ten, with an exponent that is a multiple of three.
    fn decimal_parts(&self) -> (i128, i32) {
        let (mut mantissa, mut exponent) = (self.mantissa, self.exponent);
        while mantissa != 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        while exponent.rem_euclid(3) != 0 {
            mantissa = mantissa.saturating_mul(10);
            exponent -= 1;
        }
        (mantissa, exponent)
    }

    /// The value as an integer, if it is formatted with binary suffixes: in binary notation, integral, and at least 1024.
    fn binary_integer(&self) -> Option<i128> {
        let small = Self::from_integer(1024);
        let magnitude = Self {
            mantissa: self.mantissa.abs(),
            verbatim: None,
            ..*self
        };
        let exact = self.exponent >= 0 || self.mantissa % ten_to(self.exponent.unsigned_abs())? == 0;
        if self.notation == Notation::BinarySi && magnitude >= small && exact {
            round_to_integer(self.mantissa, self.exponent)
        } else {
            None
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(text) = &self.verbatim {
            return f.write_str(text);
        }
        if self.is_zero() {
            return f.write_str("0");
        }
        if let Some(mut number) = self.binary_integer() {
            let mut step = 0;
            while step < BINARY.len() && number % 1024 == 0 {
                number /= 1024;
                step += 1;
            }
            let suffix = if step == 0 { "" } else { BINARY[step - 1] };
            return write!(f, "{number}{suffix}");
        }
        let (mantissa, exponent) = self.decimal_parts();
        match DECIMAL.iter().find(|(_, e)| *e == exponent) {
            Some((suffix, _)) if self.notation != Notation::DecimalExponent => {
                write!(f, "{mantissa}{suffix}")
            }
            _ if exponent == 0 => write!(f, "{mantissa}"),
            _ => write!(f, "{mantissa}e{exponent}"),
        }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        let signs = self.mantissa.signum().cmp(&other.mantissa.signum());
        if signs != Ordering::Equal || self.mantissa == 0 {
            return signs;
        }
        let (small, large) = if self.exponent <= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        let up = large.exponent.abs_diff(small.exponent);
        // If aligning the exponents overflows, the number with the larger exponent also has the larger magnitude, because the other number
        // fits into the mantissa.
        let order = match ten_to(up).and_then(|factor| large.mantissa.checked_mul(factor)) {
            Some(aligned) => aligned.cmp(&small.mantissa),
            None => large.mantissa.cmp(&0),
        };
        if self.exponent <= other.exponent {
            order.reverse()
        } else {
            order
        }
    }
}

/// The text of a quantity, split into sign, digits, fraction and suffix.
struct Parts<'a> {
    negative: bool,
    /// Digits before the decimal point, without leading zeros.
    whole: &'a str,
    /// Digits after the decimal point.
    fraction: &'a str,
    suffix: &'a str,
    /// Whether the quantity text has no digits.
    bare: bool,
}

impl<'a> Parts<'a> {
    fn split(text: &'a str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Format);
        }
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(unsigned.len());
        let (whole, rest) = unsigned.split_at(end);
        let (fraction, suffix) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())),
            None => ("", rest),
        };
        let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
        let digits = letters.strip_prefix(['-', '+']).unwrap_or(letters);
        if !digits.chars().all(|c| c.is_ascii_digit()) {
            return Err(QuantityError::Format);
        }
        Ok(Self {
            negative: text.starts_with('-'),
            whole: whole.trim_start_matches('0'),
            fraction,
            suffix,
            bare: whole.is_empty() && fraction.is_empty(),
        })
    }

    fn digits(&self) -> String {
        format!("{}{}", self.whole, self.fraction)
    }

    /// Whether the quantity text has neither digits nor suffix, as in `.` or `+`.
    fn lacks_digits_and_suffix(&self) -> bool {
        self.bare && self.suffix.is_empty()
    }

    /// Parses the text to an int64 with a scale, like Kubernetes; `None` if Kubernetes parses the text with arbitrary precision.
    fn parse_int64(
        &self,
        text: &str,
        base: u32,
        power: i32,
        notation: Notation,
    ) -> Result<Option<Quantity>, QuantityError> {
        let whole = if self.whole.is_empty() { "0" } else { self.whole };
        let digits = (whole.len() + self.fraction.len()) as i32;
        let (factor, scale, room) = if base == 10 {
            (1, power, INT64_DIGITS - digits)
        } else if self.fraction.is_empty() {
            // A factor of 2^10 adds about three decimal digits.
            (1_i64 << power, 0, 15 - whole.len() as i32 - power * 3 / 10 - 1)
        } else {
            (1, 0, -1)
        };
        let scale = scale - self.fraction.len() as i32;
        if room < 0 || scale < NANO {
            return Ok(None);
        }
        let shifted = format!("{whole}{}", self.fraction);
        let number: i64 = shifted.parse().map_err(|_| QuantityError::Numeric)?;
        let Some(product) = number.checked_mul(factor) else {
            return Ok(None);
        };
        let looks_canonical = if base == 2 {
            power % 10 == 0 && number & 7 != 0
        } else {
            scale % 3 == 0 && !shifted.ends_with("000") && !shifted.starts_with('0')
        };
        Ok(Some(Quantity {
            mantissa: i128::from(if self.negative { -product } else { product }),
            exponent: scale,
            notation,
            big: false,
            verbatim: looks_canonical.then(|| text.into()),
        }))
    }

    /// Parses the text as Kubernetes does with arbitrary precision, but limited to 128 bits.
    fn parse_arbitrary_precision(
        &self,
        base: u32,
        power: i32,
        notation: Notation,
    ) -> Result<Quantity, QuantityError> {
        if self.bare {
            return Err(QuantityError::Numeric);
        }
        let digits = self.digits();
        let digits = digits.trim_start_matches('0');
        let mut mantissa: i128 = match digits {
            "" => 0,
            digits => digits.parse().map_err(|_| QuantityError::TooLong)?,
        };
        let mut exponent = -(self.fraction.len() as i32);
        if base == 10 {
            exponent = exponent.checked_add(power).ok_or(QuantityError::Suffix)?;
        } else {
            // Saturation does not change the result: a number with a binary suffix is capped at `i64::MAX` below.
            mantissa = mantissa.saturating_mul(1 << power);
        }
        (mantissa, exponent) = at_least_nano(mantissa, exponent);
        let mut notation = notation;
        let mut quantity = Quantity {
            mantissa,
            exponent,
            notation,
            big: true,
            verbatim: None,
        };
        if notation == Notation::BinarySi {
            if quantity > Quantity::from_integer(i64::MAX) {
                (quantity.mantissa, quantity.exponent) = (i64::MAX.into(), 0);
            }
            if quantity < Quantity::from_integer(1) && !quantity.is_zero() {
                notation = Notation::DecimalSi;
            }
        }
        quantity.notation = notation;
        quantity.mantissa = if self.negative {
            -quantity.mantissa
        } else {
            quantity.mantissa
        };
        Ok(quantity)
    }
}

/// Base, exponent and notation of a quantity suffix.
fn suffix(text: &str) -> Option<(u32, i32, Notation)> {
    if let Some(step) = BINARY.iter().position(|s| *s == text) {
        return Some((2, 10 * (step as i32 + 1), Notation::BinarySi));
    }
    if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == text) {
        return Some((10, *exponent, Notation::DecimalSi));
    }
    let exponent = text.strip_prefix(['e', 'E'])?;
    Some((10, exponent.parse().ok()?, Notation::DecimalExponent))
}

/// Rounds a number away from zero to whole nanos (10^-9).
fn at_least_nano(mantissa: i128, exponent: i32) -> (i128, i32) {
    if exponent >= NANO {
        return (mantissa, exponent);
    }
    let rounded = match ten_to(exponent.abs_diff(NANO)) {
        Some(divisor) => divide_away(mantissa, divisor),
        None => mantissa.signum(),
    };
    (rounded, NANO)
}

/// `mantissa * 10^exponent` rounded away from zero to an integer; `None` on overflow.
fn round_to_integer(mantissa: i128, exponent: i32) -> Option<i128> {
    if mantissa == 0 {
        return Some(0);
    }
    match (exponent >= 0, ten_to(exponent.unsigned_abs())) {
        (true, factor) => mantissa.checked_mul(factor?),
        (false, Some(divisor)) => Some(divide_away(mantissa, divisor)),
        (false, None) => Some(mantissa.signum()),
    }
}

fn divide_away(number: i128, divisor: i128) -> i128 {
    let quotient = number / divisor;
    if number % divisor == 0 {
        quotient
    } else {
        quotient + number.signum()
    }
}

fn ten_to(power: u32) -> Option<i128> {
    10_i128.checked_pow(power)
}

/// The low 64 bits as a signed number, like `big.Int.Int64` in Go.
fn low_bits(number: i128) -> i64 {
    number as i64
}
