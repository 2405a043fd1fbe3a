//! What only documents say about types: facts that nothing in this server follows.
//!
//! Owns reading `facts.txt`. A line of it is a type, or, indented, a field, and its notes: `required` and `optional`
//! where the form of a field suggests the opposite, `enum=A,B` (with `~` for a space) and `default=VALUE`,
//! `patch=STRATEGY`, `atomic` for a list that merges and yet has one owner, `silent` for one that does not say so,
//! `granular` for a map that says what goes without saying, `of=TYPE` for the name of a type that is any JSON here; and `union=MEMBER,…` of a
//! type, with `by=FIELD` where a field tells the members apart. Does not know how a schema is written down.
//!
//! The file is a part of the program, so that what cannot be read is a bug: it panics, and any test shows it.

use std::collections::HashMap;
use std::sync::LazyLock;

static FACTS: LazyLock<HashMap<(&str, &str), Facts>> = LazyLock::new(|| read(include_str!("facts.txt")));

/// What is said of a field, or of a type.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Whether the field must be there, where its form does not tell.
    pub(super) required: Option<bool>,
    /// All values that the field, or each entry of it, may have.
    pub(super) values: Option<Vec<String>>,
    /// What the field is when it is not set.
    pub(super) default: Option<&'static str>,
    /// How strategic merge patches treat the field, where its form does not tell.
    pub(super) patch: Option<&'static str>,
    /// The list has one owner.
    pub(super) atomic: bool,
    /// The list does not say whose it is.
    pub(super) silent: bool,
    /// The struct or map has an owner for each member, and says so.
    pub(super) granular: bool,
    /// The full name of the field's type, which is any JSON.
    pub(super) of: Option<&'static str>,
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
    union: None,
    by: None,
};

/// What is said of a field; of the type itself where the field is empty.
pub(super) fn of(owner: &'static str, field: &'static str) -> &'static Facts {
    FACTS.get(&(owner, field)).unwrap_or(&NONE)
}

fn read(text: &'static str) -> HashMap<(&'static str, &'static str), Facts> {
    let mut all = HashMap::new();
    let mut owner = "";
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (name, notes) = line
            .trim_start()
            .split_once(' ')
            .unwrap_or((line.trim_start(), ""));
        let field = if line.starts_with(' ') {
            name
        } else {
            owner = name;
            ""
        };
        all.insert((owner, field), notes.split(' ').fold(Facts::default(), note));
    }
    all
}

fn note(mut facts: Facts, note: &'static str) -> Facts {
    let (what, value) = note.split_once('=').unwrap_or((note, ""));
    let list = || Some(value.split(',').collect());
    match what {
        "" => {}
        "required" => facts.required = Some(true),
        "optional" => facts.required = Some(false),
        "enum" => facts.values = Some(value.split(',').map(|one| one.replace('~', " ")).collect()),
        "default" => facts.default = Some(value),
        "patch" => facts.patch = Some(value),
        "atomic" => facts.atomic = true,
        "silent" => facts.silent = true,
        "granular" => facts.granular = true,
        "of" => facts.of = Some(value),
        "union" => facts.union = list(),
        "by" => facts.by = Some(value),
        other => panic!("{other} is no note on a field"),
    }
    facts
}
