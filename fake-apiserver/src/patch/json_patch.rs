//! JSON patches and merge patches, as applied by evanphx/json-patch, the library of kube-apiserver.
//!
//! More lenient than RFC 6902: `replace`, `copy` and `test` accept missing members of an object, negative indices count from the end, the
//! text before the first slash of a path is ignored, and a missing value in the patch is read as `null`. Does not know requests.

use crate::machinery::document::json_type;
use crate::machinery::{go, json};
use serde_json::{Map, Value};

/// One operation of a JSON patch. Missing fields have their default value.
#[derive(Debug, Default)]
pub struct Operation {
    op: String,
    path: Option<String>,
    from: Option<String>,
    value: Value,
}

/// Error: the patch is invalid or cannot be applied to the document. Like kube-apiserver, contains no reason.
#[derive(Debug)]
pub struct DoesNotApply;

/// The parsed operations of a JSON patch, and the paths of unknown fields in the patch.
pub type ParsedOperations = (Vec<Operation>, Vec<String>);

/// Parses a JSON patch. Errors have the message of Go's decoder.
pub fn read(patch: &Value) -> Result<ParsedOperations, String> {
    let items = match patch {
        Value::Null => &[],
        Value::Array(items) => items.as_slice(),
        other => {
            let found = json_type(other);
            return Err(go::cannot_unmarshal(
                found,
                "value of type []handlers.jsonPatchOp",
            ));
        }
    };
    let mut unknown = Vec::new();
    let operations = items
        .iter()
        .enumerate()
        .map(|(i, item)| operation(i, item, &mut unknown));
    let operations = operations.collect::<Result<_, _>>()?;
    Ok((operations, unknown))
}

fn operation(i: usize, item: &Value, unknown: &mut Vec<String>) -> Result<Operation, String> {
    let Value::Object(members) = item else {
        let found = json_type(item);
        return Err(go::cannot_unmarshal(found, "value of type handlers.jsonPatchOp"));
    };
    let mut read = Operation::default();
    for (name, value) in members {
        let text = || match value {
            Value::String(text) => Ok(text.clone()),
            other => {
                let into = format!("struct field jsonPatchOp.{name} of type string");
                Err(go::cannot_unmarshal(json_type(other), &into))
            }
        };
        match name.as_str() {
            "op" => read.op = text()?,
            "path" => read.path = Some(text()?),
            "from" => read.from = Some(text()?),
            "value" => read.value = value.clone(),
            other => unknown.push(format!("[{i}].{other}")),
        }
    }
    Ok(read)
}

/// Maximum total size, in bytes, of the values copied by one patch, as in kube-apiserver: otherwise, each copy could double the document.
const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Whether a patch contains a `test` operation.
pub fn has_test(operations: &[Operation]) -> bool {
    operations.iter().any(|operation| operation.op == "test")
}

/// Applies all operations of a JSON patch. After an error, the content of the document is undefined.
pub fn apply(document: &mut Value, operations: &[Operation]) -> Result<(), DoesNotApply> {
    let mut copied = 0;
    operations
        .iter()
        .try_for_each(|operation| operation.apply(document, &mut copied))
}

impl Operation {
    /// Whether the JSON patch operation may read or write the value at the JSON pointer `at`, or one of its parents or children.
    pub(crate) fn overlaps_path(&self, at: &str) -> bool {
        let near = |path: &String| path.starts_with(at) || at.starts_with(path.as_str());
        matches!(self.op.as_str(), "copy" | "test")
            || [&self.path, &self.from].into_iter().flatten().any(near)
    }

    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<(), DoesNotApply> {
        let path = self.path.as_deref().ok_or(DoesNotApply)?;
        match self.op.as_str() {
            "add" => slot_for(document, path, &self.value)?.add(self.value.clone()),
            "remove" => at(document, path)?.remove().map(drop),
            "replace" if path.is_empty() => match self.value {
                Value::Object(_) | Value::Array(_) => {
                    *document = self.value.clone();
                    Ok(())
                }
                _ => Err(DoesNotApply),
            },
            "replace" => slot_for(document, path, &self.value)?.replace(self.value.clone()),
            "move" => {
                let value = at(document, self.from()?)?.remove()?;
                slot_for(document, path, &value)?.add(value)
            }
            "copy" => {
                let value = at(document, self.from()?)?.get()?;
                *copied += value.to_string().len();
                if *copied > COPIED_BYTES_MAX {
                    return Err(DoesNotApply);
                }
                slot_for(document, path, &value)?.add(value)
            }
            "test" => {
                let value = match path {
                    "" => document.clone(),
                    path => at(document, path)?.get()?,
                };
                if value == self.value {
                    Ok(())
                } else {
                    Err(DoesNotApply)
                }
            }
            _ => Err(DoesNotApply),
        }
    }

    fn from(&self) -> Result<&str, DoesNotApply> {
        self.from.as_deref().ok_or(DoesNotApply)
    }
}

