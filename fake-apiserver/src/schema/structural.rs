//! The model of a structural schema, for custom resources.
//!
//! Owns the properties of a schema. Does not know the JSON form of a schema, or how schemas are used for validation, pruning and
//! defaulting.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// A structural schema.
#[derive(Debug, Default)]
pub struct Schema {
    /// The type of values; empty if any type is allowed.
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
    /// Value validations; `None` if the schema has none.
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
    /// The items are unique scalars.
    Set,
    /// The items are identified by these key fields.
    Map(Vec<String>),
}

/// Value validations of a schema.
#[derive(Debug, Default)]
pub struct Checks {
    /// The format, if it is supported for the type; otherwise empty.
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

/// A regular expression: its text, and the compiled form.
#[derive(Debug)]
pub struct Pattern {
    /// The text of the regular expression.
    pub text: String,
    /// The compiled regular expression.
    pub matcher: Regex,
}

impl Schema {
    /// The schema of a member; `None` if the member is unknown.
    pub fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// The schema of members that are not listed in `properties`.
    pub fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The format of strings; empty if the schema has no supported format.
    pub fn format(&self) -> &'static str {
        self.checks.as_deref().map_or("", |checks| checks.format)
    }

    /// The key fields of a list of type `map`.
    pub fn keys(&self) -> Option<&[String]> {
        match &self.list {
            ListType::Map(keys) => Some(keys),
            ListType::Atomic | ListType::Set => None,
        }
    }
}
