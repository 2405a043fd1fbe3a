//! Values of expressions: those of an object as its schema types them, and those that functions make.
//!
//! Owns when two values are the same and how they are ordered. Does not know expressions.

use super::authority::Permission;
use super::failure::Failure;
use super::instants::{duration, time};
use super::libraries::{Format, Range};
use crate::machinery::ip::bits;
use crate::machinery::quantity::Quantity;
use crate::machinery::url::Url;
use crate::structural::{ListType, Schema};
use jiff::{SignedDuration, Timestamp};
use semver::Version;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::IpAddr;
use std::rc::Rc;

/// A value. What an object holds is borrowed from it.
#[derive(Clone, Debug)]
pub(super) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Cow<'a, str>),
    Bytes(Rc<[u8]>),
    /// A list of an object, with its schema.
    Items(&'a [Value], Option<&'a Schema>),
    /// A map, or an object of an object, with its schema.
    Members(&'a Map<String, Value>, Option<&'a Schema>),
    /// A list, and how its entries are told apart.
    List(Rc<Vec<Val<'a>>>, &'a ListType),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    Duration(SignedDuration),
    Time(Timestamp),
    Quantity(Rc<Quantity>),
    Ip(IpAddr),
    Cidr(Range),
    Url(Rc<Url>),
    Format(&'static Format),
    Version(Rc<Version>),
    Optional(Option<Rc<Val<'a>>>),
    /// The name of a type.
    Type(&'static str),
    /// `authorizer`, or what follows from it.
    Permission(Rc<Permission<'a>>),
    /// Values that were computed before by name, or why they have none.
    Computed(Rc<Computed<'a>>),
}

/// Values by name, or why they have none.
pub(super) type Computed<'a> = Vec<(&'a str, Result<Val<'a>, Failure>)>;

impl<'a> Val<'a> {
    /// A value of an object, by its schema.
    pub(super) fn of(value: &'a Value, schema: Option<&'a Schema>) -> Self {
        let format = schema.map_or("", Schema::format);
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(number) => {
                let is_double = schema.is_some_and(|schema| schema.of == "number");
                match number.as_i64().filter(|_| !is_double) {
                    Some(whole) => Self::Int(whole),
                    None => Self::Double(number.as_f64().unwrap_or_default()),
                }
            }
            Value::String(text) => Self::formatted(text, format),
            Value::Array(items) => Self::Items(items, schema),
            Value::Object(members) => Self::Members(members, schema),
        }
    }

    fn formatted(text: &'a str, format: &str) -> Self {
        use base64::Engine;
        let formatted = match format {
            "date-time" | "date" => time(text).map(Self::Time),
            "duration" => duration(text).map(Self::Duration),
            "byte" => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text).ok();
                bytes.map(|bytes| Self::Bytes(bytes.into()))
            }
            _ => None,
        };
        formatted.unwrap_or(Self::Text(Cow::Borrowed(text)))
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(Rc::new(items), &ListType::Atomic)
    }

    pub(super) fn optional(value: Option<Self>) -> Self {
        Self::Optional(value.map(Rc::new))
    }

    /// The entries of a list.
    pub(super) fn items(&self) -> Option<Cow<'_, [Self]>> {
        match self {
            Self::List(items, _) => Some(Cow::Borrowed(items)),
            Self::Items(items, schema) => {
                let inner = schema.and_then(|schema| schema.items.as_deref());
                Some(items.iter().map(|item| Self::of(item, inner)).collect())
            }
            _ => None,
        }
    }

    /// How many entries, members, characters or bytes there are.
    pub(super) fn size(&self) -> Option<usize> {
        Some(match self {
            Self::Text(text) => text.chars().count(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Items(items, _) => items.len(),
            Self::List(items, _) => items.len(),
            Self::Members(members, _) => members.len(),
            Self::Map(entries) => entries.len(),
            Self::Ip(address) => usize::from(bits(*address) / 8),
            Self::Cidr(range) => range.size(),
            _ => return None,
        })
    }

    /// Whether a library has made it.
    pub(super) fn is_of_library(&self) -> bool {
        matches!(
            self,
            Self::Quantity(_)
                | Self::Ip(_)
                | Self::Cidr(_)
                | Self::Url(_)
                | Self::Format(_)
                | Self::Version(_)
                | Self::Permission(_)
        )
    }

    /// The value of a member.
    pub(super) fn member(&self, name: &str) -> Option<Self> {
        match self {
            Self::Members(members, schema) => {
                let value = members.get(name)?;
                Some(Self::of(value, schema.and_then(|schema| schema.member(name))))
            }
            Self::Map(entries) => {
                let mut entries = entries.iter();
                entries
                    .find(|(key, _)| matches!(key, Self::Text(key) if key == name))
                    .map(|(_, value)| value.clone())
            }
            _ => None,
        }
    }

    /// The value of a key, or the entry at an index.
    pub(super) fn at(&self, key: &Self) -> Option<Self> {
        match (self, key) {
            (Self::Members(..), Self::Text(name)) => self.member(name),
            (Self::Map(entries), key) => {
                let mut entries = entries.iter();
                entries
                    .find(|(known, _)| known == key)
                    .map(|(_, value)| value.clone())
            }
            (Self::Items(items, schema), Self::Int(at)) => {
                let item = items.get(usize::try_from(*at).ok()?)?;
                Some(Self::of(item, schema.and_then(|schema| schema.items.as_deref())))
            }
            (Self::List(items, _), Self::Int(at)) => items.get(usize::try_from(*at).ok()?).cloned(),
            _ => None,
        }
    }

    /// How the entries of a list are told apart.
    pub(super) fn list_type(&self) -> &'a ListType {
        match self {
            Self::Items(_, Some(schema)) => &schema.list,
            Self::List(_, of) => of,
            _ => &ListType::Atomic,
        }
    }

    /// Whether two entries of a list stand for the same.
    pub(super) fn has_keys_of(&self, other: &Self, of: &ListType) -> bool {
        match of {
            ListType::Map(keys) => keys.iter().all(|key| self.member(key) == other.member(key)),
            ListType::Set | ListType::Atomic => self == other,
        }
    }

    /// The order of two values; none for those that have none.
    pub(super) fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => Some(one.cmp(other)),
            (Self::Bool(one), Self::Bool(other)) => Some(one.cmp(other)),
            (Self::Bytes(one), Self::Bytes(other)) => Some(one.cmp(other)),
            (Self::Time(one), Self::Time(other)) => Some(one.cmp(other)),
            (Self::Duration(one), Self::Duration(other)) => Some(one.cmp(other)),
            (Self::Quantity(one), Self::Quantity(other)) => one.partial_cmp(other),
            _ => numbers(self, other),
        }
    }

    /// The name of the type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Items(..) | Self::List(..) => "list",
            Self::Members(..) | Self::Map(_) => "map",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Time(_) => "google.protobuf.Timestamp",
            Self::Quantity(_) => "kubernetes.Quantity",
            Self::Ip(_) => "net.IP",
            Self::Cidr(_) => "net.CIDR",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Version(_) => "kubernetes.Semver",
            Self::Optional(_) => "optional_type",
            Self::Type(_) => "type",
            Self::Permission(_) => "kubernetes.authorization.Authorizer",
            Self::Computed(_) => "kubernetes.variables",
        }
    }
}

