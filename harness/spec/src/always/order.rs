//! What the user of a cluster asks of the API server about capacity objects and drivers. Judges nothing.

use capacity_types::{NodeTopology, Quantity};

use crate::world::{CapacityObject, CsiDriver, NamespacedName};

/// Something that the user asks of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A capacity object is to be created.
    Create {
        /// Its key; with `is_prefix`, its name begins so, and the server chooses the rest (`generateName`).
        key: NamespacedName,
        /// Whether the server is to choose the rest of the name.
        is_prefix: bool,
        /// The object.
        object: CapacityObject,
    },
    /// A capacity object is to be changed; unset fields stay as they are.
    Change {
        /// Its key; none: it is found by what it says.
        key: Option<NamespacedName>,
        /// The fields.
        fields: Fields,
    },
    /// A capacity object is to be replaced.
    Replace {
        /// Its key.
        key: NamespacedName,
        /// What it is to be.
        object: CapacityObject,
        /// Whether it names a version that is long past.
        is_stale: bool,
    },
    /// A capacity object is to be deleted; the key as for a change.
    Delete(Option<NamespacedName>),
    /// A namespace is to be deleted, with the objects in it.
    DeleteNamespace(String),
    /// Capacity objects are written in a way of which nothing is said.
    Other,
    /// A CSIDriver is to be created.
    CreateDriver(String, CsiDriver),
}

/// What a change says of the fields of a capacity object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// `storageClassName`; none: it says nothing of that.
    pub class: Option<String>,
    /// `nodeTopology`; none: it says nothing of that.
    pub topology: Option<NodeTopology>,
    /// `capacity`.
    pub capacity: Figure,
    /// `maximumVolumeSize`.
    pub maximum: Figure,
}

/// What a change says of a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Figure {
    /// Nothing.
    #[default]
    Kept,
    /// That it is this from now on, or unset.
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
    /// An object after the change.
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
    /// Whether it may be about an object.
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

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub(super) struct Orders(pub(super) Vec<Order>);

impl Orders {
    /// All that was asked for before is answered; only the objects of a namespace are deleted after that.
    pub(super) fn ordered(&mut self, orders: Vec<Order>) {
        let before = std::mem::replace(&mut self.0, orders);
        let namespaces = before.into_iter();
        let namespaces = namespaces.filter(|order| matches!(order, Order::DeleteNamespace(_)));
        self.0.extend(namespaces);
    }

    /// The one that a written object is of. One that tells no key may be of several.
    pub(super) fn taken(&mut self, key: &NamespacedName) -> Option<Order> {
        let at = self.0.iter().position(|order| order.is_about(key))?;
        Some(match &self.0[at] {
            Order::Create { .. } => self.0.remove(at),
            order => order.clone(),
        })
    }
}
