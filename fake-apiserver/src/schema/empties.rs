//! Empty lists and maps, which differ from absent lists and maps only until the object is stored.
//!
//! A client that sends an empty list owns the field, if the field is always serialized. In other fields, empty lists and maps are removed
//! on decoding, and restored for validation rules that distinguish empty from absent. Stored objects do not preserve the difference.

use super::types::{Presence, Type, TypeId, ValueType};
use crate::machinery::json;
use serde_json::{Map, Value};

/// A list or map that the client sent empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Empty {
    pub(super) pointer: String,
    pub(super) is_list: bool,
}

/// Restores empty lists and maps that decoding removed, unless the field has got another value since decoding.
pub(crate) fn restore_empties(object: &mut Value, empties: &[Empty]) {
    for Empty { pointer, is_list } in empties {
        let Some((parent, name)) = pointer.rsplit_once('/') else {
            continue;
        };
        if let Some(Value::Object(members)) = object.pointer_mut(parent) {
            let now = members
                .entry(json::unescape_pointer_part(name))
                .or_insert(Value::Null);
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
            nullify_in_value(&field.form, member);
        }
    }
}

/// Replaces empty lists and maps by `null` in all structs in a value, see `nullify_empties`.
fn nullify_in_value(form: &ValueType, value: &mut Value) {
    match (form, value) {
        (ValueType::Struct(id), value) => nullify_empties(id.get(), value),
        (ValueType::List(inner), Value::Array(items)) => {
            items.iter_mut().for_each(|item| nullify_in_value(inner, item));
        }
        (ValueType::Map(inner), Value::Object(members)) => {
            members
                .values_mut()
                .for_each(|member| nullify_in_value(inner, member));
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

/// Sets `holds_empties` of fields that can contain an empty list or map, so that only these fields are searched.
pub(super) fn mark_fields_with_empties(types: &mut [Type]) {
    let mut holding: Vec<bool> = vec![false; types.len()];
    loop {
        let mut is_settled = true;
        for (i, of) in types.iter_mut().enumerate() {
            for field in of.fields.iter_mut().filter(|field| !field.holds_empties) {
                let is_one = matches!(field.form, ValueType::List(_) | ValueType::Map(_))
                    && field.presence == Presence::Always;
                let is_above = contained_struct(&field.form).is_some_and(|TypeId(number)| holding[number]);
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

/// The struct type of a value, or of the innermost items of a list or map.
fn contained_struct(form: &ValueType) -> Option<TypeId> {
    match form {
        ValueType::Struct(id) => Some(*id),
        other => other.element().and_then(contained_struct),
    }
}
