//! Edits JSON values by JSON pointer: removes and sets fields, and truncates lists. Does not know rules.

use serde_json::{Map, Value};

/// Splits a JSON pointer into the pointer to the parent and the last key.
fn split(pointer: &str) -> Option<(&str, String)> {
    let (parent, key) = pointer.rsplit_once('/')?;
    Some((parent, key.replace("~1", "/").replace("~0", "~")))
}

/// Removes a field at every location that a pointer matches; `*` in the pointer matches every item of a list.
pub(super) fn remove(value: &mut Value, pointer: &str) {
    let Some((parent, key)) = split(pointer) else {
        return;
    };
    edit_matches(value, parent, &mut |found| {
        if let Value::Object(fields) = found {
            fields.remove(&key);
        }
    });
}

/// Sets the field at a JSON pointer and creates missing parents. Does nothing if a parent is not an object.
pub(super) fn set(value: &mut Value, pointer: &str, new: &Value) {
    let Some((parent, key)) = split(pointer) else {
        return;
    };
    if parent.contains('*') {
        return edit_matches(value, parent, &mut |found| {
            if let Value::Object(fields) = found {
                fields.insert(key.clone(), new.clone());
            }
        });
    }
    let mut parent_value = value;
    for step in parent.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let Value::Object(fields) = parent_value else {
            return;
        };
        parent_value = fields.entry(step).or_insert_with(|| Value::Object(Map::new()));
    }
    if let Value::Object(fields) = parent_value {
        fields.insert(key, new.clone());
    }
}

/// Truncates every list that a JSON pointer matches to `length` items.
pub(super) fn truncate(value: &mut Value, pointer: &str, length: usize) {
    edit_matches(value, pointer, &mut |found| {
        if let Value::Array(items) = found {
            items.truncate(length);
        }
    });
}

/// Whether a JSON pointer matches a value other than null.
pub(super) fn has(value: &Value, pointer: &str) -> bool {
    value.pointer(pointer).is_some_and(|found| !found.is_null())
}

fn edit_matches(value: &mut Value, pointer: &str, change: &mut dyn FnMut(&mut Value)) {
    let Some((before, after)) = pointer.split_once("/*") else {
        if let Some(found) = value.pointer_mut(pointer) {
            change(found);
        }
        return;
    };
    if let Some(Value::Array(items)) = value.pointer_mut(before) {
        for item in items {
            edit_matches(item, after, change);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_removed_set_and_truncated_by_pointer() {
        let mut value = json!({"a": {"b/c": 1, "d": [{"e": 1, "f": [1, 2]}, {"e": 2}]}});
        remove(&mut value, "/a/b~1c");
        remove(&mut value, "/a/d/*/e");
        remove(&mut value, "/nowhere/at/all");
        set(&mut value, "/a/x/y~1z", &json!(true));
        set(&mut value, "/a/d/*/g", &json!("h"));
        set(&mut value, "/a/d/0", &json!("a list is not an object"));
        truncate(&mut value, "/a/d/*/f", 1);
        assert_eq!(
            value,
            json!({"a": {"d": [{"f": [1], "g": "h"}, {"g": "h"}], "x": {"y/z": true}}})
        );
        assert!(has(&value, "/a/x") && !has(&value, "/a/b~1c"));
    }
}
