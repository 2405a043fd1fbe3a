//! How large the values of a schema can be, and how small.
//!
//! Owns the ways through a schema that costs are estimated by. Does not know expressions.

use crate::structural::Schema;

/// Bytes that a request may have, which bound whatever nothing else bounds.
const REQUEST_MAX: u64 = 3 * 1024 * 1024;
/// What encloses texts, lists and maps.
const BRACKETS: u64 = 2;

/// A value that a schema says something about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Declared<'a> {
    /// The values of a schema, and whether it is the root of an object with type and metadata.
    Value(&'a Schema, bool),
    /// The metadata of an object, as far as rules see them.
    Metadata,
    /// A text in them, or beside them.
    Name,
    /// The name of an entry of a map, of which nothing is said.
    Key,
}

impl<'a> Declared<'a> {
    /// The entries of a list or map.
    pub(super) fn entries(self) -> Option<Self> {
        let Self::Value(schema, _) = self else {
            return None;
        };
        let entries = match schema.of {
            "array" => schema.items.as_deref(),
            "object" => schema.additional_schema(),
            _ => None,
        };
        entries.map(|entries| Self::Value(entries, entries.embedded))
    }

    /// The keys of a map.
    pub(super) fn key(self) -> Option<Self> {
        match self {
            Self::Value(schema, _) if schema.of == "object" => schema.additional_schema().map(|_| Self::Key),
            _ => None,
        }
    }

    /// A member of an object, by the name that the object has it under.
    pub(super) fn member(self, name: &str) -> Option<Self> {
        match (self, name) {
            (Self::Metadata, "name" | "generateName") => Some(Self::Name),
            (Self::Value(schema, _), _) if schema.of != "object" || schema.int_or_string => None,
            (Self::Value(_, true), "apiVersion" | "kind") => Some(Self::Name),
            (Self::Value(_, true), "metadata") => Some(Self::Metadata),
            (Self::Value(schema, _), _) => {
                let property = schema.properties.get(name)?;
                Some(Self::Value(property, property.embedded))
            }
            (Self::Metadata | Self::Name | Self::Key, _) => None,
        }
    }

    /// The most characters or entries that a value has; nothing for values that have neither.
    pub(super) fn size_max(self) -> u64 {
        let Self::Value(schema, _) = self else {
            return match self {
                Self::Name => REQUEST_MAX - BRACKETS,
                _ => 0,
            };
        };
        if schema.int_or_string {
            return length_max(schema).unwrap_or(REQUEST_MAX - BRACKETS);
        }
        match schema.of {
            "array" => self.count_max(),
            "object" if schema.additional_schema().is_some() => self.count_max(),
            "string" => text_max(schema),
            _ => 0,
        }
    }

    /// The most entries that a list or map has.
    pub(super) fn count_max(self) -> u64 {
        let Self::Value(schema, _) = self else { return 0 };
        let checks = schema.checks.as_deref();
        let least = self.entries().map_or(BRACKETS, Self::size_min);
        // The entries of a map have names, too.
        let (said, entry) = match schema.of {
            "object" => (checks.and_then(|checks| checks.properties_max), least + 6),
            _ => (checks.and_then(|checks| checks.items_max), least + 1),
        };
        let said = said.map(|said| u64::try_from(said).unwrap_or_default());
        said.unwrap_or((REQUEST_MAX - BRACKETS) / entry)
    }

    /// How many values of the smallest size there can be in a request.
    pub(super) fn cardinality(self) -> u64 {
        REQUEST_MAX / (self.size_min() + 1)
    }

    /// The fewest bytes that a value takes in JSON.
    fn size_min(self) -> u64 {
        let Self::Value(schema, _) = self else {
            return BRACKETS;
        };
        if schema.int_or_string {
            return 1;
        }
        match schema.of {
            "boolean" => 4,
            "integer" | "number" => 1,
            "string" => match schema.format() {
                "duration" => 3,
                "date" => 12,
                "date-time" => 21,
                _ => BRACKETS,
            },
            "object" if schema.additional_schema().is_none() => {
                let checks = schema.checks.as_deref();
                let required = checks.map_or(&[][..], |checks| &checks.required);
                let members = required.iter().filter_map(|name| {
                    let property = schema
                        .properties
                        .get(name)
                        .filter(|property| property.default.is_none())?;
                    Some(name.len() as u64 + 4 + Declared::Value(property, property.embedded).size_min())
                });
                BRACKETS + members.sum::<u64>()
            }
            _ => BRACKETS,
        }
    }
}

/// The most bytes of a text whose characters are counted.
fn length_max(schema: &Schema) -> Option<u64> {
    let said = schema.checks.as_deref()?.length_max?;
    Some(u64::try_from(said).unwrap_or_default().saturating_mul(4))
}

fn text_max(schema: &Schema) -> u64 {
    let checks = schema.checks.as_deref();
    match schema.format() {
        "byte" => {
            let said = checks.and_then(|checks| checks.length_max);
            said.map_or(REQUEST_MAX - BRACKETS, |said| {
                u64::try_from(said).unwrap_or_default()
            })
        }
        "duration" | "date-time" => 32,
        "date" => 12,
        _ => length_max(schema).unwrap_or_else(|| {
            let values = checks.map_or(&[][..], |checks| &checks.values).iter();
            let texts = values.filter_map(|one| one.as_str()).map(str::len);
            texts
                .max()
                .map_or(REQUEST_MAX - BRACKETS, |longest| longest as u64)
        }),
    }
}
