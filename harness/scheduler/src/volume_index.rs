//! PersistentVolumes by name, and PersistentVolumes without a `claimRef` by StorageClass.
//!
//! Nearly all volumes of a cluster are bound, and can only be used by their own PVC. The index finds the free volumes with one lookup. Does
//! not decide which volume is chosen for a PVC.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::objects::{Claim, ObjectKey, Volume};
use crate::store::{Collection, Store};

/// All PersistentVolumes of a cluster, including assumed changes.
#[derive(Clone, Debug, Default)]
pub struct VolumeIndex {
    volumes: Store<Volume>,
    /// StorageClass → names of volumes without a `claimRef`.
    free: HashMap<String, BTreeSet<ObjectKey>>,
    /// PVC → names of volumes whose `claimRef` is the PVC.
    claimed: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
}

impl VolumeIndex {
    /// The volume with this name, including assumed changes: see [`Store::get`].
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Volume>> {
        self.volumes.get(key)
    }

    /// The volume with this name as the watch last delivered it.
    pub fn stored(&self, key: &ObjectKey) -> Option<&Arc<Volume>> {
        self.volumes.stored(key)
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty()
    }

    /// The volumes of the PVC's class whose `claimRef` is the PVC, then those without `claimRef`; both sorted by name. Assumed changes are
    /// included, and may have reserved a volume for another PVC.
    pub fn candidates_for<'a>(&'a self, claim: &'a Claim) -> impl Iterator<Item = &'a Arc<Volume>> {
        let own = self.claimed.get(&claim.key);
        let free = self.free.get(&claim.class);
        let names = own.into_iter().chain(free).flatten();
        names
            .filter_map(|key| self.volumes.get(key))
            .filter(|volume| volume.class == claim.class)
    }

    /// Assumes a change of a volume: see [`Store::assume`].
    pub fn assume(&mut self, assumed: Arc<Volume>) {
        self.volumes.assume(assumed);
    }

    /// Drops the assumed version of a volume, if any.
    pub fn forget(&mut self, key: &ObjectKey) {
        self.volumes.forget(key);
    }

    fn link(&mut self, volume: &Volume) {
        let names = match &volume.claim {
            Some(claim) => self.claimed.entry(claim.key.clone()).or_default(),
            None => self.free.entry(volume.class.clone()).or_default(),
        };
        names.insert(volume.key.clone());
    }

    fn unlink(&mut self, volume: &Volume) {
        match &volume.claim {
            Some(claim) => remove_name(&mut self.claimed, &claim.key, &volume.key),
            None => remove_name(&mut self.free, &volume.class, &volume.key),
        }
    }
}

impl Collection<Volume> for VolumeIndex {
    fn put(&mut self, volume: Arc<Volume>) -> Option<Arc<Volume>> {
        let old = self.volumes.put(Arc::clone(&volume));
        if let Some(old) = &old {
            self.unlink(old);
        }
        self.link(&volume);
        old
    }

    fn take(&mut self, key: &ObjectKey) -> Option<Arc<Volume>> {
        let old = self.volumes.take(key)?;
        self.unlink(&old);
        Some(old)
    }

    fn keys(&self) -> Vec<ObjectKey> {
        self.volumes.keys()
    }
}

fn remove_name<K: std::hash::Hash + Eq>(
    by: &mut HashMap<K, BTreeSet<ObjectKey>>,
    under: &K,
    name: &ObjectKey,
) {
    if let Some(names) = by.get_mut(under) {
        names.remove(name);
        if names.is_empty() {
            by.remove(under);
        }
    }
}
