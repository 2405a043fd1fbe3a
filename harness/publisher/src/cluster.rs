//! The objects that provisioning needs, updated from the watches.

use std::{collections::HashMap, sync::Arc};

use k8s_openapi::{
    api::{
        core::v1::{PersistentVolume, PersistentVolumeClaim},
        storage::v1::{CSINode, StorageClass},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Resource, ResourceExt};

use crate::{
    topology::{Registration, Topology},
    watch::Change,
};

/// The cluster state that provisioning uses.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// StorageClasses by name.
    pub(crate) classes: HashMap<String, Arc<StorageClass>>,
    /// PVCs by UID.
    pub(crate) claims: HashMap<String, Arc<PersistentVolumeClaim>>,
    /// PersistentVolumes by name.
    pub(crate) volumes: HashMap<String, Arc<PersistentVolume>>,
    pub(crate) topology: Topology,
}

/// Applies a change to a map of [`Cluster`]. Returns the replaced object; `None` if no object was stored or the stored one is newer.
pub(crate) fn apply_change<K: Resource>(
    map: &mut HashMap<String, Arc<K>>,
    change: &Change<K>,
    key: impl Fn(&K) -> String,
) -> Option<Arc<K>> {
    match change {
        Change::Applied(object) => {
            let key = key(object);
            let newer = map
                .get(&key)
                .is_some_and(|known| is_older(object.meta(), known.meta()));
            if newer {
                None
            } else {
                map.insert(key, Arc::clone(object))
            }
        }
        Change::Deleted(object) => map.remove(&key(object)),
        Change::Listed => None,
    }
}

/// The map key of PVCs: `metadata.uid`, since a recreated PVC with an equal name is another PVC.
pub(crate) fn uid<K: Resource>(object: &K) -> String {
    object.uid().unwrap_or_default()
}

pub(crate) fn registration(csi_node: &CSINode, driver: &str) -> Registration {
    let entry = csi_node.spec.drivers.iter().find(|entry| entry.name == driver);
    entry.map_or(Registration::NotListed, |entry| {
        Registration::Keys(entry.topology_keys.clone().unwrap_or_default())
    })
}

/// Whether `new` is an older version than `old`. Resource versions are compared as numbers, which Kubernetes 1.35 guarantees; if one of
/// them is not a number, `new` counts as newer.
pub(crate) fn is_older(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    let version = |metadata: &ObjectMeta| metadata.resource_version.as_ref()?.parse::<u64>().ok();
    new.uid == old.uid && matches!((version(new), version(old)), (Some(new), Some(old)) if new < old)
}
