//! The verb of a request and the resource in its path, as fault rules, authorization and observers see them.
//!
//! Does not know the user, and does not parse paths.

use crate::machinery::versions;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The request verbs of Kubernetes authorization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Read one object or a non-resource path.
    Get,
    /// List the objects of a collection.
    List,
    /// Watch the changes of a collection.
    Watch,
    /// Create an object or a subresource such as a binding.
    Create,
    /// Replace an object with a new state (PUT).
    Update,
    /// Change a part of an object (PATCH).
    Patch,
    /// Delete one object.
    Delete,
    /// Delete all objects of a collection.
    DeleteCollection,
}

impl Verb {
    /// All verbs, in the order of their declaration.
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

    /// Whether the verb is get, list or watch.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::Get | Self::List | Self::Watch)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The resource in the path of a request, as the client wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourcePath {
    /// API group; empty for the core group.
    pub group: String,
    /// API version within the group.
    pub version: String,
    /// Plural resource name, such as `pods`.
    pub resource: String,
    /// Subresource, for example `status`; `None` for the object itself.
    pub subresource: Option<String>,
    /// Namespace; `None` for cluster-scoped requests.
    pub namespace: Option<String>,
    /// Name of the object; `None` for requests for a collection. For a create, the name of the created object.
    pub name: Option<String>,
}

impl ResourcePath {
    /// Group and version as in `apiVersion`: `v1` or `storage.k8s.io/v1`.
    pub fn group_version(&self) -> String {
        versions::group_version(&self.group, &self.version)
    }

    /// The resource and subresource as RBAC spells them: `pods`, or `pods/binding`.
    pub fn combined(&self) -> String {
        combined(&self.resource, self.subresource.as_deref().unwrap_or_default())
    }

    /// The resource that the request affects, as RBAC spells it: creating `bindings` affects `pods/binding`.
    pub fn affected_resource(&self) -> String {
        match self.is_bindings() {
            true => "pods/binding".to_owned(),
            false => self.combined(),
        }
    }

    /// Whether the resource is the legacy `bindings`. A Binding that is created at this path names its pod in the body.
    pub fn is_bindings(&self) -> bool {
        self.group.is_empty() && self.resource == "bindings" && self.subresource.is_none()
    }
}

/// `RESOURCE` or `RESOURCE/SUBRESOURCE`, as RBAC rules spell it.
pub(crate) fn combined(resource: &str, subresource: &str) -> String {
    if subresource.is_empty() {
        resource.to_owned()
    } else {
        format!("{resource}/{subresource}")
    }
}
