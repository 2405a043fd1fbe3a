//! Reading and changing JSON values where members may be missing or of another form.
//!
//! Indexing a value reads `null` where there is nothing, but leaves one behind where it writes: these do not.

use bytes::{BufMut, BytesMut};
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum nesting depth of a document, and of everything that is made of one: serde_json reads no deeper.
pub const DEPTH_MAX: usize = 127;

/// Whether lists and objects nest at most so deep in a value.
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

/// The same of a JSON text.
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

/// Sets a member of an object; `null` removes it.
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

/// A member of an object as a map; it is made where it is missing or something else.
pub fn member<'a>(object: &'a mut Value, name: &str) -> &'a mut Map<String, Value> {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let slot = &mut object[name];
    if !slot.is_object() {
        *slot = Value::Object(Map::new());
    }
    slot.as_object_mut().expect("it was made an object above")
}

/// A member of an object, made as `null` where it is missing; what is no object becomes one.
pub fn slot<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    &mut object[name]
}

/// Sets a member of an object that has none of that name, or `null`.
pub fn default_member(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        let member = members.entry(name).or_insert(Value::Null);
        if member.is_null() {
            *member = value.into();
        }
    }
}

/// The entries of a list inside an object, where there is one. (Indexing would leave a `null` behind.)
pub fn entries<'a>(object: &'a mut Value, pointer: &str) -> impl Iterator<Item = &'a mut Value> {
    object
        .pointer_mut(pointer)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}

/// A name as a part of a JSON pointer.
pub fn pointer_part(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that a part of a JSON pointer stands for.
pub fn name_of_part(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// The entries of a list; none where there is none.
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The text of a field; empty where there is none.
pub fn string<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The strings of a list.
pub fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// The pairs of a map of strings.
pub fn pairs(map: &Value) -> impl Iterator<Item = (&str, &str)> {
    map.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(k, v)| Some((k.as_str(), v.as_str()?)))
}

/// Appends compact JSON.
pub fn write(out: &mut BytesMut, value: &(impl Serialize + ?Sized)) {
    serde_json::to_writer(out.writer(), value).expect("JSON values always serialize into memory");
}
