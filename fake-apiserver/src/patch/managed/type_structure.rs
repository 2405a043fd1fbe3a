//! How values are divided into fields: types and schemas for field managers.
//!
//! Structs and maps are divided by member, associative lists by key or value, and all other values are single fields. Does not know field
//! sets.

use super::set::Element;
use crate::kinds::{Kind, Shape};
use crate::schema::structural::{Additional, ListType, OBJECT_MEMBERS, Schema};
use crate::schema::{Ownership, Presence, Type, ValueType, zero};
use serde_json::{Map, Value};

/// How a value is divided into fields.
#[derive(Clone, Copy)]
pub(super) enum TypeStructure<'t> {
    /// The whole value is a single field.
    Leaf,
    Struct(&'static Type),
    Map(&'static ValueType),
    /// A list of structs that are identified by the given key fields.
    Keyed(&'static [&'static str], &'static ValueType),
    /// A list of scalars, each of which is a field.
    Set,
    /// A custom resource, or an object inside a custom resource.
    Schema(SchemaNode<'t>),
    /// A list of objects in a custom resource. The schema defines the key fields.
    Entries(&'t Schema),
    /// A value without schema: objects are divided by member, other values are single fields.
    Free,
}

/// The schema of an object in a custom resource.
#[derive(Clone, Copy)]
pub(super) struct SchemaNode<'t> {
    schema: &'t Schema,
    /// Whether the object has apiVersion, kind and metadata, even if the schema does not declare them.
    is_object: bool,
}

impl<'t> TypeStructure<'t> {
    pub(super) fn of_kind(kind: &'t Kind) -> Self {
        match kind.shape() {
            Shape::Typed(of) => Self::Struct(of),
            Shape::Defined(defined) => Self::Schema(SchemaNode {
                schema: &defined.schema,
                is_object: true,
            }),
        }
    }

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

    pub(super) fn of_schema(schema: &'t Schema) -> Self {
        match (schema.of, &schema.list) {
            _ if schema.atomic => Self::Leaf,
            ("object", _) => Self::Schema(SchemaNode {
                schema,
                is_object: schema.embedded,
            }),
            ("array", ListType::Set) => Self::Set,
            ("array", ListType::Map(_)) => Self::Entries(schema),
            ("", _) if !schema.int_or_string => Self::Free,
            _ => Self::Leaf,
        }
    }

    /// The structure of a specific value: without schema, only objects are divided into fields.
    pub(super) fn of_value(self, value: &Value) -> Self {
        match self {
            Self::Free if !value.is_object() => Self::Leaf,
            other => other,
        }
    }

    /// Whether a value of this structure has one field per member.
    pub(super) fn has_members(self) -> bool {
        matches!(
            self,
            Self::Struct(_) | Self::Map(_) | Self::Schema(_) | Self::Free
        )
    }

    /// Whether a value of this structure has one field per list entry.
    pub(super) fn has_entries(self) -> bool {
        matches!(self, Self::Keyed(..) | Self::Set | Self::Entries(_))
    }

    /// The structure of the member `name`; `None` for an unknown field.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        match self {
            Self::Struct(of) => of
                .field(name)
                .map(|field| Self::of(&field.form, &field.ownership)),
            Self::Map(form) => Some(Self::of(form, &Ownership::Natural)),
            Self::Schema(position) => position.member(name),
            Self::Free => Some(Self::Free),
            Self::Leaf | Self::Keyed(..) | Self::Set | Self::Entries(_) => None,
        }
    }

    /// The schema of a member, if the value has a schema.
    pub(super) fn schema_of(self, name: &str) -> Option<&'t Schema> {
        match self {
            Self::Schema(position) => position.schema.member(name),
            _ => None,
        }
    }

    /// Whether a member is a declared field and not a map member. Field sets contain the inner fields of a declared struct, not the struct.
    pub(super) fn declares(self, name: &str) -> bool {
        match self {
            Self::Struct(_) => true,
            Self::Schema(SchemaNode { schema, is_object }) => {
                schema.properties.contains_key(name) || (is_object && OBJECT_MEMBERS.contains(&name))
            }
            _ => false,
        }
    }

    /// The structure of the entries of a list.
    pub(super) fn entry(self) -> Self {
        match self {
            Self::Keyed(_, form) => Self::of(form, &Ownership::Natural),
            Self::Entries(schema) => schema.items.as_deref().map_or(Self::Leaf, Self::of_schema),
            _ => Self::Leaf,
        }
    }

    /// The path element of a list entry, or the reason why it has none.
    pub(super) fn path_element(self, item: &Value) -> Result<Element<'static>, String> {
        match (self, item) {
            (Self::Keyed(keys, form), Value::Object(members)) => {
                key(keys.iter().copied(), members, |name| default(name, form))
            }
            (Self::Entries(schema), Value::Object(members)) => {
                let keys = schema.keys().unwrap_or_default().iter().map(String::as_str);
                let items = schema.items.as_deref();
                key(keys, members, |name| items?.properties.get(name)?.default.clone())
            }
            (Self::Keyed(..) | Self::Entries(_), Value::Null) => {
                Err("associative list with keys may not have a null element".to_owned())
            }
            (Self::Keyed(..) | Self::Entries(_), _) => {
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

impl<'t> SchemaNode<'t> {
    fn member(self, name: &str) -> Option<TypeStructure<'t>> {
        let Self { schema, is_object } = self;
        if is_object && name == "metadata" {
            return Some(TypeStructure::Struct(Type::object_meta()));
        }
        if is_object && OBJECT_MEMBERS.contains(&name) {
            return Some(TypeStructure::Leaf);
        }
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Some(TypeStructure::of_schema(property)),
            (None, Some(Additional::Schema(schema))) => Some(TypeStructure::of_schema(schema)),
            (None, Some(Additional::Any(true))) => Some(TypeStructure::Free),
            (None, _) => schema.preserve.then_some(TypeStructure::Free),
        }
    }
}

/// The value of a key field that a list entry omits: the default, or the zero value if the field is always serialized. Otherwise `None`:
/// the field is not part of the key.
fn default(name: &str, form: &ValueType) -> Option<Value> {
    let ValueType::Struct(id) = form else { return None };
    let field = id.get().field(name)?;
    match field.default {
        Some(default) => Some(default.into()),
        None => (field.presence == Presence::Always).then(|| zero(&field.form)),
    }
}

/// The key of a list entry.
fn key<'k>(
    keys: impl Iterator<Item = &'k str> + Clone,
    members: &Map<String, Value>,
    default: impl Fn(&str) -> Option<Value>,
) -> Result<Element<'static>, String> {
    let found: Map<String, Value> = keys
        .clone()
        .filter_map(|name| {
            let value = members.get(name).cloned().or_else(|| default(name))?;
            Some((name.to_owned(), value))
        })
        .collect();
    if found.is_empty() {
        let keys: Vec<String> = keys.map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default \
             values for any key fields)",
            keys.join(" ")
        ));
    }
    Ok(Element::Key(Value::Object(found).to_string().into()))
}

/// Whether a value is missing, `null`, or an empty list or map.
pub(super) fn is_empty_value(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(members)) => members.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(_) => false,
    }
}
