//! The model of a type: fields, their forms, and how they merge.
//!
//! Does not know where types come from.

use serde_json::Value;
use std::sync::OnceLock;

/// A struct.
#[derive(Debug)]
pub(crate) struct Type {
    /// Package, version and name: `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// The struct has one owner: server-side apply does not look into it.
    pub(crate) atomic: bool,
    /// A value has the form of one of the fields.
    pub(crate) either: bool,
    /// An object of this type with no field set; made on first use.
    pub(super) nothing: OnceLock<Value>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: ValueType,
    pub(crate) presence: Presence,
    /// How strategic merge patches treat it.
    pub(crate) strategy: Strategy,
    /// How server-side apply divides it among owners.
    pub(crate) ownership: Ownership,
    /// What documents say that it is when it is not there. Nothing sets it; keys of lists know it.
    pub(crate) default: Option<&'static str>,
    /// It is written without entries, or something in it may be.
    pub(super) holds_empties: bool,
}

/// The form of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// Any JSON.
    Raw,
    Bool,
    /// A number, with a fraction or not.
    Double,
    Int32,
    Int64,
    /// A string; with the name of its Go type.
    Text(&'static str),
    /// Bytes in base64.
    Bytes,
    Quantity,
    /// RFC 3339, to the second.
    Time,
    /// RFC 3339, to the microsecond.
    MicroTime,
    IntOrString,
    Struct(TypeId),
    List(Box<Self>),
    Map(Box<Self>),
}

/// The place of a type in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) usize);

/// When a field is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Always, with its zero value if need be.
    Always,
    /// Always, as `null` if need be: a pointer.
    Nullable,
    /// Unless it is empty (`omitempty`). Structs are never empty in this sense.
    Unless,
    /// Unless it is empty, structs included (`omitzero`).
    UnlessZero,
    /// When it was set, even to its zero value: a pointer.
    Set,
}

/// How strategic merge patches treat a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// A list whose entries are merged rather than replaced.
    pub(crate) merge: bool,
    /// The member by which entries are identified; none for lists of scalars.
    pub(crate) key: Option<&'static str>,
}

/// How server-side apply divides a field among owners.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// As its form suggests: structs and maps by member, lists and scalars as a whole.
    Natural,
    /// As a whole.
    Atomic,
    /// By member, although structs of the type are owned as a whole elsewhere.
    Granular,
    /// A list of scalars, each with owners of its own.
    Set,
    /// A list of structs that are identified by these members.
    Keyed(Vec<&'static str>),
}

impl Type {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.fields[at])
    }

    /// Whether what is of this type says so itself: objects, which have a status, or could have one, beside their metadata, and options.
    pub(crate) fn is_kind(&self) -> bool {
        let has = |name: &str| self.field(name).is_some();
        has("metadata") && has("status") || self.name == "meta.v1.DeleteOptions"
    }

    /// The name without package and version, as Go's decoder reports it.
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The name with its version: `v1.PodSpec`.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, rest)| rest)
    }
}

impl ValueType {
    /// The form of a list's entries or a map's values.
    pub(crate) fn element(&self) -> Option<&Self> {
        match self {
            Self::List(inner) | Self::Map(inner) => Some(inner),
            _ => None,
        }
    }
}
