//! Schema of an object's members, for strategic merge patches.

use crate::schema::{Field, Strategy, Type, ValueType};

/// Schema of an object's members: struct fields, or values of one type.
#[derive(Clone, Copy)]
pub(super) enum Members {
    Struct(&'static Type),
    Map(&'static ValueType),
    /// No schema: maps merge, lists are replaced.
    Free,
}

impl Members {
    /// Schema and merge strategy of a member.
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

    /// Schema of the members of a value, or of a list's entries.
    pub(super) fn of(form: &'static ValueType) -> Self {
        match form {
            ValueType::Struct(id) => Self::Struct(id.get()),
            ValueType::Map(inner) => Self::Map(inner),
            ValueType::List(inner) => Self::of(inner),
            _ => Self::Free,
        }
    }
}
