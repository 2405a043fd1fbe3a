//! A resource: a row of the table.
//!
//! Owns what can be said of a resource beyond its row: which one stores its objects. Does not know which there are.

use super::row::Row;
use std::ops::Deref;

/// A resource. Clones are the same resource.
#[derive(Clone)]
pub(crate) struct Kind(&'static Row);

impl Kind {
    /// The resource of a row of the table.
    pub(super) const fn table(row: &'static Row) -> Self {
        Self(row)
    }

    /// The resource whose objects are stored: this one, or the one that it is a view of.
    pub(crate) fn stored(&self) -> Self {
        self.0.view.map_or_else(|| self.clone(), |view| Self(view.stored))
    }

    /// Whether this is the resource that stores its objects.
    pub(crate) fn is_stored(&self) -> bool {
        self.0.view.is_none()
    }
}

impl Deref for Kind {
    type Target = Row;

    fn deref(&self) -> &Row {
        self.0
    }
}

impl PartialEq for Kind {
    /// Rows are compared by their place: two of them may say the same.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}
