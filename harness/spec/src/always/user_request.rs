//! Requests of the user for CSIStorageCapacity and CSIDriver objects. Checks nothing.

use capacity_types::{NodeTopology, Quantity};

use crate::world::{CapacityObject, CsiDriver, NamespacedName};

/// A request of the user to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserRequest {
    /// Create a CSIStorageCapacity object.
    Create {
        /// Namespace and name of the object to create. With `is_prefix`, the name is only a prefix (`generateName`).
        key: NamespacedName,
        /// Whether the server appends a random suffix to the name (`generateName`).
        is_prefix: bool,
        /// The CSIStorageCapacity object to create.
        object: CapacityObject,
    },
    /// Patch a CSIStorageCapacity object. Fields that are not set remain unchanged.
    Patch {
        /// Namespace and name of the object. `None`: the patch may concern any object.
        key: Option<NamespacedName>,
        /// The fields that the patch sets.
        fields: CapacityPatch,
    },
    /// Replace a CSIStorageCapacity object (PUT).
    Replace {
        /// Namespace and name of the object to replace.
        key: NamespacedName,
        /// The CSIStorageCapacity object that replaces the stored one.
        object: CapacityObject,
        /// Whether the request contains an outdated resourceVersion.
        is_stale: bool,
    },
    /// Delete a CSIStorageCapacity object. `None`: the request may concern any object.
    Delete(Option<NamespacedName>),
    /// Delete a namespace and the objects in it.
    DeleteNamespace(String),
    /// Any other write to CSIStorageCapacity objects, which is not checked.
    Other,
    /// Create a CSIDriver object.
    CreateDriver(String, CsiDriver),
}

/// The fields of a CSIStorageCapacity object that a patch sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapacityPatch {
    /// `storageClassName`. `None`: not set by the patch.
    pub class: Option<String>,
    /// `nodeTopology`. `None`: not set by the patch.
    pub topology: Option<NodeTopology>,
    /// New value of `capacity`, if the patch sets the field.
    pub capacity: PatchValue,
    /// New value of `maximumVolumeSize`, if the patch sets the field.
    pub maximum: PatchValue,
}

/// A quantity field in a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PatchValue {
    /// The patch does not set the field.
    #[default]
    Unchanged,
    /// The new value; `None` removes the field.
    Set(Option<Quantity>),
}

impl PatchValue {
    fn value_after(self, before: Option<Quantity>) -> Option<Quantity> {
        match self {
            PatchValue::Unchanged => before,
            PatchValue::Set(value) => value,
        }
    }
}

impl CapacityPatch {
    pub(super) fn apply_to(&self, before: &CapacityObject) -> CapacityObject {
        CapacityObject {
            class: self.class.clone().unwrap_or_else(|| before.class.clone()),
            topology: self.topology.clone().unwrap_or_else(|| before.topology.clone()),
            capacity: self.capacity.value_after(before.capacity),
            maximum: self.maximum.value_after(before.maximum),
            ..before.clone()
        }
    }
}

impl UserRequest {
    fn may_concern(&self, key: &NamespacedName) -> bool {
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

/// The requests of the user whose results are not known yet.
#[derive(Clone, Debug, Default)]
pub(super) struct UserRequests(pub(super) Vec<UserRequest>);

impl UserRequests {
    /// Replaces the pending user requests, because earlier ones have completed. Objects of a deleted namespace may be deleted later.
    pub(super) fn replace(&mut self, requests: Vec<UserRequest>) {
        let before = std::mem::replace(&mut self.0, requests);
        let namespaces = before.into_iter();
        let namespaces = namespaces.filter(|request| matches!(request, UserRequest::DeleteNamespace(_)));
        self.0.extend(namespaces);
    }

    /// Removes and returns the user request that wrote the object `key`. A request without a key may match several objects.
    pub(super) fn take_matching(&mut self, key: &NamespacedName) -> Option<UserRequest> {
        let at = self.0.iter().position(|request| request.may_concern(key))?;
        Some(match &self.0[at] {
            UserRequest::Create { .. } => self.0.remove(at),
            request => request.clone(),
        })
    }
}
