//! The model of a structural schema, for custom resources.
//!
//! Owns the properties of a schema. Does not know the JSON form of a schema, or how schemas are used for validation, pruning and
//! defaulting.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// Members that all API objects have.
pub const OBJECT_MEMBERS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// One level of a structural schema. Keywords that validate values are in `checks`.
#[derive(Debug, Default)]
pub struct Schema {
    /// The type of values; empty if any type is allowed.
    pub of: &'static str,
    /// Whether values may be integers or strings (`x-kubernetes-int-or-string`).
    pub int_or_string: bool,
    /// Whether `null` is valid (`nullable`).
    pub nullable: bool,
    /// Value of a missing field (`default`).
    pub default: Option<Value>,
    /// Whether members that the schema does not declare are preserved (`x-kubernetes-preserve-unknown-fields`).
    pub preserve: bool,
    /// Whether values are objects with apiVersion, kind and metadata (`x-kubernetes-embedded-resource`).
    pub embedded: bool,
    /// How field managers own the items of a list (`x-kubernetes-list-type`).
    pub list: ListType,
    /// Whether one field manager owns the whole map (`x-kubernetes-map-type: atomic`).
    pub atomic: bool,
    /// The schemas of declared members (`properties`).
    pub properties: BTreeMap<String, Schema>,
    /// The rule for undeclared members (`additionalProperties`).
    pub additional: Option<Additional>,
    /// The schema of list items (`items`).
    pub items: Option<Box<Schema>>,
    /// Keywords that validate values, such as `maximum`; `None` if the schema has none.
    pub checks: Option<Box<Checks>>,
}

/// The value of `additionalProperties`.
#[derive(Debug)]
pub enum Additional {
    /// Whether members that `properties` does not list are allowed.
    Any(bool),
    /// The schema that members not listed in `properties` must match.
    Schema(Box<Schema>),
}

/// The values of `x-kubernetes-list-type`.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// One field manager owns the whole list.
    #[default]
    Atomic,
    /// The items are unique scalars.
    Set,
    /// The items are identified by these key fields.
    Map(Vec<String>),
}

/// The keywords of a schema that validate values. Unset keywords are `None`, false or empty.
#[derive(Debug, Default)]
pub struct Checks {
    /// The format, if it is supported for the type; otherwise empty.
    pub format: &'static str,
    /// Upper bound of a number (`maximum`).
    pub maximum: Option<f64>,
    /// Whether a number must be less than `maximum` (`exclusiveMaximum`).
    pub exclusive_maximum: bool,
    /// Lower bound of a number (`minimum`).
    pub minimum: Option<f64>,
    /// Whether a number must be greater than `minimum` (`exclusiveMinimum`).
    pub exclusive_minimum: bool,
    /// The number of which a number must be a multiple (`multipleOf`).
    pub multiple_of: Option<f64>,
    /// Maximum number of characters of a string (`maxLength`).
    pub length_max: Option<i64>,
    /// Minimum number of characters of a string (`minLength`).
    pub length_min: Option<i64>,
    /// Regular expression that must match a part of a string (`pattern`).
    pub pattern: Option<Pattern>,
    /// Maximum number of items of a list (`maxItems`).
    pub items_max: Option<i64>,
    /// Minimum number of items of a list (`minItems`).
    pub items_min: Option<i64>,
    /// Whether the items of a list must differ (`uniqueItems`).
    pub unique: bool,
    /// The valid values (`enum`); empty: any value is valid.
    pub values: Vec<Value>,
    /// Maximum number of members of an object (`maxProperties`).
    pub properties_max: Option<i64>,
    /// Minimum number of members of an object (`minProperties`).
    pub properties_min: Option<i64>,
    /// Members that an object must have (`required`).
    pub required: Vec<String>,
    /// Schemas that must all match (`allOf`).
    pub all_of: Vec<Schema>,
    /// Schemas of which exactly one must match (`oneOf`).
    pub one_of: Vec<Schema>,
    /// Schemas of which at least one must match (`anyOf`).
    pub any_of: Vec<Schema>,
    /// Schema that must not match (`not`).
    pub not: Option<Schema>,
}

/// The value of `pattern`.
#[derive(Debug)]
pub struct Pattern {
    /// The regular expression as written in the CRD, for error messages.
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
