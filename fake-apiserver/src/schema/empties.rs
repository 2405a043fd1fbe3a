//! Empty lists and maps. They differ from absent ones only until the object is stored.
//!
//! In fields that are always serialized, an empty value counts for field managers: a client that sends an empty list owns the field. Other
//! empty fields are removed on decoding, and restored for validation rules that distinguish empty from absent. Stored objects do not
//! preserve the difference.

use super::types::{Presence, Type, TypeId, ValueType};
use crate::machinery::json;
use serde_json::{Map, Value};

/// A list or map that the client sent empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Empty {
    /// The path of the list or map as a JSON pointer.
    pub(super) pointer: String,
    pub(super) is_list: bool,
}

/// Restores removed empty lists and maps where the object has no value now.
pub(crate) fn put_back(object: &mut Value, empties: &[Empty]) {
    for Empty { pointer, is_list } in empties {
        let Some((parent, name)) = pointer.rsplit_once('/') else {
            continue;
        };
        if let Some(Value::Object(members)) = object.pointer_mut(parent) {
            let now = members.entry(json::name_of_part(name)).or_insert(Value::Null);
            if now.is_null() {
                *now = match is_list {
                    true => Value::Array(Vec::new()),
                    false => Value::Object(Map::new()),
                };
            }
        }
    }
}

/// Replaces empty lists and maps by `null` in fields that are always serialized.
pub(crate) fn nullify_empties(of: &Type, object: &mut Value) {
    let Value::Object(members) = object else { return };
    for field in of.fields.iter().filter(|field| field.holds_empties) {
        let Some(member) = members.get_mut(field.name) else {
            continue;
        };
        if field.presence == Presence::Always && is_without_entries(&field.form, member) {
            *member = Value::Null;
        } else {
            below(&field.form, member);
        }
    }
}

/// Replaces empty lists and maps by `null` in the structs inside a value.
fn below(form: &ValueType, value: &mut Value) {
    match (form, value) {
        (ValueType::Struct(id), value) => nullify_empties(id.get(), value),
        (ValueType::List(inner), Value::Array(items)) => items.iter_mut().for_each(|item| below(inner, item)),
        (ValueType::Map(inner), Value::Object(members)) => {
            members.values_mut().for_each(|member| below(inner, member));
        }
        _ => {}
    }
}

/// Whether a value is an empty list or map.
pub(super) fn is_without_entries(form: &ValueType, value: &Value) -> bool {
    match (form, value) {
        (ValueType::List(_), Value::Array(items)) => items.is_empty(),
        (ValueType::Map(_), Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

/// Marks the fields that can contain an empty list or map. Other fields are not searched.
pub(super) fn mark(types: &mut [Type]) {
    let mut holding: Vec<bool> = vec![false; types.len()];
    loop {
        let mut is_settled = true;
        for (i, of) in types.iter_mut().enumerate() {
            for field in of.fields.iter_mut().filter(|field| !field.holds_empties) {
                let is_one = matches!(field.form, ValueType::List(_) | ValueType::Map(_))
                    && field.presence == Presence::Always;
                let is_above = held(&field.form).is_some_and(|TypeId(number)| holding[number]);
                if is_one || is_above {
                    field.holds_empties = true;
                    holding[i] = true;
                    is_settled = false;
                }
            }
        }
        if is_settled {
            return;
        }
    }
}

/// The struct type that a value contains, if any.
fn held(form: &ValueType) -> Option<TypeId> {
    match form {
        ValueType::Struct(id) => Some(*id),
        other => other.element().and_then(held),
    }
}
