//! Strategic merge: objects are merged by member, lists of structs by merge key, and lists of scalars as sets.
//!
//! Objects can contain lists and lists objects, so both are merged in this file.

use super::directives::{
    DELETE_FROM_LIST, PATCH, SET_ORDER, StrategicPatchError, apply_list_directives, delete_scalars,
    entry_key, remove_directives, retain_keys, unknown_directive,
};
use super::members::Members;
use super::order;
use crate::machinery::document::json_type;
use crate::machinery::go;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Merges a patch into the members of an object.
pub(super) fn merge(
    of: Members,
    original: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
) -> Result<(), StrategicPatchError> {
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
    enforce_orders(of, original, &mut patch)?;
    for (name, value) in patch {
        if let Some(list) = name.strip_prefix(DELETE_FROM_LIST) {
            delete_scalars(original, list, &value)?;
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
) -> Result<(), StrategicPatchError> {
    if value.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let (inner, strategy) = of.member(&name);
    match (original.get_mut(&name), value) {
        (Some(Value::Object(old)), Value::Object(new)) => merge(inner, old, new)?,
        (Some(Value::Array(old)), Value::Array(new)) if strategy.merge => {
            merge_list(inner, strategy.key, old, new)?;
        }
        (_, new) => {
            value = new;
            remove_directives(&mut value);
            original.insert(name, value);
        }
    }
    Ok(())
}

/// Merges a list of the patch into a list, and sorts the result so that the entries of the patch are in the order of the patch.
fn merge_list(
    of: Members,
    key: Option<&'static str>,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<(), StrategicPatchError> {
    let before = original.clone();
    let wanted: Vec<Value> = patch
        .iter()
        .filter(|item| item.get(PATCH).is_none())
        .cloned()
        .collect();
    merge_list_unsorted(of, key, original, patch)?;
    order::sort_merged_list(original, &wanted, &before, key);
    Ok(())
}

/// Merges a list of the patch into a list. New entries are appended.
fn merge_list_unsorted(
    of: Members,
    key: Option<&'static str>,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<(), StrategicPatchError> {
    if patch.is_empty() {
        return Ok(());
    }
    if !has_structs(original, &patch)? {
        merge_sets(original, patch);
        return Ok(());
    }
    let key =
        key.ok_or_else(|| StrategicPatchError::Fit("cannot merge lists without merge key".to_owned()))?;
    let patch = apply_list_directives(key, original, patch)?;
    merge_entries(of, key, original, patch)
}

/// Whether the entries of both lists are structs. A mixture of structs and scalars is an error.
fn has_structs(original: &[Value], patch: &[Value]) -> Result<bool, StrategicPatchError> {
    let mut forms = original.iter().chain(patch).map(json_type);
    let first = forms.next();
    if first == Some("array") {
        return Err(StrategicPatchError::Fit(
            "lists of lists are not supported".to_owned(),
        ));
    }
    if forms.any(|form| Some(form) != first) {
        let lists = [original, patch].map(|list| go::format_map(&Value::from(list)));
        let lists = lists.join(" ");
        return Err(StrategicPatchError::Fit(format!(
            "list element types are not identical: [{lists}]"
        )));
    }
    Ok(first == Some("object"))
}

fn merge_sets(original: &mut Vec<Value>, patch: Vec<Value>) {
    let mut known: HashSet<Value> = original.iter().cloned().collect();
    original.extend(patch.into_iter().filter(|item| known.insert(item.clone())));
}

fn merge_entries(
    of: Members,
    key: &str,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<(), StrategicPatchError> {
    let mut positions: HashMap<Value, usize> = HashMap::new();
    for (at, old) in original.iter().enumerate() {
        if let Some(value) = old.get(key) {
            positions.entry(value.clone()).or_insert(at);
        }
    }
    for mut item in patch {
        let value = entry_key(&item, key)?;
        let found = positions.get(&value).and_then(|at| original.get_mut(*at));
        match (found.and_then(Value::as_object_mut), &mut item) {
            (Some(old), Value::Object(new)) => merge(of, old, std::mem::take(new))?,
            _ => {
                remove_directives(&mut item);
                positions.insert(value, original.len());
                original.push(item);
            }
        }
    }
    Ok(())
}

/// Applies each `$setElementOrder/x` together with the patch of the list `x`.
fn enforce_orders(
    of: Members,
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
) -> Result<(), StrategicPatchError> {
    let names: Vec<String> = patch
        .keys()
        .filter_map(|name| name.strip_prefix(SET_ORDER))
        .map(str::to_owned)
        .collect();
    for name in names {
        let Some(order) = patch.remove(&format!("{SET_ORDER}{name}")) else {
            continue;
        };
        let bad = || StrategicPatchError::Form("invalid patch format of setElementOrder list".to_owned());
        let Value::Array(order) = order else {
            return Err(bad());
        };
        let (inner, strategy) = of.member(&name);
        // If the patch removes the list or replaces it by another type, the order is ignored.
        let change = match patch.get(&name) {
            None => Vec::new(),
            Some(Value::Array(_)) => patch.remove(&name).and_then(as_list).unwrap_or_default(),
            Some(_) => continue,
        };
        order::check(&change, &order, strategy.key)?;
        let slot = match original.get_mut(&name) {
            Some(Value::Array(list)) => list,
            _ if change.is_empty() => continue,
            _ => {
                original.insert(name.clone(), Value::Array(Vec::new()));
                match original.get_mut(&name) {
                    Some(Value::Array(list)) => list,
                    _ => continue,
                }
            }
        };
        let before = slot.clone();
        merge_list_unsorted(inner, strategy.key, slot, change)?;
        order::sort_merged_list(slot, &order, &before, strategy.key);
    }
    Ok(())
}

fn as_list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(items) => Some(items),
        _ => None,
    }
}
