//! The model of a structural schema.
//!
//! Owns the properties of a schema. Does not know its JSON form, nor validation, pruning and defaulting.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// A structural schema.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// The type; empty for any.
    pub(crate) of: &'static str,
    /// `x-kubernetes-int-or-string`.
    pub(crate) int_or_string: bool,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub(crate) preserve: bool,
    /// `x-kubernetes-embedded-resource`.
    pub(crate) embedded: bool,
    pub(crate) list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub(crate) atomic: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Schema>>,
    /// Value validations; unset if the schema has none.
    pub(crate) checks: Option<Box<Checks>>,
}

/// `additionalProperties`.
#[derive(Debug)]
pub(crate) enum Additional {
    /// A boolean: whether additional members are allowed.
    Any(bool),
    Schema(Box<Schema>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    /// Items are identified by these keys.
    Map(Vec<String>),
}

/// Value validations of a schema.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    /// A format that is supported for the type.
    pub(crate) format: &'static str,
    pub(crate) maximum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) length_max: Option<i64>,
    pub(crate) length_min: Option<i64>,
    pub(crate) pattern: Option<Pattern>,
    pub(crate) items_max: Option<i64>,
    pub(crate) items_min: Option<i64>,
    pub(crate) unique: bool,
    pub(crate) values: Vec<Value>,
    pub(crate) properties_max: Option<i64>,
    pub(crate) properties_min: Option<i64>,
    pub(crate) required: Vec<String>,
    pub(crate) all_of: Vec<Schema>,
    pub(crate) one_of: Vec<Schema>,
    pub(crate) any_of: Vec<Schema>,
    pub(crate) not: Option<Schema>,
}

/// A regular expression: its source, and compiled.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) matcher: Regex,
}

impl Schema {
    /// The schema of a member; none if the member is unknown.
    pub(crate) fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// The schema of members that `properties` does not list.
    pub(crate) fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The string format; empty if none is supported.
    pub(crate) fn format(&self) -> &'static str {
        self.checks.as_deref().map_or("", |checks| checks.format)
    }

    /// The keys of a `map` list.
    pub(crate) fn keys(&self) -> Option<&[String]> {
        match &self.list {
            ListType::Map(keys) => Some(keys),
            ListType::Atomic | ListType::Set => None,
        }
    }
}
