//! The model of a structural schema.
//!
//! Owns what a schema says. Does not know where it is written, nor what follows from it.

use regex::Regex;
use serde_json::Value;
use std::collections::BTreeMap;

/// What a value looks like.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// The type of the value; empty for any.
    pub(crate) of: &'static str,
    /// A whole number or a string.
    pub(crate) int_or_string: bool,
    pub(crate) nullable: bool,
    pub(crate) default: Option<Value>,
    /// Members that no schema names are kept.
    pub(crate) preserve: bool,
    /// The value is an object with type and metadata.
    pub(crate) embedded: bool,
    pub(crate) list: ListType,
    /// The object has one owner.
    pub(crate) atomic: bool,
    pub(crate) properties: BTreeMap<String, Schema>,
    pub(crate) additional: Option<Additional>,
    pub(crate) items: Option<Box<Schema>>,
    /// What else must hold of the value; none for most.
    pub(crate) checks: Option<Box<Checks>>,
}

/// What members look like that have no schema of their own.
#[derive(Debug)]
pub(crate) enum Additional {
    /// There may be some of any form, or none.
    Any(bool),
    Schema(Box<Schema>),
}

/// How a list is divided among owners, and what tells its entries apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) enum ListType {
    #[default]
    Atomic,
    Set,
    /// Entries are told apart by these members.
    Map(Vec<String>),
}

/// What must hold of a value beside its type.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    /// A format that is known for the type.
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

/// A regular expression, as it is written and as it matches.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) text: String,
    pub(crate) matcher: Regex,
}

impl Schema {
    /// The schema of a member; none for members of which nothing is known.
    pub(crate) fn member(&self, name: &str) -> Option<&Schema> {
        self.properties.get(name).or_else(|| self.additional_schema())
    }

    /// The schema of members that have none of their own.
    pub(crate) fn additional_schema(&self) -> Option<&Schema> {
        match &self.additional {
            Some(Additional::Schema(schema)) => Some(schema),
            _ => None,
        }
    }

    /// The format of texts; empty for none that is known.
    pub(crate) fn format(&self) -> &'static str {
        self.checks.as_deref().map_or("", |checks| checks.format)
    }

    /// The members that tell the entries of a list apart.
    pub(crate) fn keys(&self) -> Option<&[String]> {
        match &self.list {
            ListType::Map(keys) => Some(keys),
            ListType::Atomic | ListType::Set => None,
        }
    }
}
