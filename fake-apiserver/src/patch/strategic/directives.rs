//! The directives of a strategic merge patch (`$patch`, `$retainKeys`, `$deleteFromPrimitiveList/x`, `$setElementOrder/x`), and the
//! errors for invalid directives.

use crate::machinery::go;
use serde_json::{Map, Value};
use std::collections::HashSet;

pub(super) const PATCH: &str = "$patch";
pub(super) const RETAIN_KEYS: &str = "$retainKeys";
pub(super) const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
pub(super) const SET_ORDER: &str = "$setElementOrder/";

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum StrategicPatchError {
    /// A directive in the patch has an invalid value. Contains the message.
    Form(String),
    /// The patch is valid, but does not apply to this object. Contains the message.
    Fit(String),
}

/// `$retainKeys`: removes all members that the directive does not list.
pub(super) fn retain_keys(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), StrategicPatchError> {
    let Some(retained) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let bad = || StrategicPatchError::Form("invalid patch format of retainKeys".to_owned());
    let retained: Vec<&str> = retained
        .as_array()
        .ok_or_else(bad)?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    // Members that the patch removes need not be listed in `$retainKeys`: clients set such members to null and omit them from the list.
    if patch
        .iter()
        .any(|(name, value)| !value.is_null() && !name.starts_with('$') && !retained.contains(&name.as_str()))
    {
        return Err(bad());
    }
    original.retain(|name, _| retained.contains(&name.as_str()));
    Ok(())
}

/// Removes directives and `null` members from a value that the patch adds: directives and `null` only apply to existing values.
pub(super) fn remove_directives(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let replaces = members.get(PATCH).is_some_and(|directive| directive == "delete");
            if replaces {
                members.clear();
            }
            members.retain(|name, member| !member.is_null() && !is_directive(name));
            members.values_mut().for_each(remove_directives);
        }
        Value::Array(items) => {
            items.retain(|item| item.get(PATCH).is_none_or(|directive| directive == "merge"));
            items.iter_mut().for_each(remove_directives);
        }
        _ => {}
    }
}

fn is_directive(name: &str) -> bool {
    name == PATCH || name == RETAIN_KEYS || name.starts_with(DELETE_FROM_LIST) || name.starts_with(SET_ORDER)
}

pub(super) fn unknown_directive(directive: &Value) -> StrategicPatchError {
    let text = directive
        .as_str()
        .map_or_else(|| directive.to_string(), str::to_owned);
    StrategicPatchError::Fit(format!("unknown patch type [{text}] in map"))
}

/// `$deleteFromPrimitiveList/x`: removes scalars from the list `x`.
pub(super) fn delete_scalars(
    original: &mut Map<String, Value>,
    list: &str,
    values: &Value,
) -> Result<(), StrategicPatchError> {
    let Value::Array(values) = values else {
        return Err(StrategicPatchError::Form(
            "invalid patch format of primitive list".to_owned(),
        ));
    };
    if let Some(Value::Array(items)) = original.get_mut(list) {
        let values: HashSet<&Value> = values.iter().collect();
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

/// Applies the directives in a list of the patch and returns the remaining entries.
pub(super) fn apply_list_directives(
    key: &str,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, StrategicPatchError> {
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
                remove_directives(&mut item);
                // An entry with at most one member (usually the merge key) besides `$patch` is not added to the new list.
                if item.as_object().is_some_and(|members| members.len() > 1) {
                    rest.push(item);
                }
            }
            Some("merge") => {
                let text = "merge patch type cannot yet be specified in a list";
                return Err(StrategicPatchError::Fit(text.to_owned()));
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

pub(super) fn entry_key(item: &Value, key: &str) -> Result<Value, StrategicPatchError> {
    match item.get(key) {
        Some(value) => Ok(value.clone()),
        None => Err(StrategicPatchError::Fit(format!(
            "map: {} does not contain declared merge key: {key}",
            go::format_map(item)
        ))),
    }
}
