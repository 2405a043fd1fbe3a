//! The model of an API type: fields, their types, and how they merge.
//!
//! Does not know how the types are built.

use serde_json::Value;
use std::sync::OnceLock;

/// A Go struct of the Kubernetes API.
#[derive(Debug)]
pub(crate) struct Type {
    /// Package, version and name: `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    /// The fields, sorted by name.
    pub(crate) fields: Vec<Field>,
    /// `+structType=atomic`: server-side apply treats the struct as one value.
    pub(crate) atomic: bool,
    /// Whether this is a union type: its JSON is the value of the one field that is set.
    pub(crate) either: bool,
    /// An object without any field set; created on first use.
    pub(super) nothing: OnceLock<Value>,
}

/// A JSON member of a Go struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: ValueType,
    pub(crate) presence: Presence,
    /// How strategic merge patches handle the field.
    pub(crate) strategy: Strategy,
    /// How structured merge diff divides the field: list type or map type.
    pub(crate) ownership: Ownership,
    /// The default that OpenAPI publishes. It is applied only to missing key fields of list items, not to objects.
    pub(crate) default: Option<&'static str>,
    /// Whether this field, or a field inside it, may contain an empty list or map.
    pub(super) holds_empties: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    /// Any JSON value (`runtime.RawExtension`, `JSON`).
    Raw,
    Bool,
    Double,
    Int32,
    Int64,
    /// A string, with the name of its Go type.
    Text(&'static str),
    /// A byte string, which is base64 in JSON (`[]byte`).
    Bytes,
    Quantity,
    /// A time in RFC 3339 with seconds.
    Time,
    /// A time in RFC 3339 with microseconds.
    MicroTime,
    IntOrString,
    Struct(TypeId),
    List(Box<Self>),
    Map(Box<Self>),
}

/// The index of a type in the table of all API types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(pub(super) usize);

/// When Go serializes a field of a struct to JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Always serialized, even if the value is zero.
    Always,
    /// Always serialized; an unset pointer as `null`.
    Nullable,
    /// Serialized if not empty (`omitempty`). Structs count as not empty.
    Unless,
    /// Serialized if not zero (`omitzero`). Zero structs are omitted.
    UnlessZero,
    /// Serialized if the pointer is set, even if it points to a zero value.
    Set,
}

/// How strategic merge patches treat a field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strategy {
    /// Whether the items of a list are merged instead of replaced (`patchStrategy: merge`).
    pub(crate) merge: bool,
    /// The member that identifies items (`patchMergeKey`); `None` for lists of scalars.
    pub(crate) key: Option<&'static str>,
}

/// How structured merge diff treats a field.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Structs and maps are divided by member; lists and scalars are single fields.
    Natural,
    Atomic,
    /// The struct is divided by member, although its type is atomic.
    Granular,
    Set,
    /// The list is associative; items are identified by these keys.
    Keyed(Vec<&'static str>),
}

impl Type {
    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.fields[at])
    }

    /// Whether the JSON contains `apiVersion` and `kind`. True for types with metadata and status, and for DeleteOptions.
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
