//! OpenAPI descriptions, written for this project: short, and mostly of the fields that users look up with `kubectl explain`.
//!
//! They are a column of the type table; fields common to all kinds are described here.

use crate::schema::Type;
use crate::types;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) const PATCH: &str = "The body of a patch; its form follows from its media type.";
pub(super) const RAW: &str = "Any JSON.";
pub(super) const EITHER: &str = "One of several forms: a schema, or what stands for one.";
pub(super) const QUANTITY: &str = "An amount, as a number with an optional suffix: 500m, 10Gi, 1e9.";
pub(super) const INT_OR_STRING: &str = "A whole number, or a string such as a name or a percentage.";
pub(super) const TIME: &str = "A point in time, to the second (RFC 3339).";
pub(super) const MICRO_TIME: &str = "A point in time, to the microsecond (RFC 3339).";
pub(super) const WATCH_EVENT: &str = "One event of a watch.";
pub(super) const WATCH_EVENT_TYPE: &str = "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.";
pub(super) const WATCH_EVENT_OBJECT: &str =
    "The object after the change, or before it was deleted; a Status for an error.";
/// Descriptions in custom resources; some clients check how these texts begin.
pub(super) const API_VERSION: &str = "APIVersion defines the form of the object: a group and its version.";
pub(super) const KIND: &str = "Kind is what the object is.";
pub(super) const METADATA: &str = "Standard object's metadata: names, labels and what else every object has.";
pub(super) const VERSION: &str = "What is running here.";

/// Fields that mean the same in all types.
const COMMON: [(&str, &str); 6] = [
    (
        "apiVersion",
        "Group and version of the form that the object is written in.",
    ),
    ("kind", "What the object is."),
    ("metadata", "Name, labels and the rest of what every object has."),
    ("items", "The objects."),
    ("spec", "What is wanted."),
    ("status", "What is the case, as last observed."),
];

static TEXTS: LazyLock<HashMap<(&str, &str), &str>> =
    LazyLock::new(|| types::column(|notes| notes.description));

/// The description of a type, if any.
pub(super) fn of(owner: &'static Type) -> Option<String> {
    if let Some(text) = TEXTS.get(&(owner.name, "")) {
        return Some((*text).to_owned());
    }
    let entry = owner.short_name().strip_suffix("List")?;
    let is_list = owner.field("items").is_some() && owner.field("metadata").is_some();
    is_list.then(|| format!("A list of objects of kind {entry}."))
}

/// The description of a field, if any.
pub(super) fn field(owner: &'static Type, field: &'static str) -> Option<&'static str> {
    let text = TEXTS.get(&(owner.name, field)).copied();
    text.or_else(|| {
        let is_kind = owner.field("metadata").is_some();
        let common = COMMON.iter().find(|(name, _)| is_kind && *name == field);
        common.map(|(_, text)| *text)
    })
}
