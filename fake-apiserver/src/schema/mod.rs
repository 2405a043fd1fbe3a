//! What the API types consist of: fields, their forms, and how they merge.
//!
//! The table of fields that protobuf uses, and notes on how fields merge, serve decoding, patches, field management
//! and the OpenAPI documents. Owns the model of a type and the way to find one. Does not know which types are served: `kinds` does.

mod conform;
mod table;

pub(crate) use conform::{conform, zero};

use crate::kinds::Kind;
use crate::protobuf::table::TABLE;
use serde_json::Value;
use std::sync::{LazyLock, OnceLock};

/// All types, by the numbers that they have in the table of messages.
static TYPES: LazyLock<Vec<Type>> = LazyLock::new(table::read);

/// A struct.
#[derive(Debug)]
pub(crate) struct Type {
    /// Package, version and name: `core.v1.PodSpec`.
    pub(crate) name: &'static str,
    /// Sorted by name.
    pub(crate) fields: Vec<Field>,
    /// The struct has one owner: server-side apply does not look into it.
    pub(crate) atomic: bool,
    /// An object of which nothing was set, once somebody asked for it.
    nothing: OnceLock<Value>,
}

/// A field of a struct.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    pub(crate) presence: Presence,
    /// How strategic merge patches treat it.
    pub(crate) strategy: Strategy,
    /// How server-side apply divides it among owners.
    pub(crate) ownership: Ownership,
}

/// The form of a value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Any JSON.
    Raw,
    Bool,
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
pub(crate) struct TypeId(usize);

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
    /// The member that tells entries apart; none for lists of scalars.
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
    /// A list of structs, told apart by these members.
    Keyed(Vec<&'static str>),
}

impl TypeId {
    pub(crate) fn get(self) -> &'static Type {
        &TYPES[self.0]
    }
}

impl Type {
    /// The type of a kind's objects.
    pub(crate) fn of(kind: &Kind) -> &'static Self {
        Self::find(&kind.api_version(), kind.kind)
            .expect("a test holds that every served kind is in the table")
    }

    /// The type of objects by what they say of themselves.
    pub(crate) fn find(api_version: &str, kind: &str) -> Option<&'static Self> {
        TABLE.kind(api_version, kind).map(|id| &TYPES[id])
    }

    /// Whether a Go type with this name, without its package, is a struct.
    pub(crate) fn is_struct(short_name: &str) -> bool {
        TYPES.iter().any(|of| of.short_name() == short_name)
    }

    /// Whether a struct with this name, without its package, has a time as the field of that name.
    pub(crate) fn has_time(short_name: &str, field: &str) -> bool {
        let mut named = TYPES.iter().filter(|of| of.short_name() == short_name);
        named.any(|of| {
            of.field(field)
                .is_some_and(|field| matches!(field.form, Form::Time | Form::MicroTime))
        })
    }

    /// An object of which nothing was set.
    pub(crate) fn nothing(&self) -> &Value {
        self.nothing.get_or_init(|| conform::empty(self))
    }

    pub(crate) fn field(&self, name: &str) -> Option<&Field> {
        let at = self.fields.binary_search_by(|field| field.name.cmp(name)).ok()?;
        Some(&self.fields[at])
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

impl Form {
    /// The form of a list's entries or a map's values.
    pub(crate) fn element(&self) -> Option<&Self> {
        match self {
            Self::List(inner) | Self::Map(inner) => Some(inner),
            _ => None,
        }
    }

    /// The Go type, as decoding errors name it.
    fn go_name(&self) -> String {
        match self {
            Self::Raw => "interface {}".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::Int32 => "int32".to_owned(),
            Self::Int64 => "int64".to_owned(),
            Self::Text(go) => (*go).to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::Time => "v1.Time".to_owned(),
            Self::MicroTime => "v1.MicroTime".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Struct(id) => id.get().go_name().to_owned(),
            Self::List(inner) => format!("[]{}", inner.go_name()),
            Self::Map(inner) if **inner == Self::Quantity => "v1.ResourceList".to_owned(),
            Self::Map(inner) => format!("map[string]{}", inner.go_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::KINDS;

    #[test]
    fn every_served_kind_has_a_type() {
        for kind in KINDS {
            let found = Type::find(&kind.api_version(), kind.kind);
            assert!(
                found.is_some(),
                "{} {} is not in the table",
                kind.api_version(),
                kind.kind
            );
        }
    }

    #[test]
    fn what_merges_says_how() {
        let pod = Type::find("v1", "Pod").expect("pods are in the table");
        let Some(Form::Struct(spec)) = pod.field("spec").map(|field| &field.form) else {
            panic!("pods have a spec");
        };
        let spec = spec.get();
        let containers = spec.field("containers").expect("and containers");
        assert_eq!(
            containers.strategy,
            Strategy {
                merge: true,
                key: Some("name")
            }
        );
        assert_eq!(containers.ownership, Ownership::Keyed(vec!["name"]));
        assert_eq!(containers.presence, Presence::Always);
    }
}
