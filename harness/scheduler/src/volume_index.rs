//! PersistentVolumes by name, and those that no claim has by their class.
//!
//! Nearly all volumes of a cluster belong to a claim, and only their own claim can get those. The index finds the others by one look-up.
//! Which of them suits a claim is not decided here.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::objects::{Claim, ObjectKey, Volume};
use crate::store::{Collection, Store};

/// All volumes of a cluster, with decisions in flight.
#[derive(Clone, Debug, Default)]
pub struct VolumeIndex {
    volumes: Store<Volume>,
    /// Names by class, of volumes that name no claim.
    free: HashMap<String, BTreeSet<ObjectKey>>,
    /// Names by the claim that the volume names.
    claimed: HashMap<ObjectKey, BTreeSet<ObjectKey>>,
}

impl VolumeIndex {
    /// The volume as decided: see [`Store::get`].
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Volume>> {
        self.volumes.get(key)
    }

    /// The volume as the API server last delivered it.
    pub fn stored(&self, key: &ObjectKey) -> Option<&Arc<Volume>> {
        self.volumes.stored(key)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.volumes.is_empty()
    }

    /// All volumes of the claim's class that name this claim or none, as decided: first the ones, then the others, each in the order of
    /// their names. What was decided since may have given one of them to another claim.
    pub fn open_to<'a>(&'a self, claim: &'a Claim) -> impl Iterator<Item = &'a Arc<Volume>> {
        let own = self.claimed.get(&claim.key);
        let free = self.free.get(&claim.class);
        let names = own.into_iter().chain(free).flatten();
        names
            .filter_map(|key| self.volumes.get(key))
            .filter(|volume| volume.class == claim.class)
    }

    /// Lays a decision over a stored volume: see [`Store::assume`].
    pub fn assume(&mut self, decided: Arc<Volume>) {
        self.volumes.assume(decided);
    }

    /// Drops the decision laid over a volume, if there is one.
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
            Some(claim) => drop_name(&mut self.claimed, &claim.key, &volume.key),
            None => drop_name(&mut self.free, &volume.class, &volume.key),
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

fn drop_name<K: std::hash::Hash + Eq>(by: &mut HashMap<K, BTreeSet<ObjectKey>>, under: &K, name: &ObjectKey) {
    if let Some(names) = by.get_mut(under) {
        names.remove(name);
        if names.is_empty() {
            by.remove(under);
        }
    }
}
