//! Types of expressions.
//!
//! Owns what a schema means for an expression, and how types are written. Does not know expressions, nor which types go
//! together.

use super::declared::Declared;
use crate::schema::{Type as ObjectType, ValueType};
use std::fmt::{self, Display, Formatter};
use std::sync::Arc;

/// The type of an expression.
#[derive(Clone, Debug)]
pub(super) enum CelType<'a> {
    /// Anything.
    Dyn,
    /// Of what is wrong, and was reported.
    Error,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    Bytes,
    Time,
    Duration,
    List(Arc<Self>),
    /// The types of keys and values.
    Map(Arc<Self>, Arc<Self>),
    Optional(Arc<Self>),
    /// The type of types of this kind.
    Type(Arc<Self>),
    /// A type that is not known yet. Those of signatures come first.
    Variable(u32),
    /// A type of a library, by its name.
    Library(&'static str),
    /// An object of a schema.
    Object(Arc<Named<'a>>),
    /// An object of a type of the API.
    Typed(&'static ObjectType),
    /// A record of declared members.
    Record(&'static Record),
    /// `variables`: what was computed before, by name.
    Computed(Arc<Vec<(&'a str, Self)>>),
    /// An object that an expression makes, by the name of its type.
    Made(&'a str),
}

/// An object of a schema, with the name that its type goes by.
#[derive(Clone, Debug)]
pub(super) struct Named<'a> {
    pub(super) declared: Declared<'a>,
    pub(super) name: String,
}

/// A record of declared members.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: &'static str,
    pub(super) members: &'static [(&'static str, Member)],
}

/// What a member of a record is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Member {
    Text,
    Bool,
    Int,
    Time,
    /// Anything.
    Dyn,
    Texts,
    /// Texts by name.
    Map,
    /// Lists of texts by name.
    Lists,
    One(&'static Record),
    Many(&'static Record),
}

impl Member {
    pub(super) fn as_type<'a>(self) -> CelType<'a> {
        let by_name = |of| CelType::map(CelType::Text, of);
        match self {
            Self::Text => CelType::Text,
            Self::Bool => CelType::Bool,
            Self::Int => CelType::Int,
            Self::Time => CelType::Time,
            Self::Dyn => CelType::Dyn,
            Self::Texts => CelType::list(CelType::Text),
            Self::Map => by_name(CelType::Text),
            Self::Lists => by_name(CelType::list(CelType::Text)),
            Self::One(record) => CelType::Record(record),
            Self::Many(record) => CelType::list(CelType::Record(record)),
        }
    }
}

/// Libraries whose types have no members, not even unknown ones.
const OPAQUE: [&str; 2] = ["net.IP", "net.CIDR"];

impl<'a> CelType<'a> {
    pub(super) fn list(item: Self) -> Self {
        Self::List(Arc::new(item))
    }

    pub(super) fn map(key: Self, value: Self) -> Self {
        Self::Map(Arc::new(key), Arc::new(value))
    }

    pub(super) fn optional(of: Self) -> Self {
        Self::Optional(Arc::new(of))
    }

    /// The type of the values that follow a schema; none where expressions do not see them. Types of objects go by the
    /// place where they are.
    pub(super) fn of(declared: Declared<'a>, name: &str) -> Option<Self> {
        Some(match declared {
            Declared::Name | Declared::Key => Self::Text,
            Declared::Metadata => Self::object(declared, name),
            Declared::Value(schema, _) if schema.int_or_string => Self::Dyn,
            Declared::Value(schema, _) => match schema.of {
                "boolean" => Self::Bool,
                "integer" => Self::Int,
                "number" => Self::Double,
                "string" => match schema.format() {
                    "date-time" | "date" => Self::Time,
                    "duration" => Self::Duration,
                    "byte" => Self::Bytes,
                    _ => Self::Text,
                },
                "array" => Self::list(Self::of(declared.entries()?, &format!("{name}.@idx"))?),
                "object" => match declared.entries() {
                    Some(entries) => Self::map(Self::Text, Self::of(entries, &format!("{name}.@elem"))?),
                    None => Self::object(declared, name),
                },
                _ => return None,
            },
        })
    }

    fn object(declared: Declared<'a>, name: &str) -> Self {
        let name = name.to_owned();
        Self::Object(Arc::new(Named { declared, name }))
    }

    /// The type of the values of a form of the API.
    pub(super) fn of_form(form: &'static ValueType) -> Self {
        match form {
            ValueType::Bool => Self::Bool,
            ValueType::Double => Self::Double,
            ValueType::Int32 | ValueType::Int64 => Self::Int,
            ValueType::Text(_) => Self::Text,
            ValueType::Bytes => Self::Bytes,
            ValueType::Time | ValueType::MicroTime => Self::Time,
            ValueType::Struct(of) => Self::Typed(of.get()),
            ValueType::List(inner) => Self::list(Self::of_form(inner)),
            ValueType::Map(inner) => Self::map(Self::Text, Self::of_form(inner)),
            ValueType::Raw | ValueType::Quantity | ValueType::IntOrString => Self::Dyn,
        }
    }

    /// What an optional value may hold; the type itself for others.
    pub(super) fn unwrapped(&self) -> &Self {
        match self {
            Self::Optional(inner) => inner,
            other => other,
        }
    }

    pub(super) fn is_any(&self) -> bool {
        matches!(self, Self::Dyn | Self::Error)
    }

    /// Whether values have members of their own names.
    pub(super) fn is_struct(&self) -> bool {
        match self {
            Self::Object(_) | Self::Typed(_) | Self::Record(_) | Self::Computed(_) | Self::Made(_) => true,
            Self::Library(name) => !OPAQUE.contains(name),
            _ => false,
        }
    }

    /// Whether all values have the same size.
    pub(super) fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Double | Self::Duration | Self::Int | Self::Time | Self::Uint => true,
            Self::Optional(inner) => inner.is_scalar(),
            _ => false,
        }
    }

    /// The types that this one is made of.
    pub(super) fn parts(&self) -> Vec<&Self> {
        match self {
            Self::List(item) | Self::Optional(item) | Self::Type(item) => vec![item],
            Self::Map(key, value) => vec![key, value],
            _ => Vec::new(),
        }
    }
}

impl PartialEq for CelType<'_> {
    /// Whether both are the same type.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Variable(one), Self::Variable(other)) => one == other,
            (Self::Library(one), Self::Library(other)) => one == other,
            (Self::Object(one), Self::Object(other)) => one.name == other.name,
            (Self::Typed(one), Self::Typed(other)) => one.name == other.name,
            (Self::Record(one), Self::Record(other)) => one.name == other.name,
            (Self::Made(one), Self::Made(other)) => one == other,
            _ => {
                std::mem::discriminant(self) == std::mem::discriminant(other) && self.parts() == other.parts()
            }
        }
    }
}

impl Display for CelType<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => out.write_str("dyn"),
            Self::Error => out.write_str("!error!"),
            Self::Null => out.write_str("null"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::Uint => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::Text => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Time => out.write_str("timestamp"),
            Self::Duration => out.write_str("duration"),
            Self::List(item) => write!(out, "list({item})"),
            Self::Map(key, value) => write!(out, "map({key}, {value})"),
            Self::Optional(inner) => write!(out, "optional_type({inner})"),
            Self::Type(of) => write!(out, "type({of})"),
            Self::Variable(number) => write!(out, "_var{number}"),
            Self::Library(name) => out.write_str(name),
            Self::Object(named) => out.write_str(&named.name),
            Self::Typed(of) => write!(out, "io.k8s.api.{}", of.name),
            Self::Record(record) => out.write_str(record.name),
            Self::Computed(_) => out.write_str("kubernetes.variables"),
            Self::Made(name) => out.write_str(name),
        }
    }
}
