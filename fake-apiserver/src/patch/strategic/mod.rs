//! Strategic merge patches: merge patches that know which lists merge, by what key, and in what order.
//!
//! Owns the directives `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x`, and the texts
//! of patches that misuse them. Which lists merge comes from the schema. Does not know requests.

mod list;
mod names;
mod order;
mod set_order;

pub(crate) use list::go_map;

use crate::schema::{Field, Form, Strategy, Type};
use serde_json::{Map, Value};

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
const SET_ORDER: &str = "$setElementOrder/";

/// Why a patch does not apply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The patch has not the form that its directives demand.
    Form(String),
    /// The patch has a form, but none that fits this object.
    Fit(String),
}

/// What the members of an object are: of a struct, or all of one form.
#[derive(Clone, Copy)]
pub(super) enum Members {
    Struct(&'static Type),
    Map(&'static Form),
    /// Nothing is known of them: maps merge, lists are replaced.
    Free,
}

/// Applies a patch to an object of that type.
pub(crate) fn apply(of: &'static Type, object: &mut Value, patch: &Value) -> Result<(), Misuse> {
    let Value::Object(patch) = patch else {
        return Err(Misuse::Form(
            "a strategic merge patch is a JSON object".to_owned(),
        ));
    };
    let original = std::mem::take(object);
    let Value::Object(mut members) = original else {
        return Err(Misuse::Fit("the patched document is no JSON object".to_owned()));
    };
    merge(Members::Struct(of), &mut members, patch.clone())?;
    *object = members.into();
    Ok(())
}

/// Merges a patch into the members of an object.
pub(super) fn merge(
    of: Members,
    original: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<(), Misuse> {
    match patch.remove(PATCH) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            *original = patch;
            return Ok(());
        }
        Some(Value::String(directive)) if directive == "delete" => {
            original.clear();
            return Ok(());
        }
        Some(other) => return Err(unknown_directive(&other)),
    }
    retain_keys(original, &mut patch)?;
    set_order::enforce(of, original, &mut patch)?;
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE_FROM_LIST) {
            list::delete_scalars(original, list, &value)?;
        } else {
            member(of, original, name, value)?;
        }
    }
    Ok(())
}

fn member(
    of: Members,
    original: &mut Map<String, Value>,
    name: String,
    mut value: Value,
) -> Result<(), Misuse> {
    if value.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let (inner, strategy) = of.member(&name);
    match (original.get_mut(&name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => merge(inner, old, new)?,
        (Some(Value::Array(old)), Value::Array(new)) if strategy.merge => {
            list::merge(inner, strategy.key, old, new)?;
        }
        (_, new) => {
            value = new;
            bare(&mut value);
            original.insert(name, value);
        }
    }
    Ok(())
}

impl Members {
    /// What a member consists of, and how it merges.
    fn member(self, name: &str) -> (Self, Strategy) {
        match self {
            Self::Free => (Self::Free, Strategy::default()),
            Self::Map(form) => (Self::of(form), Strategy::default()),
            Self::Struct(of) => match of.field(name) {
                Some(Field { form, strategy, .. }) => (Self::of(form), *strategy),
                None => (Self::Free, Strategy::default()),
            },
        }
    }

    /// The members of values of a form, or of a list's entries.
    fn of(form: &'static Form) -> Self {
        match form {
            Form::Struct(id) => Self::Struct(id.get()),
            Form::Map(inner) => Self::Map(inner),
            Form::List(inner) => Self::of(inner),
            _ => Self::Free,
        }
    }
}

/// `$retainKeys`: what is not named goes.
fn retain_keys(original: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), Misuse> {
    let Some(kept) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || Misuse::Form("invalid patch format of retainKeys".to_owned());
    let kept: Vec<&str> = kept
        .as_array()
        .ok_or_else(bad)?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    // What the patch takes away need not be kept: clients both say that it goes and leave it out of the list.
    if patch
        .iter()
        .any(|(name, value)| !value.is_null() && !name.starts_with('$') && !kept.contains(&name.as_str()))
    {
        return Err(bad());
    }
    original.retain(|name, _| kept.contains(&name.as_str()));
    Ok(())
}

/// Takes out of a value that is new as a whole what only speaks to an old one: directives and `null` members.
pub(super) fn bare(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let replaces = members.get(PATCH).is_some_and(|directive| directive == "delete");
            if replaces {
                members.clear();
            }
            members.retain(|name, member| !member.is_null() && !is_directive(name));
            members.values_mut().for_each(bare);
        }
        Value::Array(items) => {
            items.retain(|item| item.get(PATCH).is_none_or(|directive| directive == "merge"));
            items.iter_mut().for_each(bare);
        }
        _ => {}
    }
}

fn is_directive(name: &str) -> bool {
    name == PATCH || name == RETAIN_KEYS || name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER)
}

pub(super) fn unknown_directive(directive: &Value) -> Misuse {
    let text = directive
        .as_str()
        .map_or_else(|| directive.to_string(), str::to_owned);
    Misuse::Fit(format!("unknown patch type [{text}] in map"))
}

#[cfg(test)]
mod tests;
