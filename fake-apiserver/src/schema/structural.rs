//! The model of a structural schema, for custom resources.
//!
//! Owns the properties of a schema. Does not know its JSON form, nor validation, pruning and defaulting.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// A structural schema.
#[derive(Debug, Default)]
pub struct Schema {
    /// The type; empty for any.
    pub of: &'static str,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `nullable`.
    pub nullable: bool,
    /// `default`.
    pub default: Option<Value>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// `x-kubernetes-list-type`.
    pub list: ListType,
    /// `x-kubernetes-map-type: atomic`.
    pub atomic: bool,
    /// `properties`.
    pub properties: BTreeMap<String, Schema>,
    /// `additionalProperties`.
    pub additional: Option<Additional>,
    /// `items`.
    pub items: Option<Box<Schema>>,
    /// Value validations; unset if the schema has none.
    pub checks: Option<Box<Checks>>,
}

/// `additionalProperties`.
#[derive(Debug)]
pub enum Additional {
    /// A boolean: whether additional members are allowed.
    Any(bool),
    /// The schema of additional members.
    Schema(Box<Schema>),
}

/// `x-kubernetes-list-type`.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// The list is replaced as a whole.
    #[default]
    Atomic,
    /// Items are unique scalars.
    Set,
    /// Items are identified by these keys.
    Map(Vec<String>),
}

/// Value validations of a schema.
#[derive(Debug, Default)]
pub struct Checks {
    /// A format that is supported for the type.
    pub format: &'static str,
    /// `maximum`.
    pub maximum: Option<f64>,
    /// `exclusiveMaximum`.
    pub exclusive_maximum: bool,
    /// `minimum`.
    pub minimum: Option<f64>,
    /// `exclusiveMinimum`.
    pub exclusive_minimum: bool,
    /// `multipleOf`.
    pub multiple_of: Option<f64>,
    /// `maxLength`.
    pub length_max: Option<i64>,
    /// `minLength`.
    pub length_min: Option<i64>,
    /// `pattern`.
    pub pattern: Option<Pattern>,
    /// `maxItems`.
    pub items_max: Option<i64>,
    /// `minItems`.
    pub items_min: Option<i64>,
    /// `uniqueItems`.
    pub unique: bool,
    /// `enum`.
    pub values: Vec<Value>,
    /// `maxProperties`.
    pub properties_max: Option<i64>,
    /// `minProperties`.
    pub properties_min: Option<i64>,
    /// `required`.
    pub required: Vec<String>,
    /// `allOf`.
    pub all_of: Vec<Schema>,
    /// `oneOf`.
    pub one_of: Vec<Schema>,
    /// `anyOf`.
    pub any_of: Vec<Schema>,
    /// `not`.
    pub not: Option<Schema>,
}

/// A regular expression: its source, and compiled.
#[derive(Debug)]
pub struct Pattern {
    /// The source.
    pub text: String,
    /// Compiled.
    pub matcher: Regex,
}

impl Schema {
    /// The schema of a member; none if the member is unknown.
    pub fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// The schema of members that `properties` does not list.
    pub fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The string format; empty if none is supported.
    pub fn format(&self) -> &'static str {
        self.checks.as_deref().map_or("", |checks| checks.format)
    }

    /// The keys of a `map` list.
    pub fn keys(&self) -> Option<&[String]> {
        match &self.list {
            ListType::Map(keys) => Some(keys),
            ListType::Atomic | ListType::Set => None,
        }
    }
}
