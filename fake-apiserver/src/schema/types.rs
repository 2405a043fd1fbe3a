//! The model of an API type: fields, their types, and how they merge.
//!
//! Does not know where types are defined.

use serde_json::Value;
use std::sync::OnceLock;

/// A struct.
#[derive(Debug)]
pub(crate) struct Type {
    /// Package, version and name: `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// `+structType=atomic`: server-side apply treats the struct as one value.
    pub(crate) atomic: bool,
    /// Union type: the JSON is the value of one of the fields.
    pub(crate) either: bool,
    /// An object with no field set; created on first use.
    pub(super) nothing: OnceLock<Value>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: ValueType,
    pub(crate) presence: Presence,
    /// Its strategy in strategic merge patches.
    pub(crate) strategy: Strategy,
    /// Its list or map type in structured merge diff.
    pub(crate) ownership: Ownership,
    /// The default that OpenAPI publishes. Not applied to objects, but to the keys of list items.
    pub(crate) default: Option<&'static str>,
    /// It, or a field inside it, may contain an empty list or map.
    pub(super) holds_empties: bool,
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// Any JSON.
    Raw,
    Bool,
    /// A double.
    Double,
    Int32,
    Int64,
    /// A string, with the name of its Go type.
    Text(&'static str),
    /// Base64 bytes.
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

/// The index of a type in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) usize);

/// When a field is serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Always, even its zero value.
    Always,
    /// Always, an unset one as `null`: a pointer.
    Nullable,
    /// Unless empty (`omitempty`). Structs are never empty in this sense.
    Unless,
    /// Unless zero, structs included (`omitzero`).
    UnlessZero,
    /// If set, even to its zero value: a pointer.
    Set,
}

/// How strategic merge patches treat a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// A list whose items are merged rather than replaced (`patchStrategy: merge`).
    pub(crate) merge: bool,
    /// The member that identifies items (`patchMergeKey`); none for lists of scalars.
    pub(crate) key: Option<&'static str>,
}

/// How structured merge diff treats a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// By its type: structs and maps by member, lists and scalars as a whole.
    Natural,
    /// As a whole.
    Atomic,
    /// By member, although the struct type is atomic elsewhere.
    Granular,
    /// A set: a list of scalars with one owner each.
    Set,
    /// An associative list, with these keys.
    Keyed(Vec<&'static str>),
}

impl Type {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.fields[at])
    }

    /// Whether the JSON contains `apiVersion` and `kind`: types with metadata and status, and DeleteOptions.
    pub(crate) fn is_kind(&self) -> bool {
        let has = |name: &str| self.field(name).is_some();
        has("metadata") && has("status") || self.name == "meta.v1.DeleteOptions"
    }

    /// The name without package and version, as in Go's decoding errors.
    pub(crate) fn short_name(&self) -> &'static str {
        self.name.rsplit('.').next().unwrap_or(self.name)
    }

    /// The name with version, without package: `v1.PodSpec`.
    pub(crate) fn go_name(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, rest)| rest)
    }
}

impl ValueType {
    /// The type of a list's items or a map's values.
    pub(crate) fn element(&self) -> Option<&Self> {
        match self {
            Self::List(inner) | Self::Map(inner) => Some(inner),
            _ => None,
        }
    }
}
