//! What the members of an object are, as far as a patch needs to know.

use crate::schema::{Field, Strategy, Type, ValueType};

/// What the members of an object are: of a struct, or all of one form.
#[derive(Clone, Copy)]
pub(super) enum Members {
    Struct(&'static Type),
    Map(&'static ValueType),
    /// Nothing is known of them: maps merge, lists are replaced.
    Free,
}

impl Members {
    /// What a member consists of, and how it merges.
    pub(super) fn member(self, name: &str) -> (Self, Strategy) {
        match self {
            Self::Free => (Self::Free, Strategy::default()),
            Self::Map(form) => (Self::of(form), Strategy::default()),
            Self::Struct(of) => match of.field(name) {
                Some(Field { form, strategy, .. }) => (Self::of(form), *strategy),
                None => (Self::Free, Strategy::default()),
            },
        }
    }

    /// The members of values of a form, or of a list's entries.
    pub(super) fn of(form: &'static ValueType) -> Self {
        match form {
            ValueType::Struct(id) => Self::Struct(id.get()),
            ValueType::Map(inner) => Self::Map(inner),
            ValueType::List(inner) => Self::of(inner),
            _ => Self::Free,
        }
    }
}
