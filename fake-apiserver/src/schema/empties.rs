//! What is told apart only until it is stored: a list or map that was sent without entries, and one that was not sent.
//!
//! Field managers see the difference where such a field is always written: who sends an empty list owns it. Others are left out of an
//! object at once, and rules that tell them apart get them back. What was stored comes back without a difference.

use super::types::{Presence, Type, TypeId, ValueType};
use crate::machinery::json;
use serde_json::{Map, Value};

/// A list or map that was sent without entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Empty {
    /// Where it was, as a JSON pointer.
    pub(super) pointer: String,
    pub(super) is_list: bool,
}

/// Puts back what was left out, where nothing else is now.
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

/// Turns lists and maps without entries into `null`, where they are written at all.
pub(crate) fn forget_empties(of: &Type, object: &mut Value) {
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

/// The same within a value.
fn below(form: &ValueType, value: &mut Value) {
    match (form, value) {
        (ValueType::Struct(id), value) => forget_empties(id.get(), value),
        (ValueType::List(inner), Value::Array(items)) => items.iter_mut().for_each(|item| below(inner, item)),
        (ValueType::Map(inner), Value::Object(members)) => {
            members.values_mut().for_each(|member| below(inner, member));
        }
        _ => {}
    }
}

/// Whether a value is a list or a map, and empty.
pub(super) fn is_without_entries(form: &ValueType, value: &Value) -> bool {
    match (form, value) {
        (ValueType::List(_), Value::Array(items)) => items.is_empty(),
        (ValueType::Map(_), Value::Object(members)) => members.is_empty(),
        _ => false,
    }
}

/// Marks the fields in which there may be such a list or map, so that nothing else is looked through.
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

/// The type of what is in a value.
fn held(form: &ValueType) -> Option<TypeId> {
    match form {
        ValueType::Struct(id) => Some(*id),
        other => other.element().and_then(held),
    }
}
