//! Reading and changing JSON values whose members may be missing or of another type.
//!
//! Indexing a `Value` reads `null` for a missing member, but mutable indexing inserts `null`; these functions do not.

use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum nesting depth of documents and of values built from documents: serde_json parses no deeper.
pub const DEPTH_MAX: usize = 127;

/// Whether arrays and objects in a value nest at most `levels` deep.
pub fn nests_within(levels: usize, value: &Value) -> bool {
    let inner = |value: &Value| {
        levels
            .checked_sub(1)
            .is_some_and(|left| nests_within(left, value))
    };
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(inner),
        Value::Object(members) => levels > 0 && members.values().all(inner),
        _ => true,
    }
}

/// Whether arrays and objects in a JSON text nest at most `levels` deep.
pub fn text_nests_within(levels: usize, text: &[u8]) -> bool {
    let (mut open, mut in_string, mut at) = (0, false, 0);
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 1,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => open += 1,
            b']' | b'}' if !in_string => open -= 1,
            _ => {}
        }
        if open > levels {
            return false;
        }
        at += 1;
    }
    true
}

/// Sets a member of a JSON object; `null` removes the member.
pub fn assign(object: &mut Value, name: &str, value: Value) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    if value.is_null() {
        members.remove(name);
    } else {
        members.insert(name.to_owned(), value);
    }
}

/// The map at a member of a JSON object. A missing member, or a member of another type, is replaced by an empty map.
pub fn member<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let slot = &mut object[name];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("the slot was set to an object above")
}

/// The value of a member of a JSON object; a missing member is inserted as `null`. A value that is not an object is replaced by an object.
pub fn member_or_insert_null<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    &mut object[name]
}

/// Sets a member of a JSON object if the member is missing or `null`.
pub fn default_member(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        let member = members.entry(name).or_insert(Value::Null);
        if member.is_null() {
            *member = value.into();
        }
    }
}

/// The entries of the array at a JSON pointer; empty if there is no array. (Mutable indexing would insert `null`.)
pub fn entries<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// Escapes a JSON member name for a JSON pointer: `~` becomes `~0`, `/` becomes `~1`.
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Unescapes one segment of a JSON pointer.
pub fn unescape_pointer_part(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The entries of a JSON array; empty for values of another type.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A string member of a JSON object; empty if the member is missing or not a string.
pub fn string<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The strings in a JSON array; entries that are not strings are left out.
pub fn texts(list: &Value) -> Vec<&str> {
    self::list(list).iter().filter_map(Value::as_str).collect()
}

/// The members of a JSON object whose values are strings; other members are left out.
pub fn string_members(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    map.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
}

/// Appends a value as compact JSON.
pub fn write(out: &mut BytesMut, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out.writer(), value).expect("JSON values always serialize into memory");
}
