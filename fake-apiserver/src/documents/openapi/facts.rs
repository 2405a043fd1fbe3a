//! What only documents say about types: facts that nothing in this server follows.
//!
//! Owns the words of that column of the table of types. Does not know how a schema is written down.

use crate::types;
use std::collections::HashMap;
use std::sync::LazyLock;

static FACTS: LazyLock<HashMap<(&str, &str), Facts>> = LazyLock::new(|| {
    let told = types::column(|notes| notes.documents).into_iter();
    told.map(|(place, words)| (place, words.split(' ').fold(Facts::default(), note)))
        .collect()
});

/// What documents say of a field, or of a type.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Whether the field must be there, where that does not follow from its form.
    pub(super) required: Option<bool>,
    /// All values that the field, or each entry of it, may have.
    pub(super) values: Option<Vec<String>>,
    /// What the field is when it is not set.
    pub(super) default: Option<&'static str>,
    /// How strategic merge patches treat the field, where that does not follow from its form.
    pub(super) patch: Option<&'static str>,
    /// The list has one owner.
    pub(super) atomic: bool,
    /// The document does not say who owns the list.
    pub(super) silent: bool,
    /// The document says that each member of the struct or map has an owner of its own.
    pub(super) granular: bool,
    /// The full name of the field's type, which is any JSON.
    pub(super) of: Option<&'static str>,
    /// Not even that the type is an object is said.
    pub(super) any: bool,
    /// Members of the type of which one at most is set.
    pub(super) union: Option<Vec<&'static str>>,
    /// The field that says which.
    pub(super) by: Option<&'static str>,
}

static NONE: Facts = Facts {
    required: None,
    values: None,
    default: None,
    patch: None,
    atomic: false,
    silent: false,
    granular: false,
    of: None,
    any: false,
    union: None,
    by: None,
};

/// The facts about a field; about the type itself where the field is empty.
pub(super) fn of(owner: &'static str, field: &'static str) -> &'static Facts {
    FACTS.get(&(owner, field)).unwrap_or(&NONE)
}

/// Adds one word of the column to the facts.
fn note(mut facts: Facts, note: &'static str) -> Facts {
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
        other => panic!("{other} is no note on a field"),
    }
    facts
}
