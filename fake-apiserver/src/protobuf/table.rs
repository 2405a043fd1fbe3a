//! The table of protobuf messages: the JSON member of each field number.
//!
//! Built from the type table on first use of protobuf. Does not know the wire format or values.

use crate::types::{Block, Line, TYPES};
use std::collections::HashMap;
use std::sync::LazyLock;

pub(crate) static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::of(&TYPES).expect("types.txt is well-formed"));

/// Kinds that belong to `meta/v1`, regardless of the `apiVersion` in the document.
const META_KINDS: [&str; 8] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "DeleteOptions",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "Status",
];

pub(crate) struct Table {
    pub(crate) messages: Vec<Message>,
    names: HashMap<&'static str, usize>,
}

/// A message: an object, or a struct within it.
pub(crate) struct Message {
    pub(crate) name: &'static str,
    /// The fields of the message in order of their numbers, which is the order on the wire.
    pub(crate) fields: Vec<WireField>,
    /// Whether this is a union message, whose JSON is the value of the one field that is set.
    pub(crate) either: bool,
}

pub(crate) struct WireField {
    pub(crate) number: u32,
    /// The JSON member; `None` for an inlined message, whose members belong to the surrounding object.
    pub(crate) member: Option<&'static str>,
    pub(crate) shape: Shape,
    pub(crate) of: WireType,
    pub(crate) empty: Omission,
}

/// How many values a protobuf field has, and as which Go type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Exactly one value: a Go value.
    One,
    /// At most one value: a Go pointer.
    Pointer,
    /// A list: a Go slice.
    List,
    /// A map with string keys: a Go map.
    Map,
}

/// When JSON omits a protobuf field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Omission {
    /// Never omitted (no `omitempty`).
    Kept,
    /// Omitted if zero, unless the value is a struct (`omitempty`).
    Omitted,
    /// Omitted if zero, even if the value is a struct (`omitzero`).
    OmittedStruct,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    String,
    Int32,
    Int64,
    Bool,
    Double,
    /// A byte string, which is base64 in JSON.
    Bytes,
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    /// Any JSON, or an object in an envelope.
    Raw,
    /// A message that is a list of strings in JSON, such as `ExtraValue`.
    Strings,
    /// A message, given by its index in the table.
    Message(usize),
}

/// Marks union messages in the type table.
const EITHER: &str = "either";

/// Types that have no message in the table.
const SCALARS: [(&str, WireType); 12] = [
    ("string", WireType::String),
    ("int32", WireType::Int32),
    ("int64", WireType::Int64),
    ("bool", WireType::Bool),
    ("double", WireType::Double),
    ("bytes", WireType::Bytes),
    ("Quantity", WireType::Quantity),
    ("Time", WireType::Time),
    ("MicroTime", WireType::MicroTime),
    ("IntOrString", WireType::IntOrString),
    ("Raw", WireType::Raw),
    ("Strings", WireType::Strings),
];

impl Table {
    /// The index of the message for bodies of a kind; `None` if the kind has no protobuf form.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<usize> {
        if META_KINDS.contains(&kind) {
            return self.names.get(format!("meta.v1.{kind}").as_str()).copied();
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
        let package = group.split('.').next().unwrap_or_default();
        self.names
            .get(format!("{package}.{version}.{kind}").as_str())
            .copied()
    }

    pub(crate) fn message(&self, number: usize) -> &Message {
        &self.messages[number]
    }

    fn of(blocks: &'static [Block]) -> Result<Self, String> {
        let names: HashMap<&str, usize> = blocks
            .iter()
            .enumerate()
            .map(|(number, block)| (block.name, number))
            .collect();
        let messages = blocks.iter().map(|block| {
            let field = |line| {
                let field = WireField::parse(line, block.name, &names);
                field.ok_or_else(|| format!("{}: {} has no known type", block.name, line.member))
            };
            Ok(Message {
                name: block.name,
                either: block.notes.merging == EITHER,
                fields: block.fields.iter().map(field).collect::<Result<_, String>>()?,
            })
        });
        Ok(Self {
            messages: messages.collect::<Result<_, String>>()?,
            names,
        })
    }
}

impl Message {
    pub(crate) fn field(&self, number: u32) -> Option<&WireField> {
        let at = self.fields.binary_search_by_key(&number, |field| field.number);
        at.ok().map(|at| &self.fields[at])
    }

    /// The message name without its package, as in decoding errors.
    pub(crate) fn short(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }
}

impl WireField {
    fn parse(line: &Line, message: &str, names: &HashMap<&str, usize>) -> Option<Self> {
        let Line {
            number, member, of, ..
        } = *line;
        let (member, empty) = match (member.strip_suffix("??"), member.strip_suffix('?')) {
            (Some(member), _) => (member, Omission::OmittedStruct),
            (None, Some(member)) => (member, Omission::Omitted),
            (None, None) => (member, Omission::Kept),
        };
        let shapes = [
            ("[]", Shape::List),
            ("map[string]", Shape::Map),
            ("*", Shape::Pointer),
            ("", Shape::One),
        ];
        let (of, shape) = shapes
            .iter()
            .find_map(|(mark, shape)| Some((of.strip_prefix(mark)?, *shape)))?;
        let package = message.rsplit_once('.')?.0;
        let known = SCALARS.iter().find(|(name, _)| *name == of);
        let of = match known {
            Some((_, of)) => *of,
            None => {
                let number = names
                    .get(of)
                    .or_else(|| names.get(format!("{package}.{of}").as_str()));
                WireType::Message(*number?)
            }
        };
        Some(Self {
            number,
            member: (member != "-").then_some(member),
            shape,
            of,
            empty,
        })
    }
}

impl WireType {
    /// Whether values of the type are encoded as varints. Doubles have eight bytes; all other types are length-delimited.
    pub(crate) fn is_varint(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Bool)
    }

    /// Whether the Go type is a struct, which `omitempty` never omits.
    pub(crate) fn is_struct(self) -> bool {
        !self.is_varint() && !matches!(self, Self::Double | Self::String | Self::Bytes | Self::Strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse;

    #[test]
    fn field_numbers_ascend_and_inlined_fields_are_messages() {
        assert!(TABLE.messages.len() > 500);
        for message in &TABLE.messages {
            let numbers: Vec<u32> = message.fields.iter().map(|field| field.number).collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{}", message.name);
            for field in &message.fields {
                assert!(field.number > 0, "{}", message.name);
                if field.member.is_none() {
                    assert!(
                        matches!((field.of, field.shape), (WireType::Message(_), Shape::One)),
                        "{}",
                        message.name
                    );
                }
            }
        }
    }

    #[test]
    fn unknown_field_types_are_rejected() {
        let blocks = parse("a.v1.A\n 1 a nothing").unwrap();
        assert!(Table::of(blocks.leak()).is_err());
    }
}
