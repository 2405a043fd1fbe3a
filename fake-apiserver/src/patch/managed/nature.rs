//! How values are divided into fields: the schema as field managers see it.
//!
//! Structs and maps are divided by member, lists by key or value where the schema says so, and everything else is one
//! field. Does not know sets.

use super::set::Element;
use crate::schema::{Ownership, Presence, Type, ValueType, zero};
use serde_json::{Map, Value};

/// How a value is divided into fields.
#[derive(Clone, Copy)]
pub(super) enum Nature {
    /// Not at all.
    Leaf,
    Struct(&'static Type),
    Map(&'static ValueType),
    /// A list of structs that are identified by these members.
    Keyed(&'static [&'static str], &'static ValueType),
    /// A list of scalars.
    Set,
}

impl Nature {
    pub(super) fn of(form: &'static ValueType, ownership: &'static Ownership) -> Self {
        match (form, ownership) {
            (_, Ownership::Atomic) => Self::Leaf,
            (ValueType::Struct(id), Ownership::Granular) => Self::Struct(id.get()),
            (ValueType::Struct(id), _) if !id.get().atomic => Self::Struct(id.get()),
            (ValueType::Map(inner), _) => Self::Map(inner),
            (ValueType::List(_), Ownership::Set) => Self::Set,
            (ValueType::List(inner), Ownership::Keyed(keys)) => Self::Keyed(keys, inner),
            _ => Self::Leaf,
        }
    }

    /// What a member of a struct or map is; `None` for a field that the struct does not have.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Struct(of) => of
                .field(name)
                .map(|field| Self::of(&field.form, &field.ownership)),
            Self::Map(form) => Some(Self::of(form, &Ownership::Natural)),
            Self::Leaf | Self::Keyed(..) | Self::Set => None,
        }
    }

    /// What an entry of a list is.
    pub(super) fn entry(self) -> Self {
        match self {
            Self::Keyed(_, form) => Self::of(form, &Ownership::Natural),
            _ => Self::Leaf,
        }
    }

    /// How paths name an entry of a list. Why they can't, otherwise.
    pub(super) fn name(self, item: &Value) -> Result<Element<'static>, String> {
        match (self, item) {
            (Self::Keyed(keys, form), Value::Object(members)) => key(keys, form, members),
            (Self::Keyed(..), Value::Null) => {
                Err("associative list with keys may not have a null element".to_owned())
            }
            (Self::Keyed(..), _) => {
                Err("associative list with keys may not have non-map elements".to_owned())
            }
            (_, Value::Object(_)) => {
                Err("associative list without keys has an element that's a map type".to_owned())
            }
            (_, Value::Array(_)) => Err("not supported: associative list with lists as elements".to_owned()),
            (_, Value::Null) => {
                Err("associative list without keys has an element that's an explicit null".to_owned())
            }
            (_, scalar) => Ok(Element::Value(scalar.to_string().into())),
        }
    }
}

/// The key of an entry. Ports are those of TCP unless they say otherwise, and what is always written is there; other
/// members that are not there are no part of the key.
fn key(keys: &[&str], form: &ValueType, members: &Map<String, Value>) -> Result<Element<'static>, String> {
    let default = |name: &str| match form {
        _ if name == "protocol" => Some(Value::from("TCP")),
        ValueType::Struct(id) => {
            let field = id.get().field(name)?;
            (field.presence == Presence::Always).then(|| zero(&field.form))
        }
        _ => None,
    };
    let found: Map<String, Value> = keys
        .iter()
        .filter_map(|name| {
            let value = members.get(*name).cloned().or_else(|| default(name))?;
            Some(((*name).to_owned(), value))
        })
        .collect();
    if found.is_empty() {
        let keys: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        ));
    }
    Ok(Element::Key(Value::Object(found).to_string().into()))
}

/// Whether there is nothing to look into.
pub(super) fn is_hollow(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}
