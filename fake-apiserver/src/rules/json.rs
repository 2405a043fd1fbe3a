//! Values as JSON: what becomes of what an expression yields.

use super::failure::Failure;
use super::functions::shown;
use super::value::Val;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

impl Val<'_> {
    /// The value as JSON; optional values are what is in them, or `null`.
    pub(super) fn to_json(&self) -> Result<Value, Failure> {
        let members = |entries: Vec<(Self, Self)>| {
            let made = entries.into_iter().map(|(key, value)| match key {
                Val::Text(name) => Ok((name.into_owned(), value.to_json()?)),
                other => Err(Failure::new(format!(
                    "keys of objects are strings, and this one is of type {}",
                    other.type_name()
                ))),
            });
            made.collect::<Result<Map<_, _>, _>>().map(Value::Object)
        };
        Ok(match self {
            Self::Null | Self::Optional(None) => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => (*value).into(),
            Self::Uint(value) => (*value).into(),
            Self::Double(value) => (*value).into(),
            Self::Items(items, _) => Value::Array(items.to_vec()),
            Self::Members(members, _) => Value::Object(Map::clone(members)),
            Self::List(items, _) => Value::Array(items.iter().map(Self::to_json).collect::<Result<_, _>>()?),
            Self::Map(_) => members(self.entries())?,
            Self::Optional(Some(value)) => value.to_json()?,
            Self::Bytes(bytes) => STANDARD.encode(bytes).into(),
            Self::Quantity(quantity) => quantity.to_string().into(),
            other => match shown(other) {
                Some(text) => text.into(),
                None => {
                    let of = other.type_name();
                    return Err(Failure::new(format!(
                        "a value of type {of} is no part of an object"
                    )));
                }
            },
        })
    }
}
