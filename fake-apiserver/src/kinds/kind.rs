//! A resource: a row of the table, or one that a definition has made.
//!
//! Owns what can be said of a resource beyond its row: which one stores its objects, and what its objects look like.
//! Does not know which resources there are.

use super::columns::Columns;
use super::defined::{Conversion, Defined};
use super::row::Row;
use crate::config::release::Profile;
use crate::machinery::selector::Selectable;
use crate::schema::Type;
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// A resource. Clones are the same resource.
#[derive(Clone)]
pub struct Kind(Source);

#[derive(Clone)]
enum Source {
    Table(&'static Row),
    /// In one version, and in the version that stores objects where that is another one.
    Defined(Arc<Defined>, Option<Arc<Defined>>),
}

/// What the objects of a resource look like.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// They are of a type of the table of types.
    Typed(&'static Type),
    /// They follow the schema of a definition.
    Defined(&'a Defined),
}

impl Kind {
    /// The resource of a row of the table.
    pub(super) const fn table(row: &'static Row) -> Self {
        Self(Source::Table(row))
    }

    /// A resource that a definition has made.
    pub(super) fn of(version: Arc<Defined>, storage: Option<Arc<Defined>>) -> Self {
        Self(Source::Defined(version, storage))
    }

    /// What a definition says of the resource; none for the built-in ones.
    pub(crate) fn defined(&self) -> Option<&Defined> {
        match &self.0 {
            Source::Table(_) => None,
            Source::Defined(defined, _) => Some(defined),
        }
    }

    /// The webhook that brings objects from one version to another, if there is one.
    pub(crate) fn conversion(&self) -> Option<&Conversion> {
        self.defined()?.conversion.as_deref()
    }

    /// The resource whose objects are stored: this one, or the one that it is a view of.
    pub(crate) fn stored(&self) -> Self {
        let stored = match &self.0 {
            Source::Table(row) => row.view.map(|view| Self::table(view.stored)),
            Source::Defined(_, storage) => storage.as_ref().map(|storage| Self::of(storage.clone(), None)),
        };
        stored.unwrap_or_else(|| self.clone())
    }

    /// The resource in whose form writes are judged: this one for what definitions have made, and the stored one for all
    /// else.
    pub(crate) fn judged(&self) -> Self {
        match self.defined() {
            Some(_) => self.clone(),
            None => self.stored(),
        }
    }

    /// Whether this is the resource that stores its objects.
    pub(crate) fn is_stored(&self) -> bool {
        match &self.0 {
            Source::Table(row) => row.view.is_none(),
            Source::Defined(_, storage) => storage.is_none(),
        }
    }

    /// What the objects look like.
    pub(crate) fn shape(&self) -> Shape<'_> {
        match &self.0 {
            Source::Table(row) => Shape::Typed(
                Type::find(&row.api_version(), row.kind).expect("a test holds that every kind has a type"),
            ),
            Source::Defined(defined, _) => Shape::Defined(defined),
        }
    }

    /// The type of the objects, where they have one.
    pub(crate) fn object_type(&self) -> Option<&'static Type> {
        match self.shape() {
            Shape::Typed(of) => Some(of),
            Shape::Defined(_) => None,
        }
    }

    /// An object of which nothing was set.
    pub(crate) fn nothing(&self) -> Value {
        self.object_type()
            .map_or_else(|| json!({"metadata": {}}), |of| of.nothing().clone())
    }

    /// What `kubectl get` shows.
    pub(crate) fn columns(&self) -> Columns<'_> {
        match &self.0 {
            Source::Table(row) => Columns::Table(row.columns),
            Source::Defined(defined, _) => Columns::Defined(&defined.columns),
        }
    }

    /// The warning to those who use a resource that should not be used any more.
    pub(crate) fn advice(&self, profile: Profile) -> Option<String> {
        match &self.0 {
            Source::Table(row) => row.advice(profile),
            Source::Defined(defined, _) => defined.deprecation.clone(),
        }
    }

    /// The kind of lists.
    pub(crate) fn list_kind(&self) -> String {
        match &self.0 {
            Source::Table(row) => format!("{}List", row.kind),
            Source::Defined(defined, _) => defined.list_kind.clone(),
        }
    }

    /// The field of a label by which objects can be selected, or the refusal to select by it.
    pub(crate) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        match &self.0 {
            Source::Table(row) => row.select_by(label),
            Source::Defined(defined, _) => defined.select_by(label),
        }
    }
}

impl Deref for Kind {
    type Target = Row;

    fn deref(&self) -> &Row {
        match &self.0 {
            Source::Table(row) => row,
            Source::Defined(defined, _) => &defined.row,
        }
    }
}

impl PartialEq for Kind {
    /// Rows are compared by their place: two of them may say the same.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }
}
