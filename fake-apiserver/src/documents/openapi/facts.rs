//! OpenAPI properties that the server publishes but does not enforce.
//!
//! Owns the grammar of the `schema` column of the type table. Does not know how schemas are built.

use crate::types;
use std::collections::HashMap;
use std::sync::LazyLock;

static FACTS: LazyLock<HashMap<(&str, &str), OpenApiProperties>> = LazyLock::new(|| {
    let notes = types::column(|notes| notes.documents).into_iter();
    notes
        .map(|(field, words)| (field, words.split(' ').fold(OpenApiProperties::default(), note)))
        .collect()
});

#[derive(Debug, Default)]
pub(super) struct OpenApiProperties {
    /// Whether the field is required. `None`: the field is required if it is always serialized.
    pub(super) required: Option<bool>,
    /// The enum values of the field or of its items.
    pub(super) values: Option<Vec<String>>,
    /// The default value of the field: JSON, or a plain string.
    pub(super) default: Option<&'static str>,
    /// `x-kubernetes-patch-strategy`. `None`: derived from the patch strategy in the type table.
    pub(super) patch: Option<&'static str>,
    /// Whether the list has `x-kubernetes-list-type: atomic`.
    pub(super) atomic: bool,
    /// Whether `x-kubernetes-list-type` and `x-kubernetes-map-type` are omitted.
    pub(super) silent: bool,
    /// Whether the struct or map has `x-kubernetes-map-type: granular`.
    pub(super) granular: bool,
    /// The full name of the field's type in OpenAPI, if the type accepts any JSON.
    pub(super) of: Option<&'static str>,
    /// Whether the schema of the type `of` omits `type: object`.
    pub(super) any: bool,
    /// Members of the union, of which at most one may be set.
    pub(super) union: Option<Vec<&'static str>>,
    /// The discriminator of the union: the field that contains the name of the union member in use.
    pub(super) by: Option<&'static str>,
}

static NONE: LazyLock<OpenApiProperties> = LazyLock::new(OpenApiProperties::default);

/// The OpenAPI properties of a field of the type `owner`, or of the type itself if `field` is empty.
pub(super) fn properties_of(owner: &'static str, field: &'static str) -> &'static OpenApiProperties {
    FACTS.get(&(owner, field)).unwrap_or(&NONE)
}

/// Adds the property that one word of the type table's `schema` column states.
fn note(mut facts: OpenApiProperties, note: &'static str) -> OpenApiProperties {
    let (what, value) = note.split_once('=').unwrap_or((note, ""));
    let list = || Some(value.split(',').collect());
    match what {
        "required" => facts.required = Some(true),
        "optional" => facts.required = Some(false),
        "enum" => facts.values = Some(value.split(',').map(|one| one.replace('~', " ")).collect()),
        "default" => facts.default = Some(value),
        "patch" => facts.patch = Some(value),
        "atomic" => facts.atomic = true,
        "silent" => facts.silent = true,
        "granular" => facts.granular = true,
        "of" => facts.of = Some(value),
        "any" => facts.any = true,
        "union" => facts.union = list(),
        "by" => facts.by = Some(value),
        other => panic!("unknown attribute {other} in the schema column of types.txt"),
    }
    facts
}
