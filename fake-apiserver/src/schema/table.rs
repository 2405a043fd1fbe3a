//! Builds the types from the message table and the columns of the type table. Owns the grammar of the `merge` column.
//!
//! The type table is embedded in the program. If the table cannot be parsed, which is a bug, every test panics.

use super::empties;
use super::types::{Field, Ownership, Presence, Strategy, Type, TypeId, ValueType};
use crate::protobuf::table::{self as wire, Message, Omission, Shape, TABLE};
use crate::types;
use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

/// All types, by their index in the message table.
static TYPES: LazyLock<Vec<Type>> = LazyLock::new(read);

/// A column of the type table, by type and field. Entries for the type itself have an empty field name.
type Column = HashMap<(&'static str, &'static str), &'static str>;

/// The columns of the type table that this file reads.
struct Notes {
    merging: Column,
    documents: Column,
}

impl Notes {
    /// The `merge` column of a field or type.
    fn merging(&self, owner: &'static str, field: &'static str) -> &'static str {
        self.merging.get(&(owner, field)).copied().unwrap_or_default()
    }

    fn default(&self, owner: &'static str, field: &'static str) -> Option<&'static str> {
        let notes = self.documents.get(&(owner, field))?;
        let default = notes.split(' ').find_map(|word| word.strip_prefix("default="))?;
        Some(default.trim_matches('"'))
    }
}

impl TypeId {
    pub(crate) fn get(self) -> &'static Type {
        &TYPES[self.0]
    }
}

impl Type {
    pub(crate) fn object_meta() -> &'static Self {
        Self::find("meta.k8s.io/v1", "ObjectMeta").expect("types.txt contains ObjectMeta")
    }

    pub(crate) fn list_meta() -> &'static Self {
        Self::find("meta.k8s.io/v1", "ListMeta").expect("types.txt contains ListMeta")
    }

    pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Self> {
        TABLE.kind(api_version, kind).map(|id| &TYPES[id])
    }
}

/// Builds all types, in the order of the message table.
fn read() -> Vec<Type> {
    let notes = Notes {
        merging: types::column(|notes| notes.merging),
        documents: types::column(|notes| notes.documents),
    };
    let mut types: Vec<Type> = Vec::with_capacity(TABLE.messages.len());
    for message in &TABLE.messages {
        let mut fields = Vec::new();
        collect(message, message.name, &notes, &mut fields);
        fields.sort_by_key(|field| field.name);
        types.push(Type {
            name: message.name,
            fields,
            atomic: notes.merging(message.name, "") == "atomic",
            either: message.either,
            nothing: OnceLock::new(),
        });
    }
    empties::mark_fields_with_empties(&mut types);
    types
}

/// Adds the fields of a message, including those of inlined messages, to `fields`.
fn collect(message: &'static Message, owner: &'static str, notes: &Notes, fields: &mut Vec<Field>) {
    for field in &message.fields {
        match (field.member, field.of) {
            (Some(name), _) => {
                fields.push(Field {
                    default: notes.default(owner, name),
                    ..self::field(field, name, notes.merging(owner, name))
                });
            }
            (None, wire::WireType::Message(inlined)) => collect(TABLE.message(inlined), owner, notes, fields),
            (None, _) => panic!("{}: only messages can be inlined", message.name),
        }
    }
}

fn field(field: &wire::WireField, name: &'static str, notes: &'static str) -> Field {
    let mut out = Field {
        name,
        form: form(field, "string"),
        presence: match (field.shape, field.empty) {
            (Shape::Pointer, Omission::Kept) => Presence::Nullable,
            (Shape::Pointer, _) => Presence::Set,
            (_, Omission::Kept) => Presence::Always,
            (_, Omission::Omitted) => Presence::Unless,
            (_, Omission::OmittedStruct) => Presence::UnlessZero,
        },
        strategy: Strategy::default(),
        ownership: Ownership::Natural,
        default: None,
        holds_empties: false,
    };
    for note in notes.split_whitespace() {
        let (what, value) = note.split_once('=').unwrap_or((note, ""));
        match what {
            "merge" => {
                let key = Some(value).filter(|key| !key.is_empty());
                out.strategy = Strategy { merge: true, key };
            }
            "keys" => out.ownership = Ownership::Keyed(value.split(',').collect()),
            "granular" => out.ownership = Ownership::Granular,
            "set" => out.ownership = Ownership::Set,
            "atomic" => out.ownership = Ownership::Atomic,
            "go" => out.form = form(field, value),
            other => panic!("unknown attribute {other} in the merge column of types.txt"),
        }
    }
    out
}

fn form(field: &wire::WireField, text: &'static str) -> ValueType {
    let one = match field.of {
        wire::WireType::String => ValueType::Text(text),
        wire::WireType::Int32 => ValueType::Int32,
        wire::WireType::Int64 => ValueType::Int64,
        wire::WireType::Bool => ValueType::Bool,
        wire::WireType::Double => ValueType::Double,
        wire::WireType::Bytes => ValueType::Bytes,
        wire::WireType::Quantity => ValueType::Quantity,
        wire::WireType::Time => ValueType::Time,
        wire::WireType::MicroTime => ValueType::MicroTime,
        wire::WireType::IntOrString => ValueType::IntOrString,
        wire::WireType::Raw => ValueType::Raw,
        wire::WireType::Strings => ValueType::List(Box::new(ValueType::Text(text))),
        wire::WireType::Message(number) => ValueType::Struct(TypeId(number)),
    };
    match field.shape {
        Shape::One | Shape::Pointer => one,
        Shape::List => ValueType::List(Box::new(one)),
        Shape::Map => ValueType::Map(Box::new(one)),
    }
}
