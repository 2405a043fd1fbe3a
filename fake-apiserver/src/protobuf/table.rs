//! The table of messages: which field of the wire is which member of the JSON object.
//!
//! Read off the table of types, once, when the first protobuf body comes or goes. Does not know bytes or values.

use crate::types::{Block, Line, TYPES};
use std::collections::HashMap;
use std::sync::LazyLock;

/// The table of this crate.
pub(crate) static TABLE: LazyLock<Table> =
    LazyLock::new(|| Table::of(&TYPES).expect("the embedded table is well formed"));

/// Kinds that live in `meta/v1`, whatever group a body says that they are of.
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

/// All messages.
pub(crate) struct Table {
    pub(crate) messages: Vec<Message>,
    names: HashMap<&'static str, usize>,
}

/// One message: an object, or a struct in it.
pub(crate) struct Message {
    pub(crate) name: &'static str,
    /// In the order of their numbers, which is the order on the wire.
    pub(crate) fields: Vec<WireField>,
    /// The JSON of the message is that of the one field that is set.
    pub(crate) either: bool,
}

/// One field of a message.
pub(crate) struct WireField {
    pub(crate) number: u32,
    /// The member of the JSON object; `None` where the message's members belong to the object around it.
    pub(crate) member: Option<&'static str>,
    pub(crate) shape: Shape,
    pub(crate) of: WireType,
    pub(crate) empty: Empty,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One, always: a Go value.
    One,
    /// One or none: a Go pointer.
    Pointer,
    /// Any number.
    List,
    /// One for each key; keys are strings.
    Map,
}

/// When JSON leaves a field out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Empty {
    /// Never.
    Kept,
    /// When it is zero, unless it is a struct (`omitempty`).
    Omitted,
    /// When it is zero (`omitzero`).
    OmittedStruct,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WireType {
    String,
    Int32,
    Int64,
    Bool,
    Double,
    /// Base64 in JSON.
    Bytes,
    Quantity,
    Time,
    MicroTime,
    IntOrString,
    /// Any JSON, or an object in an envelope of its own.
    Raw,
    /// A message that is a bare list in JSON.
    Strings,
    /// The number of another message.
    Message(usize),
}

/// The note on a type whose JSON is that of one of its fields.
const EITHER: &str = "either";

/// Types that are no messages of the table.
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
    /// The message of a kind; `None` for kinds that are not listed.
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

    /// The message of a kind in bodies; `None` for kinds that have no protobuf form here.
    pub(crate) fn wire(&self, api_version: &str, kind: &str) -> Option<usize> {
        self.kind(api_version, kind)
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
    /// The field of that number.
    pub(crate) fn field(&self, number: u32) -> Option<&WireField> {
        let at = self.fields.binary_search_by_key(&number, |field| field.number);
        at.ok().map(|at| &self.fields[at])
    }

    /// The name without its package, as errors have it.
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
            (Some(member), _) => (member, Empty::OmittedStruct),
            (None, Some(member)) => (member, Empty::Omitted),
            (None, None) => (member, Empty::Kept),
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
    /// Whether values are varints. Doubles have eight bytes; all others are counted bytes.
    pub(crate) fn is_varint(self) -> bool {
        matches!(self, Self::Int32 | Self::Int64 | Self::Bool)
    }

    /// Whether this is a Go struct, which `omitempty` never leaves out.
    pub(crate) fn is_struct(self) -> bool {
        !self.is_varint() && !matches!(self, Self::Double | Self::String | Self::Bytes | Self::Strings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse;

    #[test]
    fn fields_are_in_order_and_inlined_ones_are_messages() {
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
    fn a_type_that_nobody_knows_is_refused() {
        let blocks = parse("a.v1.A\n 1 a nothing").unwrap();
        assert!(Table::of(blocks.leak()).is_err());
    }
}
