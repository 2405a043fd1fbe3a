//! Values that may be missing.

use super::found::Found;
use crate::rules::failure::Failure;
use crate::rules::value::Val;

/// Functions that begin with `optional.`.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    Some(Ok(match (name, args) {
        ("none", []) => Val::optional(None),
        ("of", [value]) => Val::optional(Some(value.clone())),
        ("ofNonZeroValue", [value]) => Val::optional(Some(value.clone()).filter(|value| !is_zero(value))),
        ("unwrap", [list]) => there(list)?,
        _ => return None,
    }))
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    match (name, args) {
        ("hasValue", [Val::Optional(value)]) => Some(Ok(Val::Bool(value.is_some()))),
        ("value", [Val::Optional(value)]) => {
            let missing = || Failure::new("optional.none() dereference");
            Some(value.as_deref().cloned().ok_or_else(missing))
        }
        ("unwrapOpt", [list]) => there(list).map(Ok),
        _ => None,
    }
}

/// The values that are there.
fn there<'a>(list: &Val<'a>) -> Option<Val<'a>> {
    let items = list.items()?;
    let values = items.iter().filter_map(|item| match item {
        Val::Optional(value) => value.as_deref().cloned(),
        other => Some(other.clone()),
    });
    Some(Val::list(values.collect()))
}

fn is_zero(value: &Val<'_>) -> bool {
    match value {
        Val::Null | Val::Bool(false) | Val::Int(0) | Val::Uint(0) => true,
        Val::Double(value) => *value == 0.0,
        Val::Duration(value) => value.is_zero(),
        other => other.size() == Some(0),
    }
}
