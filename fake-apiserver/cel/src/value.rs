//! Conversion between JSON and CEL values.

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, OptionalValue};
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

/// Converts JSON without a schema to a CEL value.
pub fn from_json(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => (*value).into(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(number), _) => number.into(),
            (_, Some(number)) => number.into(),
            _ => number.as_f64().unwrap_or_default().into(),
        },
        Json::String(text) => text.as_str().into(),
        Json::Array(items) => items.iter().map(from_json).collect::<Vec<_>>().into(),
        Json::Object(members) => {
            let members = members.iter();
            let members: HashMap<&str, Value> = members
                .map(|(name, member)| (name.as_str(), from_json(member)))
                .collect();
            members.into()
        }
    }
}

/// A value of the CEL type `optional_type`; `None` becomes `optional.none()`.
pub fn optional(value: Option<Value>) -> Value {
    Value::Opaque(Arc::new(
        value.map_or_else(OptionalValue::none, OptionalValue::of),
    ))
}

/// Converts a CEL value to JSON. An optional becomes its value or `null`. The error names the type that JSON cannot represent.
pub(super) fn to_json(value: &Value) -> Result<Json, String> {
    Ok(match value {
        Value::Null => Json::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(value) => (*value).into(),
        Value::UInt(value) => (*value).into(),
        Value::Float(value) => (*value).into(),
        Value::String(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(to_json).collect::<Result<Vec<_>, _>>()?.into(),
        Value::Map(map) => {
            let members = map.map.iter().map(|(key, member)| match key {
                Key::String(name) => Ok((name.to_string(), to_json(member)?)),
                _ => Err("map keys must be strings".to_owned()),
            });
            Json::Object(members.collect::<Result<Map<_, _>, String>>()?)
        }
        Value::Opaque(opaque) if let Some(optional) = opaque.downcast_ref::<OptionalValue>() => {
            optional.value().map_or(Ok(Json::Null), to_json)?
        }
        other => {
            return Err(format!(
                "a CEL value of type {} cannot be converted to JSON",
                other.type_of()
            ));
        }
    })
}
