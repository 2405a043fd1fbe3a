//! Lists that merge: by a key where their entries are structs, as sets where they are scalars.

use super::{Members, Misuse, PATCH, bare, order};
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};

/// Merges a list into another and puts the entries in order: those of the patch as the patch has them.
pub(super) fn merge(
    of: Members,
    key: Option<&'static str>,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<(), Misuse> {
    let before = original.clone();
    let wanted: Vec<Value> = patch
        .iter()
        .filter(|item| item.get(PATCH).is_none())
        .cloned()
        .collect();
    combine(of, key, original, patch)?;
    order::arrange(original, &wanted, &before, key);
    Ok(())
}

/// Merges a list into another. New entries come last.
pub(super) fn combine(
    of: Members,
    key: Option<&'static str>,
    original: &mut Vec<Value>,
    patch: Vec<Value>,
) -> Result<(), Misuse> {
    if patch.is_empty() {
        return Ok(());
    }
    let structs = patch
        .iter()
        .chain(original.iter())
        .filter(|item| item.is_object())
        .count();
    match structs {
        0 => unite(original, patch),
        all if all == patch.len() + original.len() => {
            let key = key.ok_or_else(|| Misuse::Fit("cannot merge lists without merge key".to_owned()))?;
            let patch = directives(key, original, patch)?;
            merge_entries(of, key, original, patch)?;
        }
        _ => return Err(Misuse::Fit("list element types are not identical".to_owned())),
    }
    Ok(())
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

fn unite(original: &mut Vec<Value>, patch: Vec<Value>) {
    let mut known: HashSet<Value> = original.iter().cloned().collect();
    original.extend(patch.into_iter().filter(|item| known.insert(item.clone())));
}

/// Carries out the entries that are directives and returns the others.
fn directives(key: &str, original: &mut Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Misuse> {
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
            Some(_) => return Err(super::unknown_directive(&item[PATCH])),
        }
    }
    if replaces {
        original.clear();
    } else if !deleted.is_empty() {
        original.retain(|old| old.get(key).is_none_or(|value| !deleted.contains(value)));
    }
    Ok(rest)
}

fn merge_entries(of: Members, key: &str, original: &mut Vec<Value>, patch: Vec<Value>) -> Result<(), Misuse> {
    let mut places: HashMap<Value, usize> = HashMap::new();
    for (at, old) in original.iter().enumerate() {
        if let Some(value) = old.get(key) {
            places.entry(value.clone()).or_insert(at);
        }
    }
    for mut item in patch {
        let value = entry_key(&item, key)?;
        let found = places.get(&value).and_then(|at| original.get_mut(*at));
        match (found.and_then(Value::as_object_mut), &mut item) {
            (Some(old), Value::Object(new)) => super::merge(of, old, std::mem::take(new))?,
            _ => {
                bare(&mut item);
                places.insert(value, original.len());
                original.push(item);
            }
        }
    }
    Ok(())
}

fn entry_key(item: &Value, key: &str) -> Result<Value, Misuse> {
    match item.get(key) {
        Some(value) => Ok(value.clone()),
        None => Err(Misuse::Fit(format!(
            "map: {} does not contain declared merge key: {key}",
            go_map(item)
        ))),
    }
}

/// A value as Go prints maps.
pub(crate) fn go_map(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let parts: Vec<String> = members
                .iter()
                .map(|(k, v)| format!("{k}:{}", go_map(v)))
                .collect();
            format!("map[{}]", parts.join(" "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(go_map).collect();
            format!("[{}]", parts.join(" "))
        }
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
