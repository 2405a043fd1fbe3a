//! What a call costs at least and at most by the sizes of its arguments, and how large what it returns is.
//!
//! Like `functions::cost`, but for sizes that are not known.

use super::functions::tenth;
use super::span::Span;
use super::types::CelType;
use super::weights::{
    CHARACTER, CHECK, COMPARISON, COMPARISON_OF_TEXTS, LIST_MADE, PATTERN, SELECTOR, SELECTOR_TERM,
    SELECTOR_TERMS,
};
use cel::common::ast::{Expr, IdedExpr, LiteralValue};

/// A string is taken to be matched by a pattern of so many characters where its format is not known.
const FORMAT_PATTERN: f64 = 128.0;
/// The longest name of a format.
const FORMAT_NAME: u64 = 64;

/// An argument of a call, or what a method is called on.
pub(super) struct Argument<'a> {
    pub(super) expression: &'a IdedExpr,
    /// The library that has made it, by the name of the type.
    pub(super) library: Option<&'static str>,
    /// How large it is, as far as that is known.
    pub(super) computed: Option<Span>,
    /// Of a value that has parts: whether they are texts or bytes, and how large they are, as far as that is known.
    pub(super) items: Option<(bool, Option<Span>)>,
}

impl Argument<'_> {
    pub(super) fn computed_or_unknown(&self) -> Span {
        self.computed.unwrap_or(Span::UNKNOWN)
    }

    fn literal(&self) -> Option<u64> {
        match &self.expression.expr {
            Expr::Literal(LiteralValue::Int(value)) => {
                Some(u64::try_from(*value.inner()).unwrap_or_default())
            }
            _ => None,
        }
    }
}

/// What a call costs, apart from its arguments, and how large what it returns is where that is known.
pub(super) struct CallEstimate {
    pub(super) cost: Span,
    pub(super) size: Option<Span>,
}

impl CallEstimate {
    pub(super) fn of(cost: Span) -> Self {
        Self { cost, size: None }
    }

    pub(super) fn sized(self, size: Span) -> Self {
        Self {
            size: Some(size),
            ..self
        }
    }

    fn one() -> Self {
        Self::of(Span::exactly(1))
    }

    /// A list that a function makes.
    fn made(size: Span, factor: f64) -> Self {
        Self::of(size.scaled(factor) + Span::exactly(LIST_MADE)).sized(size)
    }
}

