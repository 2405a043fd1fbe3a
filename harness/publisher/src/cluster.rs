//! The objects that provisioning needs, as the watches deliver them. Plain data, always as new as the last event; decides nothing.

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

/// The cluster as far as provisioning sees it.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// Classes by name.
    pub(crate) classes: HashMap<String, Arc<StorageClass>>,
    /// Claims by uid.
    pub(crate) claims: HashMap<String, Arc<PersistentVolumeClaim>>,
    /// Volumes by name.
    pub(crate) volumes: HashMap<String, Arc<PersistentVolume>>,
    /// Nodes and their segments.
    pub(crate) topology: Topology,
}

/// Applies a change to one of the maps of [`Cluster`]. Returns the version that it replaced; `None` also if the change is older than the map.
pub(crate) fn take<K: Resource>(
    map: &mut HashMap<String, Arc<K>>,
    change: &Change<K>,
    key: impl Fn(&K) -> String,
) -> Option<Arc<K>> {
    match change {
        Change::Set(object) => {
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
        Change::Gone(object) => map.remove(&key(object)),
        Change::Listed => None,
    }
}

/// The key of claims, under which a later claim of the same name is another one.
pub(crate) fn uid<K: Resource>(object: &K) -> String {
    object.uid().unwrap_or_default()
}

/// What a CSINode says about a driver.
pub(crate) fn registration(csi_node: &CSINode, driver: &str) -> Registration {
    let entry = csi_node.spec.drivers.iter().find(|entry| entry.name == driver);
    entry.map_or(Registration::NotListed, |entry| {
        Registration::Keys(entry.topology_keys.clone().unwrap_or_default())
    })
}

/// Whether `new` is a version from before `old`. Resource versions are numbers that grow (Kubernetes 1.35 promises it); where they are
/// not, the last event counts.
pub(crate) fn is_older(new: &ObjectMeta, old: &ObjectMeta) -> bool {
    let version = |metadata: &ObjectMeta| metadata.resource_version.as_ref()?.parse::<u64>().ok();
    new.uid == old.uid && matches!((version(new), version(old)), (Some(new), Some(old)) if new < old)
}
