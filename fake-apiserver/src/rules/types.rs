//! Types of expressions, and how large their values can be.
//!
//! Owns what a schema means for an expression. Does not know expressions.

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

    /// Whether a value can be of both types.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Dyn, _) | (_, Self::Dyn) | (Self::Null, _) | (_, Self::Null) => true,
            (Self::List(one, _), Self::List(other, _)) | (Self::Map(one, _), Self::Map(other, _)) => {
                one.meets(other)
            }
            (
                Self::Object(..) | Self::Metadata | Self::Map(..),
                Self::Object(..) | Self::Metadata | Self::Map(..),
            ) => true,
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
        }
    }
}
