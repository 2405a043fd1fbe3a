//! OpenAPI descriptions. They are shorter than upstream's and cover mostly the fields that users look up with `kubectl explain`.
//!
//! The descriptions are a column of the type table; this file describes fields that are common to all kinds.

use crate::schema::Type;
use crate::types;
use std::collections::HashMap;
use std::sync::LazyLock;

pub(super) const PATCH: &str = "The body of a patch. The media type determines its format.";
pub(super) const RAW: &str = "Any JSON value.";
pub(super) const EITHER: &str = "A JSON schema, or instead of it a boolean or a list.";
pub(super) const QUANTITY: &str = "An amount, as a number with an optional suffix: 500m, 10Gi, 1e9.";
pub(super) const INT_OR_STRING: &str = "A whole number, or a string such as a name or a percentage.";
pub(super) const TIME: &str = "A point in time, to the second (RFC 3339).";
pub(super) const MICRO_TIME: &str = "A point in time, to the microsecond (RFC 3339).";
pub(super) const WATCH_EVENT: &str = "One event of a watch.";
pub(super) const WATCH_EVENT_TYPE: &str = "ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.";
pub(super) const WATCH_EVENT_OBJECT: &str =
    "The object after the change, or before it was deleted; a Status for an error.";
/// Descriptions of fields in custom resources. Some clients check how these descriptions start.
pub(super) const API_VERSION: &str = "APIVersion defines the schema of the object: API group and version.";
pub(super) const KIND: &str = "Kind is the type of the object.";
pub(super) const METADATA: &str =
    "Standard object's metadata: name, labels and other fields that all objects have.";
pub(super) const VERSION: &str = "Version of the API server.";

/// Descriptions of fields that have the same meaning in all types.
const COMMON: [(&str, &str); 6] = [
    ("apiVersion", "API group and version of the object."),
    ("kind", "Type of the object."),
    (
        "metadata",
        "Name, labels and other metadata that all objects have.",
    ),
    ("items", "The objects in the list."),
    ("spec", "Desired state of the object."),
    ("status", "Most recently observed state of the object."),
];

static TEXTS: LazyLock<HashMap<(&str, &str), &str>> =
    LazyLock::new(|| types::column(|notes| notes.description));

/// The description of a type: from the type table or, for a list type, generated. `None` if the type has no description.
pub(super) fn type_description(owner: &'static Type) -> Option<String> {
    if let Some(text) = TEXTS.get(&(owner.name, "")) {
        return Some((*text).to_owned());
    }
    let entry = owner.short_name().strip_suffix("List")?;
    let is_list = owner.field("items").is_some() && owner.field("metadata").is_some();
    is_list.then(|| format!("A list of objects of kind {entry}."))
}

/// The description of a field, from the type table or from `COMMON`.
pub(super) fn field_description(owner: &'static Type, field: &'static str) -> Option<&'static str> {
    let text = TEXTS.get(&(owner.name, field)).copied();
    text.or_else(|| {
        let is_kind = owner.field("metadata").is_some();
        let common = COMMON.iter().find(|(name, _)| is_kind && *name == field);
        common.map(|(_, text)| *text)
    })
}
