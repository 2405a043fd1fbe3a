//! Formats of texts.

use super::found::Found;
use crate::rules::libraries::named;
use crate::rules::value::Val;

/// Functions that begin with `format.`.
pub(super) fn call<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    Some(Ok(match (name, args) {
        ("named", [Val::Text(name)]) => Val::optional(named(name).map(Val::Format)),
        (name, []) => Val::Format(named(name)?),
        _ => return None,
    }))
}

pub(super) fn method<'a>(name: &str, args: &[Val<'a>]) -> Found<'a> {
    let ("validate", [Val::Format(format), Val::Text(text)]) = (name, args) else {
        return None;
    };
    let complaints = (format.complaints)(text);
    let complaints =
        (!complaints.is_empty()).then(|| Val::list(complaints.into_iter().map(Val::text).collect()));
    Some(Ok(Val::optional(complaints)))
}
