//! The schema of the members of an object, for strategic merge patches.

use crate::schema::{Field, Strategy, Type, ValueType};

/// The schema of the members of an object: the fields of a struct, or the values of a map.
#[derive(Clone, Copy)]
pub(super) enum Members {
    Struct(&'static Type),
    Map(&'static ValueType),
    /// Without schema: maps are merged by member, lists are replaced.
    Free,
}

impl Members {
    /// The schema of the member `name`, and its merge strategy.
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

    /// The schema of the members of a value, or of the entries of a list.
    pub(super) fn of(form: &'static ValueType) -> Self {
        match form {
            ValueType::Struct(id) => Self::Struct(id.get()),
            ValueType::Map(inner) => Self::Map(inner),
            ValueType::List(inner) => Self::of(inner),
            _ => Self::Free,
        }
    }
}
