//! Builds API objects as the scheduler caches them, from a few parameters. Decides nothing.

use std::sync::Arc;

use capacity_scheduler::objects::{Capacity, Claim, Class, Driver, Node, ObjectKey, Pod, PodVolume, Volume};
use capacity_types::{LabelSelector, Labels, NodeTopology, Quantity};

const NAMESPACE: &str = "study";

/// The cache key of a claim or of another namespaced object.
pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::namespaced(NAMESPACE, name)
}

pub(crate) fn quantity(bytes: u64) -> Option<Quantity> {
    bytes.to_string().parse().ok()
}

pub(crate) fn node(name: &str, labels: Labels) -> Arc<Node> {
    Arc::new(Node {
        key: ObjectKey::cluster(name),
        version: String::new(),
        labels: labels.into(),
        unschedulable: false,
        taints: Vec::new(),
        allocatable: None,
    })
}

/// A StorageClass with volumeBindingMode WaitForFirstConsumer.
pub(crate) fn class(name: &str, driver: &str) -> Arc<Class> {
    Arc::new(Class {
        key: ObjectKey::cluster(name),
        version: String::new(),
        provisioner: driver.to_owned(),
        delayed: true,
        allowed: Vec::new(),
    })
}

pub(crate) fn driver(name: &str, tracks_capacity: bool) -> Arc<Driver> {
    Arc::new(Driver {
        key: ObjectKey::cluster(name),
        version: String::new(),
        tracks_capacity,
    })
}

pub(crate) fn topology_with_labels<'a>(
    labels: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> NodeTopology {
    NodeTopology::new(Some(LabelSelector::compile(labels, [])))
}

pub(crate) fn capacity(name: &str, class: &str, topology: NodeTopology, bytes: Option<u64>) -> Capacity {
    Capacity {
        key: key(name),
        version: String::new(),
        class: class.to_owned(),
        topology,
        capacity: bytes.and_then(quantity),
        maximum: None,
        dropped_terms: false,
    }
}

/// An unbound claim.
pub(crate) fn claim(name: &str, class: &str, bytes: u64) -> Arc<Claim> {
    Arc::new(Claim {
        key: key(name),
        uid: name.to_owned(),
        version: String::new(),
        class: class.to_owned(),
        request: quantity(bytes),
        volume: None,
        bind_completed: false,
        selected_node: None,
        has_annotations: false,
        has_provisioner_annotation: false,
        source: None,
        lost: false,
        deleting: false,
        controller: None,
        access_modes: vec!["ReadWriteOnce".to_owned()],
        volume_mode: "Filesystem".to_owned(),
        attributes_class: String::new(),
        selector: Ok(LabelSelector::default()),
    })
}

/// An available PersistentVolume without node affinity.
pub(crate) fn volume(name: &str, class: &str, bytes: u64) -> Volume {
    Volume {
        key: ObjectKey::cluster(name),
        class: class.to_owned(),
        capacity: quantity(bytes),
        available: true,
        access_modes: vec!["ReadWriteOnce".to_owned()],
        volume_mode: "Filesystem".to_owned(),
        ..Volume::default()
    }
}

pub(crate) fn pod<'a>(name: &str, claims: impl IntoIterator<Item = &'a str>) -> Pod {
    let volume = |claim: &str| PodVolume {
        claim: key(claim),
        ephemeral: false,
    };
    Pod {
        key: key(name),
        uid: name.to_owned(),
        volumes: claims.into_iter().map(volume).collect(),
        ..Pod::default()
    }
}
