//! The directives of a patch: `$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x` and `$setElementOrder/x`, as far as they
//! need no merging, and the refusals of patches that misuse them.

use crate::machinery::go;
use serde_json::{Map, Value};
use std::collections::HashSet;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
pub(super) const SET_ORDER: &str = "$setElementOrder/";

/// Why a patch does not apply.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misuse {
    /// The patch has not the form that its directives demand.
    Form(String),
    /// The patch has a form, but none that fits this object.
    Fit(String),
}

/// `$retainKeys`: what is not named goes.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), Misuse> {
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

/// Takes directives and `null` members, which have a meaning only for an old value, out of one that is new as a whole.
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

/// `$deleteFromPrimitiveList/x`: takes scalars out of a list.
pub(super) fn delete_scalars(
    original: &mut Map<String, Value>,
    list: &str,
    values: &Value,
) -> Result<(), Misuse> {
    let Value::Array(values) = values else {
        return Err(Misuse::Form("invalid patch format of primitive list".to_owned()));
    };
    if let Some(Value::Array(items)) = original.get_mut(list) {
        let values: HashSet<&Value> = values.iter().collect();
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

/// Carries out the entries that are directives and returns the others.
pub(super) fn directives(
    key: &str,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, Misuse> {
    let (mut rest, mut deleted) = (Vec::new(), HashSet::new());
    let mut replaces = false;
    for mut item in patch {
        match item
            .get(PATCH)
            .map(|directive| directive.as_str().unwrap_or_default())
        {
            None => rest.push(item),
            Some("delete") => drop(deleted.insert(entry_key(&item, key)?)),
            Some("replace") => {
                replaces = true;
                bare(&mut item);
                // `$patch: replace` stands alone or beside a key, which is then no entry of the new list.
                if item.as_object().is_some_and(|members| members.len() > 1) {
                    rest.push(item);
                }
            }
            Some("merge") => {
                let text = "merge patch type cannot yet be specified in a list";
                return Err(Misuse::Fit(text.to_owned()));
            }
            Some(_) => return Err(unknown_directive(&item[PATCH])),
        }
    }
    if replaces {
        original.clear();
    } else if !deleted.is_empty() {
        original.retain(|old| old.get(key).is_none_or(|value| !deleted.contains(value)));
    }
    Ok(rest)
}

pub(super) fn entry_key(item: &Value, key: &str) -> Result<Value, Misuse> {
    match item.get(key) {
        Some(value) => Ok(value.clone()),
        None => Err(Misuse::Fit(format!(
            "map: {} does not contain declared merge key: {key}",
            go::map(item)
        ))),
    }
}
