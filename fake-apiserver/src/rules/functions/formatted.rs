//! Texts with values in the places of `%s`, `%d` and their like.

use super::convert::shown;
use crate::rules::failure::Failure;
use crate::rules::types::CelType;
use crate::rules::value::Val;

/// Digits after the point, where none are asked for.
const PRECISION: usize = 6;
/// Texts that stand for numbers.
const NUMBERS: [&str; 3] = ["NaN", "Infinity", "-Infinity"];

/// A part of a text.
enum Piece<'t> {
    Text(&'t str),
    /// The precision and the letter of a place.
    Place(usize, char),
}

/// The parts of a text, up to the first that cannot be read; why it cannot be.
fn pieces(text: &str) -> (Vec<Piece<'_>>, Option<String>) {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('%') {
        found.push(Piece::Text(before));
        if let Some(after) = after.strip_prefix('%') {
            found.push(Piece::Text("%"));
            rest = after;
            continue;
        }
        match clause(after) {
            Ok((precision, letter, after)) => {
                found.push(Piece::Place(precision, letter));
                rest = after;
            }
            Err(why) => return (found, Some(why)),
        }
    }
    found.push(Piece::Text(rest));
    (found, None)
}

fn missing(at: usize) -> String {
    format!("index {at} out of range")
}

/// Puts values into a text.
pub(super) fn format<'a>(text: &str, values: &[Val<'a>]) -> Result<Val<'a>, Failure> {
    let mut out = String::with_capacity(text.len());
    let mut placed = 0;
    let (pieces, fault) = pieces(text);
    for piece in pieces {
        let (precision, letter) = match piece {
            Piece::Text(text) => {
                out.push_str(text);
                continue;
            }
            Piece::Place(precision, letter) => (precision, letter),
        };
        let value = values.get(placed).ok_or_else(|| Failure::new(missing(placed)))?;
        let unfit = || Failure::new(complaint(letter, value.type_name()));
        out.push_str(&put(letter, precision, value).ok_or_else(unfit)?);
        placed += 1;
    }
    match fault {
        None => Ok(Val::text(out)),
        Some(_) if placed == values.len() => Err(Failure::new(missing(placed))),
        Some(why) => Err(Failure::new(why)),
    }
}

/// What is wrong with a text and what is put into it, by the types and by the texts that are written out, and with which
/// of them.
pub(in crate::rules) fn unfit(
    text: &str,
    values: &[(&CelType<'_>, Option<&str>)],
) -> Option<(Option<usize>, String)> {
    let mut placed = 0;
    let (pieces, fault) = pieces(text);
    for piece in pieces {
        let Piece::Place(_, letter) = piece else { continue };
        let Some((of, written)) = values.get(placed) else {
            return Some((None, missing(placed)));
        };
        let is_number = "fe".contains(letter) && written.is_some_and(|text| NUMBERS.contains(&text));
        if !is_number && !is_fit(letter, of) {
            return Some((Some(placed), complaint(letter, &of.to_string())));
        }
        placed += 1;
    }
    let why = fault?;
    match placed == values.len() {
        true => Some((None, missing(placed))),
        false => Some((None, why)),
    }
}

/// Whether a value of that type can be put in a place.
fn is_fit(letter: char, of: &CelType<'_>) -> bool {
    match (letter, of) {
        (_, CelType::Dyn | CelType::Error) => true,
        ('s', CelType::Optional(_) | CelType::Library(_)) => false,
        ('s', of) => !of.is_struct(),
        ('d' | 'o', CelType::Int | CelType::Uint) => true,
        ('f' | 'e', CelType::Double) => true,
        ('b', CelType::Int | CelType::Uint | CelType::Bool) => true,
        ('x' | 'X', CelType::Int | CelType::Uint | CelType::Text | CelType::Bytes) => true,
        _ => false,
    }
}

/// The precision, the letter, and what follows.
fn clause(text: &str) -> Result<(usize, char, &str), String> {
    let failed = |why: &str| format!("could not parse formatting clause: {why}");
    if text.is_empty() {
        return Err("unexpected end of string".to_owned());
    }
    let (precision, rest) = match text.strip_prefix('.') {
        None => (PRECISION, text),
        Some(digits) => {
            const WHY: &str = "error while parsing precision: could not find end of precision specifier";
            let end = digits
                .find(|c: char| !c.is_ascii_digit())
                .ok_or_else(|| failed(WHY))?;
            let (digits, rest) = digits.split_at(end);
            let precision = digits.parse().map_err(|_| {
                let why = format!("strconv.Atoi: parsing {digits:?}: invalid syntax");
                failed(&format!(
                    "error while parsing precision: error while converting precision to integer: {why}"
                ))
            });
            (precision?, rest)
        }
    };
    let mut letters = rest.chars();
    match letters.next() {
        Some(letter) if "sdfebxXo".contains(letter) => Ok((precision, letter, letters.as_str())),
        letter => {
            let letter = letter.unwrap_or_default();
            Err(failed(&format!("unrecognized formatting clause \"{letter}\"")))
        }
    }
}

fn put(letter: char, precision: usize, value: &Val<'_>) -> Option<String> {
    match (letter, value) {
        ('s', value) => text_of(value),
        ('d', Val::Int(_) | Val::Uint(_)) => shown(value),
        ('f', value) => number(value).map(|number| fixed(number, precision)),
        ('e', value) => number(value).map(scientific),
        ('b', Val::Int(value)) => Some(signed(*value, |value| format!("{value:b}"))),
        ('b', Val::Uint(value)) => Some(format!("{value:b}")),
        ('b', Val::Bool(value)) => Some(u8::from(*value).to_string()),
        ('o', Val::Int(value)) => Some(signed(*value, |value| format!("{value:o}"))),
        ('o', Val::Uint(value)) => Some(format!("{value:o}")),
        ('x', value) => hexadecimal(value),
        ('X', value) => hexadecimal(value).map(|text| text.to_uppercase()),
        _ => None,
    }
}

/// What is said where a value of that type cannot be put.
fn complaint(letter: char, of: &str) -> String {
    let wanted = match letter {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and \
             timestamps"
        }
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'o' => "octal clause can only be used on integers",
        _ => "only integers, byte buffers, and strings can be formatted as hex",
    };
    format!("error during formatting: {wanted}, was given {of}")
}

fn number(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        Val::Text(text) if NUMBERS.contains(&&**text) => text.parse().ok(),
        _ => None,
    }
}

