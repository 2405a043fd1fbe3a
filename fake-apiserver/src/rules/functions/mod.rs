//! Functions and operators: those of CEL, and those that Kubernetes adds.
//!
//! Owns which function a call means, and what it costs. Each file has the functions on one kind of value.

mod convert;
mod found;
mod libraries;
mod lists;
mod operators;
mod permissions;
mod texts;

use super::failure::Failure;
use super::value::Val;

pub(super) use convert::{shown, type_named};

/// What is called.
pub(super) struct Call<'n> {
    /// What precedes the name, where that is no value: `math` of `math.greatest`.
    pub(super) space: &'n str,
    pub(super) name: &'n str,
    /// The first argument stands before the name.
    pub(super) is_method: bool,
}

impl<'n> Call<'n> {
    pub(super) fn operator(name: &'n str) -> Self {
        Self {
            space: "",
            name,
            is_method: false,
        }
    }
}

/// Calls a function.
pub(super) fn call<'a>(call: &Call<'_>, mut args: Vec<Val<'a>>) -> Result<Val<'a>, Failure> {
    if call.name == "_+_"
        && let [one, other] = args.as_mut_slice()
        && let Some(list) = lists::extend(one, other)
    {
        return Ok(list);
    }
    let found = match (call.space, call.is_method) {
        ("", false) => operators::call(call.name, &args)
            .or_else(|| convert::call(call.name, &args))
            .or_else(|| lists::call(call.name, &args))
            .or_else(|| texts::call(call.name, &args))
            .or_else(|| libraries::call(call.name, &args)),
        ("", true) => texts::call(call.name, &args)
            .or_else(|| lists::call(call.name, &args))
            .or_else(|| convert::part(call.name, &args))
            .or_else(|| libraries::method(call.name, &args))
            .or_else(|| permissions::method(call.name, &args)),
        (space, _) => libraries::of_space(space, call.name, &args),
    };
    found.unwrap_or_else(|| Err(Failure::no_overload()))
}

/// Functions that go through a text, and those that go through a list.
const THROUGH_TEXT: [&str; 14] = [
    "contains",
    "startsWith",
    "endsWith",
    "lowerAscii",
    "upperAscii",
    "replace",
    "split",
    "substring",
    "trim",
    "quantity",
    "isQuantity",
    "ip",
    "isIP",
    "join",
];

/// What a call costs: one, and a tenth for each character or entry that is gone through.
pub(super) fn cost(call: &Call<'_>, args: &[Val<'_>]) -> u64 {
    let size = |at: usize| args.get(at).and_then(Val::size).unwrap_or_default() as u64;
    let tenth = |size: u64| size.div_ceil(10);
    match call.name {
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" => 1.max(tenth(size(0).min(size(1)))),
        "_+_" => 1.max(tenth(size(0) + size(1))),
        "@in" => 1.max(size(1)),
        "matches" | "find" | "findAll" => 1 + tenth(size(0)) * size(1).div_ceil(4),
        "isSorted" | "sum" | "min" | "max" | "indexOf" | "lastIndexOf" | "distinct" | "sort" | "flatten" => {
            1 + tenth(size(0)).max(size(0))
        }
        name if THROUGH_TEXT.contains(&name) => 1 + tenth(size(0)),
        _ => 1,
    }
}
