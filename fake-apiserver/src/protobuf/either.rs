//! Union messages, whose JSON is the value of the one field that is set: `JSONSchemaPropsOrArray`, `JSONSchemaPropsOrBool`.
//!
//! Owns the selection of the field that is set. Does not know the wire format.

use super::table::{Message, Shape, WireField, WireType};
use serde_json::{Map, Value};

/// The JSON of a union message: the value of the field that is set. If both are set, a struct takes precedence over a boolean.
pub(super) fn union_json(message: &Message, mut members: Map<String, Value>) -> Value {
    let structs = message.fields.iter().filter(|field| is_struct(field));
    let others = message.fields.iter().filter(|field| !is_struct(field));
    let found = structs
        .chain(others)
        .find_map(|field| members.remove(field.member?));
    found.unwrap_or_default()
}

/// The fields of a union message with this JSON value. If the value is a schema, the boolean `allows` is also set to true.
pub(super) fn union_members(message: &Message, value: &Value) -> Map<String, Value> {
    let mut members = Map::new();
    for field in &message.fields {
        let set = match (value, field.shape) {
            (Value::Object(_), _) if is_struct(field) => value.clone(),
            (Value::Object(_), Shape::One) => true.into(),
            (Value::Array(_), Shape::List) | (Value::Bool(_), Shape::One) => value.clone(),
            _ => continue,
        };
        members.extend(field.member.map(|member| (member.to_owned(), set)));
    }
    members
}

fn is_struct(field: &WireField) -> bool {
    matches!((field.of, field.shape), (WireType::Message(_), Shape::Pointer))
}
