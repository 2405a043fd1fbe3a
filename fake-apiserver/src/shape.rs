//! The form of typed objects: which fields there are and of which JSON type.
//!
//! Owns the walk that brings a document into that form, as decoding it into a Go struct would: wrong types are
//! errors, unknown fields of closed structs are dropped and reported, `null` means absent, quantities become
//! canonical. Does not know any rule about values.

use crate::quantity::Quantity;
use serde_json::Value;

/// The form of one value.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Any JSON, kept as it is apart from `null` members.
    Any,
    /// A boolean.
    Bool,
    /// An integer; the text is the Go type.
    Int(&'static str),
    /// A string.
    Str,
    /// A resource quantity, made canonical.
    Quantity,
    /// A list of one form.
    List(&'static Shape),
    /// A map from strings to one form.
    Map(&'static Shape),
    /// A struct.
    Struct(&'static Struct),
}

/// A Go struct.
pub(crate) struct Struct {
    /// Name of the Go type, for messages.
    pub(crate) go: &'static str,
    /// The fields that are known.
    pub(crate) fields: &'static [Field],
    /// Whether further fields are kept: the table does not list all that the type has.
    pub(crate) open: bool,
}

/// A field of a struct.
pub(crate) struct Field {
    name: &'static str,
    shape: Shape,
    keep_empty: bool,
}

/// A field that vanishes when it is empty (`omitempty` on a plain Go field).
pub(crate) const fn field(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        keep_empty: false,
    }
}

/// A field that stays when it is empty: a Go pointer, where absent and empty differ.
pub(crate) const fn pointer(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        keep_empty: true,
    }
}

/// A list of strings.
pub(crate) const STRINGS: Shape = Shape::List(&Shape::Str);
/// A map from strings to strings.
pub(crate) const STRING_MAP: Shape = Shape::Map(&Shape::Str);
/// A map from resource names to quantities.
pub(crate) const QUANTITIES: Shape = Shape::Map(&Shape::Quantity);

impl Struct {
    /// Brings `value` into this form and returns the paths of unknown fields that were dropped.
    ///
    /// The error is the text of Go's decoder.
    pub(crate) fn conform(&self, value: &mut Value) -> Result<Vec<String>, String> {
        let mut unknown = Vec::new();
        self.walk(value, &mut String::new(), &mut unknown)?;
        Ok(unknown)
    }

    /// Whether every field of the type and of the types within is listed, so that unknown ones can be told.
    pub(crate) fn is_closed(&self) -> bool {
        !self.open && self.fields.iter().all(|f| f.shape.is_closed())
    }

    fn walk(&self, value: &mut Value, path: &mut String, unknown: &mut Vec<String>) -> Result<(), String> {
        let Value::Object(map) = value else {
            return Err(mismatch(value, "", path, self.go));
        };
        map.retain(|_, v| !v.is_null());
        let mut dropped = Vec::new();
        for (key, inner) in map.iter_mut() {
            let length = path.len();
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(key);
            match self.fields.iter().find(|f| f.name == key) {
                Some(f) => {
                    f.shape.walk(inner, self.go, path, unknown)?;
                    if !f.keep_empty && is_empty(inner) {
                        dropped.push(key.clone());
                    }
                }
                None if self.open => strip_nulls(inner),
                None => {
                    unknown.push(path.clone());
                    dropped.push(key.clone());
                }
            }
            path.truncate(length);
        }
        for key in dropped {
            map.remove(&key);
        }
        Ok(())
    }
}

impl Shape {
    fn is_closed(self) -> bool {
        match self {
            Self::Struct(s) => s.is_closed(),
            Self::List(inner) | Self::Map(inner) => inner.is_closed(),
            Self::Any | Self::Bool | Self::Int(_) | Self::Str | Self::Quantity => true,
        }
    }

    fn walk(
        self,
        value: &mut Value,
        owner: &str,
        path: &mut String,
        unknown: &mut Vec<String>,
    ) -> Result<(), String> {
        match (self, &mut *value) {
            (Self::Any, _) => {
                strip_nulls(value);
                Ok(())
            }
            (Self::Bool, Value::Bool(_)) | (Self::Str, Value::String(_)) => Ok(()),
            (Self::Int(_), Value::Number(n)) if n.is_i64() => Ok(()),
            (Self::Quantity, Value::String(_) | Value::Number(_)) => canonical(value),
            (Self::List(inner), Value::Array(items)) => items
                .iter_mut()
                .try_for_each(|item| inner.walk(item, owner, path, unknown)),
            (Self::Map(inner), Value::Object(map)) => {
                map.retain(|_, v| !v.is_null());
                map.values_mut()
                    .try_for_each(|item| inner.walk(item, owner, path, unknown))
            }
            (Self::Struct(s), Value::Object(_)) => s.walk(value, path, unknown),
            _ => Err(mismatch(value, owner, path, &self.go())),
        }
    }

    /// The Go type as decoding errors name it.
    fn go(self) -> String {
        match self {
            Self::Any => "interface {}".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int(go) => go.to_owned(),
            Self::Str => "string".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::List(inner) => format!("[]{}", inner.go()),
            Self::Map(inner) => format!("map[string]{}", inner.go()),
            Self::Struct(s) => s.go.to_owned(),
        }
    }
}

/// Removes `null` members at any depth: for typed objects they mean the same as no member.
pub(crate) fn strip_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        _ => {}
    }
}

fn canonical(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    };
    let quantity: Quantity = text
        .parse()
        .map_err(|e: crate::quantity::QuantityError| e.to_string())?;
    *value = quantity.to_string().into();
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::String(s) => s.is_empty(),
        Value::Array(a) => a.is_empty(),
        Value::Object(o) => o.is_empty(),
        _ => false,
    }
}

fn mismatch(value: &Value, owner: &str, path: &str, go: &str) -> String {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if path.is_empty() {
        format!("json: cannot unmarshal {found} into Go value of type {go}")
    } else {
        format!("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {go}")
    }
}
