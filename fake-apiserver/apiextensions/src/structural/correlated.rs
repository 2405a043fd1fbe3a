//! Correlation of old and new values, for ratcheting: unchanged values are not validated again.
//!
//! Owns the search for the old item that corresponds to a list item. Does not know validation rules.

use fake_apiserver::extension::schema::{ListType, Schema};
use serde_json::Value;

/// The corresponding value in the object before the update; None if the old object has no such value.
pub(crate) type OldValue<'a> = Option<&'a Value>;

pub(crate) fn member<'a>(before: OldValue<'a>, name: &str) -> OldValue<'a> {
    before?.as_object()?.get(name)
}

/// The old value of a list item: the item with the same list map keys. None unless the list has the type `map`.
pub(crate) fn entry<'a>(before: OldValue<'a>, schema: &Schema, item: &Value) -> OldValue<'a> {
    let ListType::Map(keys) = &schema.list else {
        return None;
    };
    let mut items = before?.as_array()?.iter();
    items.find(|old| has_key(old, item, keys))
}

fn has_key(one: &Value, other: &Value, keys: &[String]) -> bool {
    one.is_object() && keys.iter().all(|key| one.get(key) == other.get(key))
}

/// Whether a value is unchanged. The order of items in lists of type `map` is ignored.
pub(crate) fn is_same(new: &Value, before: &Value, schema: Option<&Schema>) -> bool {
    match (new, before) {
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| {
                    let inner = schema.and_then(|schema| schema.member(name));
                    old.get(name).is_some_and(|old| is_same(value, old, inner))
                })
        }
        (Value::Array(new), Value::Array(old)) => {
            let keyed = schema.filter(|schema| schema.keys().is_some());
            let same = |schema: &Schema| {
                let same = |item: &Value| {
                    let old = entry(Some(before), schema, item);
                    old.is_some_and(|old| is_same(item, old, schema.items.as_deref()))
                };
                new.iter().all(same)
            };
            new.len() == old.len() && keyed.map_or_else(|| new == old, same)
        }
        _ => new == before,
    }
}
