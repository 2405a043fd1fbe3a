//! What is told apart only until it is stored: a list or map that was sent without entries, and one that was not sent.
//!
//! Field managers see the difference: who sends an empty list owns the field. What was stored comes back without it.

use super::types::{Presence, Type, TypeId, ValueType};
use serde_json::Value;

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
