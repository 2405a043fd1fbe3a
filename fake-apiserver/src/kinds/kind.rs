//! An API resource: built-in, or defined by a CRD.
//!
//! Owns properties that differ between built-in and custom resources: the storage version, and the type or schema of objects. Does not know
//! which resources exist.

use super::columns::Columns;
use super::defined::{Conversion, CustomResourceVersion};
use super::resource_definition::ResourceDefinition;
use crate::config::release::Profile;
use crate::machinery::selector::Selectable;
use crate::schema::Type;
use serde_json::{Value, json};
use std::ops::Deref;
use std::sync::Arc;

/// An API resource in one version. Clones compare as equal.
#[derive(Clone)]
pub struct Kind(Source);

#[derive(Clone)]
enum Source {
    Table(&'static ResourceDefinition),
    /// A built-in resource of another crate, and the index of its table in the store.
    Extension(&'static ResourceDefinition, usize),
    /// One version of a custom resource, and its storage version; `None` if the version is the storage version.
    Defined(Arc<CustomResourceVersion>, Option<Arc<CustomResourceVersion>>),
}

/// What defines the structure of the objects of a resource: a Go type or a CRD schema.
#[derive(Clone, Copy)]
pub(crate) enum Shape<'a> {
    /// Objects have a Go type, which is listed in `types.txt`.
    Typed(&'static Type),
    /// Objects have the OpenAPI schema of a CRD.
    Defined(&'a CustomResourceVersion),
}

impl Kind {
    /// A built-in resource of this crate.
    pub(super) const fn built_in(definition: &'static ResourceDefinition) -> Self {
        Self(Source::Table(definition))
    }

    /// A built-in resource of another crate. `table_index` is the number of the table in the store that contains its objects.
    pub(super) fn extension(definition: &'static ResourceDefinition, table_index: usize) -> Self {
        Self(Source::Extension(definition, table_index))
    }

    /// The table index in the store; `None` for built-in resources of this crate, whose index is their position in `KINDS`.
    pub(super) fn own_table_index(&self) -> Option<usize> {
        match &self.0 {
            Source::Table(_) => None,
            Source::Extension(_, table_index) => Some(*table_index),
            Source::Defined(defined, _) => Some(defined.table_index),
        }
    }

    /// A custom resource in one version. `storage` is the storage version; `None` if `version` is the storage version.
    pub fn of(version: Arc<CustomResourceVersion>, storage: Option<Arc<CustomResourceVersion>>) -> Self {
        Self(Source::Defined(version, storage))
    }

    /// The resource as the CRD defines it; `None` for built-in resources.
    pub fn defined(&self) -> Option<&CustomResourceVersion> {
        match &self.0 {
            Source::Table(_) | Source::Extension(..) => None,
            Source::Defined(defined, _) => Some(defined),
        }
    }

    pub(crate) fn conversion(&self) -> Option<&Conversion> {
        self.defined()?.conversion.as_deref()
    }

    /// The resource in its storage version.
    pub fn in_storage_version(&self) -> Self {
        let stored = match &self.0 {
            Source::Table(definition) => definition.view.map(|view| Self::built_in(view.stored)),
            Source::Extension(definition, table_index) => definition
                .view
                .map(|view| Self::extension(view.stored, *table_index)),
            Source::Defined(_, storage) => storage.as_ref().map(|storage| Self::of(storage.clone(), None)),
        };
        stored.unwrap_or_else(|| self.clone())
    }

    /// The resource in whose version writes are validated: `self` for custom resources, the storage version for built-in resources.
    pub(crate) fn validated_version(&self) -> Self {
        match self.defined() {
            Some(_) => self.clone(),
            None => self.in_storage_version(),
        }
    }

    pub(crate) fn is_storage_version(&self) -> bool {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => definition.view.is_none(),
            Source::Defined(_, storage) => storage.is_none(),
        }
    }

    pub(crate) fn shape(&self) -> Shape<'_> {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => Shape::Typed(
                Type::find(&definition.api_version(), definition.kind)
                    .expect("a test checks that types.txt lists all built-in kinds"),
            ),
            Source::Defined(defined, _) => Shape::Defined(defined),
        }
    }

    /// The Go type of the objects; `None` for custom resources.
    pub(crate) fn object_type(&self) -> Option<&'static Type> {
        match self.shape() {
            Shape::Typed(of) => Some(of),
            Shape::Defined(_) => None,
        }
    }

    /// The zero value of the objects' Go type: an object without any field set.
    pub(crate) fn zero_value(&self) -> Value {
        self.object_type()
            .map_or_else(|| json!({"metadata": {}}), |of| of.empty_object().clone())
    }

    pub(crate) fn columns(&self) -> Columns<'_> {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => {
                Columns::Table(definition.columns)
            }
            Source::Defined(defined, _) => Columns::Defined(&defined.columns),
        }
    }

    pub(crate) fn deprecation_warning(&self, profile: Profile) -> Option<String> {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => {
                definition.deprecation_warning(profile)
            }
            Source::Defined(defined, _) => defined.deprecation.clone(),
        }
    }

    pub(crate) fn list_kind(&self) -> String {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => {
                format!("{}List", definition.kind)
            }
            Source::Defined(defined, _) => defined.list_kind.clone(),
        }
    }

    /// The field that field selectors call `label`, such as `metadata.name`. The error is the message for an unknown label.
    pub(crate) fn select_by(&self, label: &str) -> Result<Selectable, String> {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => definition.select_by(label),
            Source::Defined(defined, _) => defined.select_by(label),
        }
    }
}

impl Deref for Kind {
    type Target = ResourceDefinition;

    fn deref(&self) -> &ResourceDefinition {
        match &self.0 {
            Source::Table(definition) | Source::Extension(definition, _) => definition,
            Source::Defined(defined, _) => &defined.definition,
        }
    }
}

impl PartialEq for Kind {
    /// Resource definitions are compared by address, because two different definitions may have equal content.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }
}