/// A location in a document: an object with the name of a member, or a list with an index.
enum Slot<'a> {
    Member(&'a mut Map<String, Value>, String),
    Item(&'a mut Vec<Value>, String),
}

/// The location at a path to which `value` is written. An error if the document would then exceed the nesting limit.
fn slot_for<'a>(document: &'a mut Value, path: &str, value: &Value) -> Result<Slot<'a>, DoesNotApply> {
    let levels = json::DEPTH_MAX.checked_sub(path.matches('/').count());
    match levels.is_some_and(|levels| json::nests_within(levels, value)) {
        true => at(document, path),
        false => Err(DoesNotApply),
    }
}

/// The location at a path. An error if the parent of the location does not exist.
fn at<'a>(document: &'a mut Value, path: &str) -> Result<Slot<'a>, DoesNotApply> {
    let parts: Vec<String> = path.split('/').map(json::unescape_pointer_part).collect();
    let [_, inner @ .., key] = parts.as_slice() else {
        return Err(DoesNotApply);
    };
    let mut value = document;
    for part in inner {
        value = match value {
            Value::Object(members) => members.get_mut(part).ok_or(DoesNotApply)?,
            Value::Array(items) => {
                let i = index(part, items.len())?;
                items.get_mut(i).ok_or(DoesNotApply)?
            }
            _ => return Err(DoesNotApply),
        };
    }
    match value {
        Value::Object(members) => Ok(Slot::Member(members, key.clone())),
        Value::Array(items) => Ok(Slot::Item(items, key.clone())),
        _ => Err(DoesNotApply),
    }
}

/// Parses a list index; a negative index counts from the end.
fn index(key: &str, length: usize) -> Result<usize, DoesNotApply> {
    let number: i64 = key.parse().map_err(|_| DoesNotApply)?;
    let length = i64::try_from(length).map_err(|_| DoesNotApply)?;
    let number = if number < 0 { number + length } else { number };
    usize::try_from(number).map_err(|_| DoesNotApply)
}

impl Slot<'_> {
    fn get(&self) -> Result<Value, DoesNotApply> {
        match self {
            Self::Member(members, key) => Ok(members.get(key).cloned().unwrap_or_default()),
            Self::Item(items, key) => items.get(index(key, items.len())?).cloned().ok_or(DoesNotApply),
        }
    }

    fn add(self, value: Value) -> Result<(), DoesNotApply> {
        match self {
            Self::Member(members, key) => drop(members.insert(key, value)),
            Self::Item(items, key) if key == "-" => items.push(value),
            Self::Item(items, key) => {
                let i = index(&key, items.len() + 1)?;
                if i > items.len() {
                    return Err(DoesNotApply);
                }
                items.insert(i, value);
            }
        }
        Ok(())
    }

    fn replace(self, value: Value) -> Result<(), DoesNotApply> {
        match self {
            Self::Member(members, key) => drop(members.insert(key, value)),
            Self::Item(items, key) => {
                let i = index(&key, items.len())?;
                *items.get_mut(i).ok_or(DoesNotApply)? = value;
            }
        }
        Ok(())
    }

    fn remove(self) -> Result<Value, DoesNotApply> {
        match self {
            Self::Member(members, key) => members.remove(&key).ok_or(DoesNotApply),
            Self::Item(items, key) => {
                let i = index(&key, items.len())?;
                if i < items.len() {
                    Ok(items.remove(i))
                } else {
                    Err(DoesNotApply)
                }
            }
        }
    }
}

/// Applies a merge patch (RFC 7386): `null` removes a member, objects are merged, other values are replaced.
pub(crate) fn merge(document: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *document = patch.clone();
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let Some(members) = document.as_object_mut() else {
        return;
    };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    //! Property tests. Other tests cover single operations.

    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn patched(mut document: Value, patch: &Value) -> Option<Value> {
        let (operations, _) = read(patch).ok()?;
        apply(&mut document, &operations).ok().map(|()| document)
    }

    proptest! {
        #[test]
        fn adding_and_removing_a_list_entry_restores_the_list(list in prop::collection::vec(0..9, 0..5), at in 0..5usize) {
            let document = json!({"l": list});
            let path = format!("/l/{at}");
            let there_and_back = json!([{"op": "add", "path": path, "value": 7}, {"op": "remove", "path": path}]);
            let expected = (at <= list.len()).then(|| document.clone());
            prop_assert_eq!(patched(document, &there_and_back), expected);
        }

        #[test]
        fn a_merge_patch_sets_removes_and_retains_members(keys in prop::collection::btree_map("[a-c]", prop::option::of(0..3), 0..4)) {
            let patch = json!(keys);
            let mut document = json!({"a": 1, "z": {"deep": true}});
            merge(&mut document, &patch);
            for (key, value) in keys {
                prop_assert_eq!(document.get(&key).cloned(), value.map(Value::from));
            }
            prop_assert_eq!(&document["z"], &json!({"deep": true}));
        }
    }

    #[test]
    fn index_minus_one_is_the_last_entry() {
        let remove = json!([{"op": "remove", "path": "/l/-1"}]);
        assert_eq!(patched(json!({"l": [1, 2]}), &remove), Some(json!({"l": [1]})));
        assert_eq!(patched(json!({"l": []}), &remove), None);
    }
}
