//! Lists that merge: by a key where their entries are structs, as sets where they are scalars.

use super::{Members, Misuse, PATCH, bare, order};
use serde_json::{Map, Value};

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
            for item in patch {
                merge_entry(of, key, original, item)?;
            }
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
        items.retain(|item| !values.contains(item));
    }
    Ok(())
}

fn unite(original: &mut Vec<Value>, patch: Vec<Value>) {
    for item in patch {
        if !original.contains(&item) {
            original.push(item);
        }
    }
}

/// Carries out the entries that are directives and returns the others.
fn directives(key: &str, original: &mut Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Misuse> {
    let mut rest = Vec::new();
    let mut replaces = false;
    for mut item in patch {
        match item
            .get(PATCH)
            .map(|directive| directive.as_str().unwrap_or_default())
        {
            None => rest.push(item),
            Some("delete") => {
                let value = entry_key(&item, key)?;
                original.retain(|old| old.get(key) != Some(&value));
            }
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
    }
    Ok(rest)
}

fn merge_entry(of: Members, key: &str, original: &mut Vec<Value>, mut item: Value) -> Result<(), Misuse> {
    let value = entry_key(&item, key)?;
    let found = original.iter_mut().find(|old| old.get(key) == Some(&value));
    match (found.and_then(Value::as_object_mut), &mut item) {
        (Some(old), Value::Object(new)) => super::merge(of, old, std::mem::take(new)),
        _ => {
            bare(&mut item);
            original.push(item);
            Ok(())
        }
    }
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
