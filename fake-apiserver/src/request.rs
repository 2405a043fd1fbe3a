//! A request as rules, permissions and observers see it: its verb and the resource in its path.
//!
//! Does not know who sent it, and does not parse the path.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The request verbs of Kubernetes authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Read one object, or a path that is no resource.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection.
    Watch,
    /// Create an object or a subresource such as a binding.
    Create,
    /// Replace an object.
    Update,
    /// Change part of an object.
    Patch,
    /// Delete an object.
    Delete,
    /// Delete a collection.
    DeleteCollection,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 8] = [
        Self::Get,
        Self::List,
        Self::Watch,
        Self::Create,
        Self::Update,
        Self::Patch,
        Self::Delete,
        Self::DeleteCollection,
    ];

    /// The verb as RBAC spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
        }
    }

    /// Whether the verb changes nothing.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which resource a request named, as its URL had it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePath {
    /// API group; empty for the core group.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Subresource, for example `status`.
    pub subresource: Option<String>,
    /// Namespace, where the path has one.
    pub namespace: Option<String>,
    /// Name, where the path has one (for a create, the name that the object got).
    pub name: Option<String>,
}

impl ResourcePath {
    /// Group and version as `apiVersion` has them: `v1`, or `storage.k8s.io/v1`.
    pub fn group_version(&self) -> String {
        match self.group.as_str() {
            "" => self.version.clone(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// The resource as RBAC spells it: `pods`, or `pods/binding`.
    pub fn combined(&self) -> String {
        combined(&self.resource, self.subresource.as_deref().unwrap_or_default())
    }

    /// What a request for it acts on, spelt in the same way: whoever creates `bindings` binds pods.
    pub fn acted_on(&self) -> String {
        match self.is_bindings() {
            true => "pods/binding".to_owned(),
            false => self.combined(),
        }
    }

    /// Whether these are the `bindings` that name their pods themselves.
    pub fn is_bindings(&self) -> bool {
        self.group.is_empty() && self.resource == "bindings" && self.subresource.is_none()
    }
}

/// A resource as rules name it: with its subresource, if there is one.
pub(crate) fn combined(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}/{subresource}")
    }
}
