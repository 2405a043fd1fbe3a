//! Lists as sets.

use super::found::Found;
use crate::rules::value::Val;

/// Functions that begin with `sets.`.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let [one, other] = args else { return None };
    let (one, other) = (one.items()?, other.items()?);
    Some(Ok(Val::Bool(match name {
        "contains" => includes(&one, &other),
        "equivalent" => includes(&one, &other) && includes(&other, &one),
        "intersects" => other.iter().any(|item| one.contains(item)),
        _ => return None,
    })))
}

fn includes(one: &[Val<'_>], other: &[Val<'_>]) -> bool {
    other.iter().all(|item| one.contains(item))
}