/// Estimates a call; `types` are what this way to call the function takes.
pub(super) fn estimate_call(
    name: &str,
    types: &[CelType<'static>],
    target: Option<&Argument<'_>>,
    args: &[Argument<'_>],
) -> CallEstimate {
    if let Some(target) = target {
        return method(name, types, target, args).unwrap_or_else(CallEstimate::one);
    }
    function(name, types, args).unwrap_or_else(CallEstimate::one)
}

fn tenths(size: Span) -> CallEstimate {
    CallEstimate::of(size.scaled(CHARACTER))
}

/// What it costs to match a text with a pattern.
fn matching(text: Span, pattern: Span) -> Span {
    (text + Span::exactly(1)).scaled(CHARACTER) * pattern.scaled(PATTERN)
}

fn method(
    name: &str,
    types: &[CelType<'static>],
    target: &Argument<'_>,
    args: &[Argument<'_>],
) -> Option<CallEstimate> {
    let size = target.computed_or_unknown();
    let argument = |at: usize| args.get(at).map_or(Span::UNKNOWN, Argument::computed_or_unknown);
    Some(match name {
        "check" => CallEstimate::of(Span::exactly(CHECK)),
        "fieldSelector" | "labelSelector" => {
            let size = argument(0);
            let entries = size.scaled(SELECTOR_TERMS).scaled(SELECTOR_TERM);
            CallEstimate::of(Span::exactly(SELECTOR) + size.scaled(CHARACTER) + entries)
        }
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" => match target.items {
            Some((is_text, items)) => {
                let items = items.unwrap_or(Span::UNKNOWN).scaled(CHARACTER);
                let each = if is_text { items } else { Span::NOTHING };
                CallEstimate::of(size * (Span::exactly(1) + each))
            }
            None => tenths(size),
        },
        "lowerAscii" | "upperAscii" | "substring" | "trim" => tenths(size).sized(size),
        "replace" => {
            CallEstimate::of(size.scaled(2.0 * CHARACTER)).sized(replaced(size, argument(0), argument(1)))
        }
        "split" => {
            let most = args.get(1).and_then(Argument::literal).unwrap_or(size.max);
            CallEstimate::of(size.scaled(2.0 * CHARACTER)).sized(Span::up_to(most))
        }
        "join" => {
            let each = target.items.map(|(_, items)| items.unwrap_or(Span::UNKNOWN));
            let mut joined = each.map_or(Span::NOTHING, |each| size * each);
            if let Some(by) = args.first() {
                let between = Span {
                    min: size.min.saturating_sub(1),
                    max: size.max.saturating_sub(1),
                };
                joined = joined + by.computed_or_unknown() * between;
            }
            tenths(joined).sized(joined)
        }
        "find" | "findAll" => CallEstimate::of(matching(size, argument(0))).sized(Span::up_to(size.max)),
        "matches" => CallEstimate::of(matching(size, argument(0))),
        "containsIP" | "containsCIDR" => {
            let address = Span { min: 4, max: 16 };
            let mut cost = (address + address).scaled(CHARACTER);
            if name == "containsCIDR" {
                cost = cost + address.scaled(CHARACTER) + Span::exactly(1);
            }
            if let Some(CelType::Text) = types.get(1) {
                cost = cost + argument(0).scaled(CHARACTER);
            }
            CallEstimate::of(cost)
        }
        "validate" => CallEstimate::of(argument(0).scaled(CHARACTER).scaled(FORMAT_PATTERN * PATTERN)),
        "format" => tenths(size),
        "startsWith" | "endsWith" => tenths(argument(0)),
        "contains" => CallEstimate::of(size.scaled(CHARACTER) * argument(0).scaled(CHARACTER)),
        "slice" => {
            let from = args.first().and_then(Argument::literal).unwrap_or_default();
            let to = args.get(1).and_then(Argument::literal).unwrap_or(size.max);
            CallEstimate::made(Span::exactly(to.wrapping_sub(from)), 1.0)
        }
        "reverse" => CallEstimate::made(size, 1.0),
        "flatten" => {
            let depth = match args.first() {
                Some(depth) => depth.literal().unwrap_or(u64::MAX),
                None => 1,
            };
            CallEstimate::made(size, depth as f64)
        }
        "distinct" => CallEstimate::made(size * size, COMPARISON),
        "sort" => CallEstimate::made(size * size, comparison(types.first())),
        "@sortByAssociatedKeys" => {
            let keys = argument(0);
            CallEstimate::made(keys * keys, comparison(types.get(1)))
        }
        _ => return None,
    })
}

/// What it costs to compare two entries of a list.
fn comparison(list: Option<&CelType<'_>>) -> f64 {
    match list {
        Some(CelType::List(item)) if matches!(**item, CelType::Text | CelType::Bytes) => COMPARISON_OF_TEXTS,
        _ => COMPARISON,
    }
}

/// How large a text is in which another was replaced: with as many replacements as there can be at most, or at least.
fn replaced(text: Span, old: Span, new: Span) -> Span {
    let (most, kept_most) = match old.min {
        0 => (text.max.saturating_add(1), text.max),
        shortest if new.max <= shortest => (0, text.max),
        shortest => (text.max.div_ceil(shortest), 0),
    };
    let (least, kept_least) = match old.max {
        0 => (text.min.saturating_add(1), text.min),
        longest if longest <= new.min => (0, text.min),
        longest => (text.min.div_ceil(longest), 0),
    };
    let count = Span {
        min: least,
        max: most,
    };
    let kept = Span {
        min: kept_least,
        max: kept_most,
    };
    count * new + kept
}

fn function(name: &str, types: &[CelType<'static>], args: &[Argument<'_>]) -> Option<CallEstimate> {
    let size = |at: usize| args.get(at).map_or(Span::UNKNOWN, Argument::computed_or_unknown);
    let takes_text = matches!(types.first(), Some(CelType::Text));
    Some(match name {
        "sets.contains" | "sets.intersects" => {
            CallEstimate::of((size(0) * size(1)).scaled(1.0) + Span::exactly(1))
        }
        "sets.equivalent" => CallEstimate::of((size(0) * size(1)).scaled(2.0) + Span::exactly(1)),
        "url" | "jsonpatch.escapeKey" => tenths(size(0)).sized(size(0)),
        "cidr" | "ip" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            tenths(size(0))
        }
        "ip.isCanonical" => CallEstimate::of(size(0).scaled(2.0 * CHARACTER)),
        "lists.range" => {
            let count = args.first().and_then(Argument::literal).unwrap_or(u64::MAX);
            CallEstimate::made(Span::exactly(count), 1.0)
        }
        "bytes" if takes_text => tenths(size(0)).sized(Span {
            min: size(0).min,
            max: size(0).max.wrapping_mul(4),
        }),
        "string" if matches!(types.first(), Some(CelType::Bytes)) => tenths(size(0)).sized(Span {
            min: size(0).min / 4,
            max: size(0).max,
        }),
        "strings.quote" => tenths(size(0)).sized(Span {
            min: size(0).min.wrapping_add(2),
            max: size(0).max.wrapping_mul(2).wrapping_add(2),
        }),
        "@in" if matches!(types.get(1), Some(CelType::List(_))) => CallEstimate::of(size(1).scaled(1.0)),
        "_+_" => match types.first() {
            Some(CelType::List(_)) => CallEstimate::one().sized(size(0) + size(1)),
            Some(CelType::Text | CelType::Bytes) => tenths(size(0) + size(1)).sized(size(0) + size(1)),
            _ => return None,
        },
        "_==_" => of_same_library(args).unwrap_or_else(|| compared(size(0), size(1))),
        "_!=_" => compared(size(0), size(1)),
        "_<_" | "_<=_" | "_>_" | "_>=_" => match types.first() {
            Some(CelType::Text | CelType::Bytes) => compared(size(0), size(1)),
            _ => return None,
        },
        _ => return None,
    })
}

/// The shorter of two values is gone through.
fn compared(one: Span, other: Span) -> CallEstimate {
    let max = one.max.min(other.max);
    CallEstimate::of(Span {
        min: tenth(max.min(1)),
        max: tenth(max),
    })
}

/// What it costs to compare two values that a library has made.
fn of_same_library(args: &[Argument<'_>]) -> Option<CallEstimate> {
    let [one, other] = args else { return None };
    let name = one.library.filter(|_| one.library == other.library)?;
    Some(match name {
        "kubernetes.NamedFormat" => CallEstimate::of(
            Span {
                min: 1,
                max: FORMAT_NAME,
            }
            .scaled(CHARACTER),
        ),
        "kubernetes.URL" => {
            let size = other.computed.map_or(1, |size| size.max);
            CallEstimate::of(Span { min: 1, max: size }.scaled(CHARACTER))
        }
        _ => CallEstimate::one(),
    })
}
