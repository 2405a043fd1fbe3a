//! Functions and operators: those of CEL, and those that Kubernetes adds.
//!
//! Owns which function a call means. Each file has the functions on one kind of value.

mod addresses;
mod convert;
mod cost;
mod formats;
mod formatted;
mod found;
mod lists;
mod operators;
mod optional;
mod permissions;
mod quantities;
mod sets;
mod texts;
mod urls;
mod versions;

use super::failure::Failure;
use super::value::Val;

pub(super) use convert::shown;
pub(super) use cost::{cost, cost_of_result, tenth};
pub(super) use formatted::unfit;
pub(super) use operators::index;
pub(super) use texts::pattern;

/// What is called.
pub(super) struct Call<'n> {
    /// What precedes the name, where that is no value: `sets` of `sets.contains`.
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
    let (name, args) = (call.name, args.as_slice());
    let found = match (call.space, call.is_method) {
        ("", false) => operators::call(name, args)
            .or_else(|| convert::call(name, args))
            .or_else(|| lists::size(name, args))
            .or_else(|| texts::call(name, args))
            .or_else(|| quantities::call(name, args))
            .or_else(|| addresses::call(name, args))
            .or_else(|| urls::call(name, args))
            .or_else(|| versions::call(name, args))
            .or_else(|| lists::insert(name, args)),
        ("", true) => texts::call(name, args)
            .or_else(|| lists::call(name, args))
            .or_else(|| convert::part(name, args))
            .or_else(|| optional::method(name, args))
            .or_else(|| quantities::method(name, args))
            .or_else(|| addresses::method(name, args))
            .or_else(|| urls::method(name, args))
            .or_else(|| versions::method(name, args))
            .or_else(|| formats::method(name, args))
            .or_else(|| permissions::method(name, args)),
        ("optional", _) => optional::call(name, args),
        ("sets", _) => sets::call(name, args),
        ("lists", _) => lists::made(name, args),
        ("format", _) => formats::call(name, args),
        ("ip", _) => addresses::of_space(name, args),
        ("strings" | "jsonpatch", _) => texts::of_space(name, args),
        _ => None,
    };
    found.unwrap_or_else(|| Err(Failure::no_overload()))
}