fn numbers(one: &Val<'_>, other: &Val<'_>) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => float(one)?.partial_cmp(&float(other)?),
    }
}

fn whole(value: &Val<'_>) -> Option<i128> {
    match value {
        Val::Int(value) => Some(i128::from(*value)),
        Val::Uint(value) => Some(i128::from(*value)),
        _ => None,
    }
}

fn float(value: &Val<'_>) -> Option<f64> {
    match value {
        Val::Double(value) => Some(*value),
        other => whole(other).map(|whole| whole as f64),
    }
}

impl PartialEq for Val<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Type(one), Self::Type(other)) => one == other,
            (Self::Ip(one), Self::Ip(other)) => one == other,
            (Self::Cidr(one), Self::Cidr(other)) => one == other,
            (Self::Url(one), Self::Url(other)) => one == other,
            (Self::Format(one), Self::Format(other)) => one == other,
            (Self::Version(one), Self::Version(other)) => one.cmp_precedence(other).is_eq(),
            (Self::Optional(one), Self::Optional(other)) => one == other,
            (Self::Items(..) | Self::List(..), Self::Items(..) | Self::List(..)) => lists(self, other),
            (Self::Members(..) | Self::Map(_), Self::Members(..) | Self::Map(_)) => maps(self, other),
            _ => self.compare(other) == Some(Ordering::Equal),
        }
    }
}

/// Sets and lists with keys have no order.
fn lists(one: &Val<'_>, other: &Val<'_>) -> bool {
    if one.size() != other.size() {
        return false;
    }
    let (Some(items), Some(others)) = (one.items(), other.items()) else {
        return false;
    };
    match one.list_type() {
        ListType::Atomic => items == others,
        ListType::Set | ListType::Map(_) => items.iter().all(|item| others.contains(item)),
    }
}

fn maps(one: &Val<'_>, other: &Val<'_>) -> bool {
    one.size() == other.size()
        && one
            .entries()
            .iter()
            .all(|(key, value)| other.at(key).as_ref() == Some(value))
}

impl<'a> Val<'a> {
    /// The keys and values of a map.
    pub(super) fn entries(&self) -> Vec<(Self, Self)> {
        match self {
            Self::Map(entries) => entries.to_vec(),
            Self::Members(members, schema) => {
                let of = |name: &str| schema.and_then(|schema| schema.member(name));
                let members = members.iter();
                members
                    .map(|(name, value)| (Self::Text(Cow::Borrowed(name)), Self::of(value, of(name))))
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}
