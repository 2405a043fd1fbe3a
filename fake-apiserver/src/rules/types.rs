//! Types of expressions, and how large their values can be.
//!
//! Owns what a schema means for an expression. Does not know expressions.

use crate::schema::{Type as ObjectType, ValueType};
use crate::structural::Schema;
use std::fmt::{self, Display, Formatter};
use std::rc::Rc;

/// Bytes that a request may have, which bound whatever nothing else bounds.
const REQUEST_MAX: u64 = 3 * 1024 * 1024;

/// The type of an expression. Numbers are the most characters or entries that a value can have.
#[derive(Clone, Debug)]
pub(super) enum CelType<'a> {
    /// Anything.
    Dyn,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    Text(u64),
    Bytes,
    Time,
    Duration,
    List(Rc<Self>, u64),
    Map(Rc<Self>, u64),
    /// An object, and whether it has type and metadata.
    Object(&'a Schema, bool),
    /// The metadata that rules see.
    Metadata,
    Optional(Rc<Self>),
    Type,
    /// An object of a type of the API.
    Typed(&'static ObjectType),
    /// A record of declared members.
    Record(&'static Record),
    /// `variables`: what was computed before, by name.
    Computed(Rc<Vec<(&'a str, Self)>>),
    /// An object that an expression makes, by the name of its type.
    Made(&'a str),
    /// `authorizer`, or what follows from it.
    Permission,
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
        let text = || CelType::Text(REQUEST_MAX);
        let list = |of: CelType<'a>| CelType::List(Rc::new(of), REQUEST_MAX / 8);
        match self {
            Self::Text => text(),
            Self::Bool => CelType::Bool,
            Self::Int => CelType::Int,
            Self::Time => CelType::Time,
            Self::Dyn => CelType::Dyn,
            Self::Texts => list(text()),
            Self::Map => CelType::Map(Rc::new(text()), REQUEST_MAX / 8),
            Self::Lists => CelType::Map(Rc::new(list(text())), REQUEST_MAX / 8),
            Self::One(record) => CelType::Record(record),
            Self::Many(record) => list(CelType::Record(record)),
        }
    }
}

impl<'a> CelType<'a> {
    /// The type of the values that follow a schema.
    pub(super) fn of(schema: &'a Schema, is_root: bool) -> Self {
        if schema.int_or_string {
            return Self::Dyn;
        }
        match schema.of {
            "boolean" => Self::Bool,
            "integer" => Self::Int,
            "number" => Self::Double,
            "string" => match schema.format() {
                "date-time" | "date" => Self::Time,
                "duration" => Self::Duration,
                "byte" => Self::Bytes,
                _ => Self::Text(length_max(schema)),
            },
            "array" => {
                let item = schema
                    .items
                    .as_deref()
                    .map_or(Self::Dyn, |items| Self::of(items, false));
                Self::List(Rc::new(item), count_max(schema))
            }
            "object" => match schema.additional_schema() {
                Some(inner) => Self::Map(Rc::new(Self::of(inner, false)), count_max(schema)),
                None => Self::Object(schema, is_root || schema.embedded),
            },
            _ => Self::Dyn,
        }
    }

    /// The type of the values of a form of the API.
    pub(super) fn of_form(form: &'static ValueType) -> Self {
        let list = |inner: &'static ValueType| Rc::new(Self::of_form(inner));
        match form {
            ValueType::Bool => Self::Bool,
            ValueType::Double => Self::Double,
            ValueType::Int32 | ValueType::Int64 => Self::Int,
            ValueType::Text(_) => Self::Text(REQUEST_MAX),
            ValueType::Bytes => Self::Bytes,
            ValueType::Time | ValueType::MicroTime => Self::Time,
            ValueType::Struct(of) => Self::Typed(of.get()),
            ValueType::List(inner) => Self::List(list(inner), REQUEST_MAX / 8),
            ValueType::Map(inner) => Self::Map(list(inner), REQUEST_MAX / 8),
            ValueType::Raw | ValueType::Quantity | ValueType::IntOrString => Self::Dyn,
        }
    }

    /// The most characters or entries of a value; a whole request for what is not known.
    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Text(size) | Self::List(_, size) | Self::Map(_, size) => *size,
            Self::Dyn | Self::Bytes => REQUEST_MAX,
            _ => 1,
        }
    }

    /// The type of the entries of a list, or of the keys of a map.
    pub(super) fn entry(&self) -> Self {
        match self {
            Self::List(item, _) => Self::clone(item),
            Self::Map(_, size) => Self::Text((REQUEST_MAX / (*size).max(1)).min(REQUEST_MAX)),
            _ => Self::Dyn,
        }
    }

    /// Whether values of both types can be compared: those of one type, and numbers.
    pub(super) fn is_ordered_with(&self, other: &Self) -> bool {
        let is_number = |of: &Self| matches!(of, Self::Int | Self::Uint | Self::Double);
        (is_number(self) && is_number(other)) || self.meets(other)
    }

    /// Whether a value can be of both types.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) | (Self::Null, _) | (_, Self::Null) => true,
            (Self::List(one, _), Self::List(other, _)) | (Self::Map(one, _), Self::Map(other, _)) => {
                one.meets(other)
            }
            (
                Self::Object(..) | Self::Metadata | Self::Map(..) | Self::Typed(_) | Self::Record(_),
                Self::Object(..) | Self::Metadata | Self::Map(..) | Self::Typed(_) | Self::Record(_),
            ) => true,
            (Self::Made(one), Self::Made(other)) => one == other,
            (Self::Optional(one), Self::Optional(other)) => one.meets(other),
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

/// The most entries of lists and maps that follow a schema.
pub(super) fn count_max(schema: &Schema) -> u64 {
    let checks = schema.checks.as_deref();
    let said = checks.and_then(|checks| checks.items_max.or(checks.properties_max));
    let inner = schema.items.as_deref().or(schema.additional_schema());
    let least = inner.map_or(2, |inner| size_min(inner, 8));
    // The entries of a map have names, too.
    let entry = if schema.of == "object" {
        least + 6
    } else {
        least + 1
    };
    said.and_then(|said| u64::try_from(said).ok())
        .unwrap_or(REQUEST_MAX / entry)
}

/// The most bytes of texts that follow a schema.
fn length_max(schema: &Schema) -> u64 {
    let checks = schema.checks.as_deref();
    let said = checks.and_then(|checks| checks.length_max);
    let longest = checks.and_then(|checks| {
        checks
            .values
            .iter()
            .filter_map(|one| one.as_str())
            .map(str::len)
            .max()
    });
    let said = said
        .and_then(|said| u64::try_from(said).ok())
        .map(|said| said.saturating_mul(4));
    said.or(longest.map(|longest| longest as u64))
        .unwrap_or(REQUEST_MAX)
}

/// The fewest bytes of values that follow a schema; what nests too deep counts as little.
fn size_min(schema: &Schema, depth: usize) -> u64 {
    match schema.of {
        "boolean" => 4,
        "integer" | "number" => 1,
        "object" if depth > 0 => {
            let required = schema
                .checks
                .as_deref()
                .map_or(&[][..], |checks| &checks.required);
            let members = required.iter().map(|name| {
                let inner = schema.properties.get(name);
                name.len() as u64 + 4 + inner.map_or(0, |inner| size_min(inner, depth - 1))
            });
            2 + members.sum::<u64>()
        }
        _ => 2,
    }
}

impl Display for CelType<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dyn => out.write_str("dyn"),
            Self::Null => out.write_str("null"),
            Self::Bool => out.write_str("bool"),
            Self::Int => out.write_str("int"),
            Self::Uint => out.write_str("uint"),
            Self::Double => out.write_str("double"),
            Self::Text(_) => out.write_str("string"),
            Self::Bytes => out.write_str("bytes"),
            Self::Time => out.write_str("timestamp"),
            Self::Duration => out.write_str("duration"),
            Self::List(item, _) => write!(out, "list({item})"),
            Self::Map(value, _) => write!(out, "map(string, {value})"),
            Self::Object(..) | Self::Metadata => out.write_str("object"),
            Self::Optional(inner) => write!(out, "optional_type({inner})"),
            Self::Type => out.write_str("type"),
            Self::Typed(of) => write!(out, "io.k8s.api.{}", of.name),
            Self::Record(record) => out.write_str(record.name),
            Self::Made(name) => out.write_str(name),
            Self::Computed(_) => out.write_str("kubernetes.variables"),
            Self::Permission => out.write_str("kubernetes.authorization.Authorizer"),
        }
    }
}
