//! What calls cost.
//!
//! What goes through a text costs a tenth for each character, what goes through a list one for each entry, and what matches
//! a pattern a quarter for each character of the pattern besides.

use super::Call;
use crate::rules::failure::Failure;
use crate::rules::span::scaled;
use crate::rules::value::Val;
use crate::rules::weights::{
    CHARACTER, CHECK, COMPARISON, COMPARISON_OF_TEXTS, LIST_MADE, PATTERN, SELECTOR, SELECTOR_TERM,
    SELECTOR_TERMS,
};

/// What it costs to go through so many characters.
pub(in crate::rules) fn tenth(size: u64) -> u64 {
    scaled(size, CHARACTER)
}

/// What it costs to read a selector of that size.
fn selector(size: u64) -> u64 {
    SELECTOR + tenth(size) + scaled(scaled(size, SELECTOR_TERMS), SELECTOR_TERM)
}

/// What it costs to match a text with a pattern.
fn matching(text: u64, pattern: u64) -> u64 {
    tenth(text + 1).saturating_mul(scaled(pattern, PATTERN))
}

/// What a call costs; none if that depends on what it returns.
pub(in crate::rules) fn cost(call: &Call<'_>, args: &[Val<'_>]) -> Option<u64> {
    let size = |at: usize| args.get(at).map_or(1, size_of);
    let is_text = |at: usize| matches!(args.get(at), Some(Val::Text(_)));
    let is_textual = |at: usize| matches!(args.get(at), Some(Val::Text(_) | Val::Bytes(_)));
    Some(match (call.space, call.name) {
        ("sets", name) => {
            let product = size(0).saturating_mul(size(1));
            1 + if name == "equivalent" {
                product * 2
            } else {
                product
            }
        }
        ("lists", _) => return None,
        ("strings" | "jsonpatch", _) => tenth(size(0)),
        ("ip", _) => scaled(size(0), 2.0 * CHARACTER),
        ("", "check") => CHECK,
        ("", "fieldSelector" | "labelSelector") => selector(size(1)),
        ("", "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf") => {
            args.first().map_or(0, traversal)
        }
        ("", "url" | "lowerAscii" | "upperAscii" | "substring" | "trim") => tenth(size(0)),
        ("", "replace" | "split") => scaled(size(0), 2.0 * CHARACTER),
        ("", "join" | "slice" | "reverse") => return None,
        ("", "find" | "findAll") => matching(size(0), size(1)),
        ("", "matches") if call.is_method => matching(size(0), size(1)),
        ("", "cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver") => {
            tenth(size(0))
        }
        ("", "ip") if is_text(0) => tenth(size(0)),
        ("", "containsIP" | "containsCIDR") => {
            let masked = match call.name {
                "containsCIDR" => tenth(size(0)) + 1,
                _ => 0,
            };
            let read = if is_text(1) { tenth(size(1)) } else { 0 };
            scaled(size(0), 2.0 * CHARACTER) + masked + read
        }
        ("", "validate") => match args.first() {
            Some(Val::Format(format)) => matching(size(1), format.pattern_size),
            _ => 1,
        },
        ("", "flatten") => {
            let depth = match args.get(1) {
                Some(Val::Int(depth)) => u64::try_from(*depth).unwrap_or_default(),
                _ => 1,
            };
            LIST_MADE + size(0).saturating_mul(depth)
        }
        ("", "distinct" | "sort") => LIST_MADE + args.first().map_or(0, comparison),
        ("", "@sortByAssociatedKeys") => LIST_MADE + args.get(1).map_or(0, comparison),
        ("", "_==_") if args.first().is_some_and(Val::is_of_library) => 1,
        ("", "_==_" | "_!=_") => tenth(inner_size(args.first()).min(inner_size(args.get(1)))),
        ("", "_<_" | "_<=_" | "_>_" | "_>=_") if is_textual(0) || is_textual(1) => {
            tenth(size(0).min(size(1)))
        }
        ("", "_+_") if is_textual(0) || is_textual(1) => tenth(size(0).saturating_add(size(1))),
        ("", "@in") if !matches!(args.get(1), Some(Val::Map(_) | Val::Members(..))) => size(1),
        ("", "contains") => tenth(size(0)).saturating_mul(tenth(size(1))),
        ("", "startsWith" | "endsWith" | "format") => tenth(size(0)),
        ("", "bytes") if is_text(0) => tenth(size(0)),
        ("", "string") if matches!(args.first(), Some(Val::Bytes(_))) => tenth(size(0)),
        _ => 1,
    })
}

/// What a call costs that returned this.
pub(in crate::rules) fn cost_of_result(call: &Call<'_>, result: &Result<Val<'_>, Failure>) -> u64 {
    let size = result.as_ref().map_or(1, size_of);
    match call.name {
        "join" => scaled(size, 2.0 * CHARACTER),
        _ => LIST_MADE + size,
    }
}

/// How large a value counts; what has no size counts as one.
fn size_of(value: &Val<'_>) -> u64 {
    value.size().map_or(1, |size| size as u64)
}

/// The same, of what is in it where it may be missing.
fn inner_size(value: Option<&Val<'_>>) -> u64 {
    match value {
        Some(Val::Optional(Some(value))) => inner_size(Some(value)),
        Some(value) => size_of(value),
        None => 1,
    }
}

/// What it costs to see all of a value.
fn traversal(value: &Val<'_>) -> u64 {
    match value {
        Val::Text(text) => text.len() as u64 / 10,
        Val::Bytes(bytes) => bytes.len() as u64 / 10,
        Val::Map(_) | Val::Members(..) => {
            let entries = value.entries().into_iter();
            entries
                .map(|(key, value)| traversal(&key) + traversal(&value))
                .sum()
        }
        other => match other.items() {
            Some(items) => items.iter().map(traversal).sum(),
            None => 1,
        },
    }
}

/// What it costs to compare each entry of a list with each other.
fn comparison(list: &Val<'_>) -> u64 {
    let size = size_of(list);
    let first = list.at(&Val::Int(0));
    let factor = match first {
        Some(Val::Text(_) | Val::Bytes(_)) => COMPARISON_OF_TEXTS,
        _ => COMPARISON,
    };
    (size.saturating_mul(size) as f64 * factor) as u64
}
