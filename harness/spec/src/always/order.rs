//! User requests about capacity objects and drivers. Checks nothing.

use capacity_types::{NodeTopology, Quantity};

use crate::world::{CapacityObject, CsiDriver, NamespacedName};

/// A user request to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Create a capacity object.
    Create {
        /// Its key; with `is_prefix`, the name is a prefix (`generateName`).
        key: NamespacedName,
        /// Whether the server completes the name.
        is_prefix: bool,
        /// The object.
        object: CapacityObject,
    },
    /// Patch a capacity object. Unset fields are unchanged.
    Change {
        /// Its key. `None`: it is identified by the fields.
        key: Option<NamespacedName>,
        /// The fields.
        fields: Fields,
    },
    /// Replace a capacity object.
    Replace {
        /// Its key.
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
pub struct Fields {
    /// `storageClassName`. `None`: not in the patch.
    pub class: Option<String>,
    /// `nodeTopology`. `None`: not in the patch.
    pub topology: Option<NodeTopology>,
    /// `capacity`.
    pub capacity: Figure,
    /// `maximumVolumeSize`.
    pub maximum: Figure,
}

/// A capacity value in a patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Figure {
    /// Not in the patch.
    #[default]
    Kept,
    /// The new value, or unset.
    Set(Option<Quantity>),
}

impl Figure {
    fn or(self, before: Option<Quantity>) -> Option<Quantity> {
        match self {
            Figure::Kept => before,
            Figure::Set(figure) => figure,
        }
    }
}

impl Fields {
    /// Applies the patch to an object.
    pub(super) fn put(&self, before: &CapacityObject) -> CapacityObject {
        CapacityObject {
            class: self.class.clone().unwrap_or_else(|| before.class.clone()),
            topology: self.topology.clone().unwrap_or_else(|| before.topology.clone()),
            capacity: self.capacity.or(before.capacity),
            maximum: self.maximum.or(before.maximum),
            ..before.clone()
        }
    }
}

impl Order {
    /// Whether the request may concern an object.
    fn is_about(&self, key: &NamespacedName) -> bool {
        match self {
            Order::Create {
                key: wanted,
                is_prefix: true,
                ..
            } => key.namespace == wanted.namespace && key.name.starts_with(&wanted.name),
            Order::Create { key: wanted, .. } | Order::Replace { key: wanted, .. } => key == wanted,
            Order::Change { key: wanted, .. } | Order::Delete(wanted) => {
                wanted.as_ref().is_none_or(|wanted| wanted == key)
            }
            Order::DeleteNamespace(namespace) => *namespace == key.namespace,
            Order::Other => true,
            Order::CreateDriver(..) => false,
        }
    }
}

/// The pending user requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders(pub(super) Vec<Order>);

impl Orders {
    /// Replaces the requests: earlier ones have been answered, except for deletions of the objects of a namespace.
    pub(super) fn ordered(&mut self, orders: Vec<Order>) {
        let before = std::mem::replace(&mut self.0, orders);
        let namespaces = before.into_iter();
        let namespaces = namespaces.filter(|order| matches!(order, Order::DeleteNamespace(_)));
        self.0.extend(namespaces);
    }

    /// Takes the request that wrote an object. A request without a key may match several objects.
    pub(super) fn taken(&mut self, key: &NamespacedName) -> Option<Order> {
        let at = self.0.iter().position(|order| order.is_about(key))?;
        Some(match &self.0[at] {
            Order::Create { .. } => self.0.remove(at),
            order => order.clone(),
        })
    }
}
