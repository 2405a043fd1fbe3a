//! Uniqueness of list items: lists of type `set` and `map`.

use super::trail::Trail;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::schema::{ListType, Schema};
use serde_json::{Map, Value};
use std::collections::HashMap;

/// Reports duplicate items in all lists of a value.
pub(crate) fn validate(value: &Value, schema: &Schema, errors: &mut ErrorList) {
    visit(value, schema, &mut Trail::default(), errors);
}

fn visit(value: &Value, schema: &Schema, trail: &mut Trail, errors: &mut ErrorList) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let Some(inner) = schema.properties.get(name) {
                    trail.member(name, |trail| visit(member, inner, trail, errors));
                } else if let Some(inner) = schema.additional_schema() {
                    trail.key(name, |trail| visit(member, inner, trail, errors));
                }
            }
        }
        Value::Array(items) => {
            match &schema.list {
                ListType::Atomic => {}
                ListType::Set => duplicates(items.iter().cloned(), trail, errors),
                ListType::Map(keys) => report_duplicate_keys(items, keys, trail, errors),
            }
            if let Some(inner) = schema.items.as_deref() {
                for (index, item) in items.iter().enumerate() {
                    trail.entry(index, |trail| visit(item, inner, trail, errors));
                }
            }
        }
        _ => {}
    }
}

fn report_duplicate_keys(items: &[Value], keys: &[String], trail: &Trail, errors: &mut ErrorList) {
    let wrong = items.iter().position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = wrong {
        let text = "must be an object for an array of list-type map";
        return errors.invalid(format!("{}[{index}]", trail.as_str()), items[index].clone(), text);
    }
    let key = |item: &Value| -> Value {
        let named = keys
            .iter()
            .filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
        named.collect::<Map<_, _>>().into()
    };
    duplicates(items.iter().map(key), trail, errors);
}

/// Reports duplicate items: the second of several equal items, but not the third and later ones.
fn duplicates(items: impl Iterator<Item = Value>, trail: &Trail, errors: &mut ErrorList) {
    let mut seen: HashMap<Value, usize> = HashMap::new();
    for (index, item) in items.enumerate() {
        let times = seen.entry(item.clone()).or_insert(0);
        *times += 1;
        if *times == 2 {
            errors.duplicate(format!("{}[{index}]", trail.as_str()), item);
        }
    }
}
