//! User requests about capacity objects and drivers. Checks nothing.

use capacity_types::{NodeTopology, Quantity};

use crate::world::{CapacityObject, CsiDriver, NamespacedName};

/// A user request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// Create a capacity object.
    Create {
        /// The created object. With `is_prefix`, the name is a prefix (`generateName`).
        key: NamespacedName,
        /// Whether the server completes the name.
        is_prefix: bool,
        /// The object.
        object: CapacityObject,
    },
    /// Patch a capacity object. Unset fields are unchanged.
    Patch {
        /// The updated object. `None`: the object is identified by its fields.
        key: Option<NamespacedName>,
        /// The fields.
        fields: CapacityPatch,
    },
    /// Replace a capacity object.
    Replace {
        /// The object of the request.
        key: NamespacedName,
        /// The new object.
        object: CapacityObject,
        /// Whether the resource version is outdated.
        is_stale: bool,
    },
    /// Delete a capacity object. Key as for a patch.
    Delete(Option<NamespacedName>),
    /// Delete a namespace with its objects.
    DeleteNamespace(String),
    /// Any other write of capacity objects; not checked.
    Other,
    /// Create a CSIDriver.
    CreateDriver(String, CsiDriver),
}

/// The capacity object fields of a patch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityPatch {
    /// `storageClassName`. `None`: not in the patch.
    pub class: Option<String>,
    /// `nodeTopology`. `None`: not in the patch.
    pub topology: Option<NodeTopology>,
    /// `capacity`.
    pub capacity: PatchValue,
    /// `maximumVolumeSize`.
    pub maximum: PatchValue,
}

/// A capacity value in a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchValue {
    /// Not in the patch.
    #[default]
    Unchanged,
    /// The new value, or unset.
    Set(Option<Quantity>),
}

impl PatchValue {
    fn or(self, before: Option<Quantity>) -> Option<Quantity> {
        match self {
            PatchValue::Unchanged => before,
            PatchValue::Set(value) => value,
        }
    }
}

impl CapacityPatch {
    /// Applies the patch to an object.
    pub(super) fn apply_to(&self, before: &CapacityObject) -> CapacityObject {
        CapacityObject {
            class: self.class.clone().unwrap_or_else(|| before.class.clone()),
            topology: self.topology.clone().unwrap_or_else(|| before.topology.clone()),
            capacity: self.capacity.or(before.capacity),
            maximum: self.maximum.or(before.maximum),
            ..before.clone()
        }
    }
}

impl UserRequest {
    /// Whether the request may concern an object.
    fn is_about(&self, key: &NamespacedName) -> bool {
        match self {
            UserRequest::Create {
                key: requested,
                is_prefix: true,
                ..
            } => key.namespace == requested.namespace && key.name.starts_with(&requested.name),
            UserRequest::Create { key: requested, .. } | UserRequest::Replace { key: requested, .. } => {
                key == requested
            }
            UserRequest::Patch { key: requested, .. } | UserRequest::Delete(requested) => {
                requested.as_ref().is_none_or(|requested| requested == key)
            }
            UserRequest::DeleteNamespace(namespace) => *namespace == key.namespace,
            UserRequest::Other => true,
            UserRequest::CreateDriver(..) => false,
        }
    }
}

/// The pending user requests.
#[derive(Clone, Debug, Default)]
pub(super) struct UserRequests(pub(super) Vec<UserRequest>);

impl UserRequests {
    /// Replaces the requests: earlier ones have been answered, except for deletions of the objects of a namespace.
    pub(super) fn replace(&mut self, requests: Vec<UserRequest>) {
        let before = std::mem::replace(&mut self.0, requests);
        let namespaces = before.into_iter();
        let namespaces = namespaces.filter(|request| matches!(request, UserRequest::DeleteNamespace(_)));
        self.0.extend(namespaces);
    }

    /// Takes the request that wrote an object. A request without a key may match several objects.
    pub(super) fn take_matching(&mut self, key: &NamespacedName) -> Option<UserRequest> {
        let at = self.0.iter().position(|request| request.is_about(key))?;
        Some(match &self.0[at] {
            UserRequest::Create { .. } => self.0.remove(at),
            request => request.clone(),
        })
    }
}