fn signed(value: i64, digits: impl Fn(u64) -> String) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{}", digits(value.unsigned_abs()))
}

fn hexadecimal(value: &Val<'_>) -> Option<String> {
    let of = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match value {
        Val::Int(value) => Some(signed(*value, |value| format!("{value:x}"))),
        Val::Uint(value) => Some(format!("{value:x}")),
        Val::Text(text) => Some(of(text.as_bytes())),
        Val::Bytes(bytes) => Some(of(bytes)),
        _ => None,
    }
}

/// What no digits stand for.
fn endless(number: f64) -> Option<&'static str> {
    match number {
        _ if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

/// With commas between groups of three digits.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(text) = endless(number) {
        return text.to_owned();
    }
    let text = format!("{:.precision$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut out = String::from(if number.is_sign_negative() { "-" } else { "" });
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    match fraction.is_empty() {
        true => out,
        false => format!("{out}.{fraction}"),
    }
}

/// With a power of ten of at least two digits. The precision does not matter there.
fn scientific(number: f64) -> String {
    if let Some(text) = endless(number) {
        return format!("{text:>PRECISION$}");
    }
    let text = format!("{number:.PRECISION$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(("", power), |power| ("⁻", power));
    let raised: String = format!("{power:0>2}").chars().map(raised).collect();
    format!("{digits}×10{sign}{raised}")
}

fn raised(digit: char) -> char {
    let digits = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or(digit, |at| digits[at as usize])
}

fn text_of(value: &Val<'_>) -> Option<String> {
    match value {
        Val::Null => Some("null".to_owned()),
        Val::List(..) | Val::Items(..) => {
            let items = value.items()?;
            let items: Option<Vec<String>> = items.iter().map(literal).collect();
            Some(format!("[{}]", items?.join(", ")))
        }
        Val::Map(_) | Val::Members(..) => {
            let entries = value.entries().into_iter();
            let entries: Option<Vec<String>> = entries
                .map(|(key, value)| Some(format!("{}:{}", literal(&key)?, literal(&value)?)))
                .collect();
            let mut entries = entries?;
            entries.sort_unstable();
            Some(format!("{{{}}}", entries.join(", ")))
        }
        Val::Ip(_) | Val::Cidr(_) => None,
        other => shown(other),
    }
}

/// A value as an expression could have it.
fn literal(value: &Val<'_>) -> Option<String> {
    let text = match value {
        Val::Double(value) => return Some(format!("{value:.PRECISION$}")),
        other => text_of(other)?,
    };
    Some(match value {
        Val::Text(_) => format!("{text:?}"),
        Val::Bytes(_) => format!("b{text:?}"),
        Val::Time(_) => format!("timestamp({text:?})"),
        Val::Duration(_) => format!("duration({text:?})"),
        _ => text,
    })
}
