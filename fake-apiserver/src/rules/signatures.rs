//! Functions by name: which there are, what they return, and what a call costs at most.
//!
//! Owns what is known before anything is evaluated. Does not know what functions do.

use super::types::CelType;
use std::rc::Rc;

/// What a function returns.
#[derive(Clone, Copy)]
enum Returns {
    Bool,
    Int,
    Uint,
    Double,
    Bytes,
    Time,
    Duration,
    Type,
    Dyn,
    /// A text as long as the first argument, at most.
    Text,
    /// A text of unknown length: that of all arguments together.
    Joined,
    /// A list of texts, no more than the first argument has characters.
    Texts,
    /// What the first argument is.
    First,
    /// What an entry of the first argument is.
    Entry,
    /// The same, if it is there.
    MaybeEntry,
    /// What is in the first argument, which is optional.
    Inner,
    /// The first argument, if it is something.
    Maybe,
    /// What is asked of `authorizer` next.
    Permission,
}

const FUNCTIONS: [(Returns, &[&str]); 18] = [
    (
        Returns::Bool,
        &[
            "!_",
            "_==_",
            "_!=_",
            "_<_",
            "_<=_",
            "_>_",
            "_>=_",
            "_&&_",
            "_||_",
            "@in",
            "@not_strictly_false",
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "bool",
            "isSorted",
            "hasValue",
            "isQuantity",
            "isGreaterThan",
            "isLessThan",
            "isInteger",
            "isIP",
            "isLoopback",
            "isUnspecified",
            "isLinkLocalUnicast",
            "equivalent",
            "intersects",
            "allowed",
            "errored",
        ],
    ),
    (
        Returns::Int,
        &[
            "size",
            "int",
            "indexOf",
            "lastIndexOf",
            "compareTo",
            "asInteger",
            "sign",
            "family",
            "getFullYear",
            "getMonth",
            "getDate",
            "getDayOfMonth",
            "getDayOfYear",
            "getDayOfWeek",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
        ],
    ),
    (Returns::Uint, &["uint"]),
    (Returns::Double, &["double"]),
    (Returns::Bytes, &["bytes"]),
    (Returns::Time, &["timestamp"]),
    (Returns::Duration, &["duration"]),
    (Returns::Type, &["type"]),
    (
        Returns::Dyn,
        &["dyn", "quantity", "ip", "greatest", "least", "flatten"],
    ),
    (
        Returns::Text,
        &[
            "string",
            "charAt",
            "lowerAscii",
            "upperAscii",
            "trim",
            "substring",
            "find",
            "quote",
            "reason",
            "error",
            "escapeKey",
        ],
    ),
    (Returns::Joined, &["join", "format", "replace"]),
    (Returns::Texts, &["split", "findAll"]),
    (Returns::First, &["reverse", "distinct", "sort", "slice", "-_"]),
    (Returns::Entry, &["sum", "min", "max"]),
    (Returns::MaybeEntry, &["first", "last"]),
    (Returns::Inner, &["value", "orValue"]),
    (Returns::Maybe, &["of", "ofNonZeroValue", "none", "or"]),
    (
        Returns::Permission,
        &[
            "path",
            "group",
            "serviceAccount",
            "resource",
            "subresource",
            "namespace",
            "name",
            "fieldSelector",
            "labelSelector",
            "check",
        ],
    ),
];

/// What a call returns; none for functions that there are not.
pub(super) fn returned<'a>(name: &str, args: &[CelType<'a>]) -> Option<CelType<'a>> {
    let (returns, _) = FUNCTIONS.iter().find(|(_, names)| names.contains(&name))?;
    let first = args.first();
    let size = first.map_or(0, CelType::size);
    Some(match returns {
        Returns::Bool => CelType::Bool,
        Returns::Int => CelType::Int,
        Returns::Uint => CelType::Uint,
        Returns::Double => CelType::Double,
        Returns::Bytes => CelType::Bytes,
        Returns::Time => CelType::Time,
        Returns::Duration => CelType::Duration,
        Returns::Type => CelType::Type,
        Returns::Dyn => CelType::Dyn,
        Returns::Text => CelType::Text(match first {
            Some(CelType::Text(size)) => *size,
            _ => 64,
        }),
        Returns::Joined => CelType::Text(args.iter().map(CelType::size).fold(0, u64::saturating_add)),
        Returns::Texts => CelType::List(Rc::new(CelType::Text(size)), size),
        Returns::First => first.cloned().unwrap_or(CelType::Dyn),
        Returns::Entry => first.map_or(CelType::Dyn, CelType::entry),
        Returns::MaybeEntry => CelType::Optional(Rc::new(first.map_or(CelType::Dyn, CelType::entry))),
        Returns::Inner => match first {
            Some(CelType::Optional(inner)) => CelType::clone(inner),
            _ => CelType::Dyn,
        },
        Returns::Permission => match first {
            Some(CelType::Permission | CelType::Dyn) => CelType::Permission,
            _ => return None,
        },
        Returns::Maybe => match (name, first) {
            ("or", Some(first)) => first.clone(),
            (_, Some(first)) => CelType::Optional(Rc::new(first.clone())),
            (_, None) => CelType::Optional(Rc::new(CelType::Dyn)),
        },
    })
}

/// What a call costs at most.
pub(super) fn cost(name: &str, args: &[CelType<'_>]) -> u64 {
    let size = |at: usize| args.get(at).map_or(1, CelType::size);
    let tenth = |size: u64| size.div_ceil(10);
    match name {
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => 1.max(tenth(size(0).min(size(1)))),
        "_+_" => match args {
            [CelType::Text(one), CelType::Text(other)] => tenth(one.saturating_add(*other)),
            _ => 1,
        },
        "@in" => size(1),
        "matches" | "find" | "findAll" => 1 + tenth(size(0)).saturating_mul(size(1).div_ceil(4)),
        "contains" => 1 + tenth(size(0)).saturating_mul(tenth(size(1))),
        "startsWith" | "endsWith" => 1 + tenth(size(1)),
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" => 1 + size(0),
        "lowerAscii" | "upperAscii" | "replace" | "split" | "substring" | "trim" | "quantity"
        | "isQuantity" => 1 + tenth(size(0)),
        _ => 1,
    }
}
