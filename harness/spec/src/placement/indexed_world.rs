//! The state of a cluster, indexed for decisions about many pods.

use std::collections::{BTreeMap, BTreeSet};

use capacity_types::NodeTopology;

use super::by_label::{ByLabel, Label};
use crate::world::{CapacityObject, Claim, NamespacedName, Node, PodVolume, Volume, World};

/// PVCs whose volumes are used on one node, by driver name.
type ClaimsByDriver<'w> = BTreeMap<&'w str, BTreeSet<&'w str>>;

/// The state of a cluster, indexed for decisions about pods.
pub struct IndexedWorld<'w> {
    pub(super) world: &'w World,
    /// CSIStorageCapacity objects by StorageClass.
    objects: BTreeMap<&'w str, ByLabel<'w, &'w CapacityObject>>,
    /// Volumes by StorageClass, in ascending size.
    volumes: BTreeMap<&'w str, ByLabel<'w, (&'w str, &'w Volume)>>,
    /// Volumes by the PVC in their `claimRef`, sorted by name.
    reserved: BTreeMap<&'w NamespacedName, Vec<(&'w str, &'w Volume)>>,
    /// PVCs in use by pods, by node and driver. Empty if no node has a volume limit.
    used: BTreeMap<&'w str, ClaimsByDriver<'w>>,
}

impl<'w> IndexedWorld<'w> {
    /// Indexes a state of the cluster.
    pub fn new(world: &'w World) -> Self {
        let mut objects: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for object in world.objects.values() {
            let of_class = objects.entry(object.class.as_str()).or_default();
            of_class.push((object, labels_of(object)));
        }
        let mut volumes: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let mut by_size: Vec<_> = world.volumes.iter().collect();
        by_size.sort_by_key(|(_, volume)| volume.capacity);
        for (name, volume) in by_size {
            let label = volume.affinity.as_ref().and_then(|it| it.required_label());
            let of_class = volumes.entry(volume.class.as_str()).or_default();
            of_class.push(((name.as_str(), volume), label.into_iter().collect()));
        }
        let mut reserved: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (name, volume) in &world.volumes {
            if let Some(reference) = &volume.claim {
                reserved
                    .entry(&reference.claim)
                    .or_default()
                    .push((name.as_str(), volume));
            }
        }
        Self {
            world,
            reserved,
            objects: by_label(objects),
            volumes: by_label(volumes),
            used: used(world),
        }
    }

    /// The CSIStorageCapacity objects of a StorageClass that are accessible from a node.
    pub(super) fn objects<'s>(
        &'s self,
        class: &str,
        node: &'s Node,
    ) -> impl Iterator<Item = &'w CapacityObject> + use<'s, 'w> {
        let of_class = self.objects.get(class).into_iter();
        let candidates = of_class
            .flat_map(|objects| objects.candidates(&node.labels))
            .copied();
        candidates.filter(|object| object.topology.admits(&node.labels))
    }

    /// The volumes of a StorageClass that are possibly accessible from a node.
    pub(super) fn volumes<'s>(
        &'s self,
        class: &str,
        node: &'s Node,
    ) -> impl Iterator<Item = (&'w str, &'w Volume)> + use<'s, 'w> {
        let of_class = self.volumes.get(class).into_iter();
        of_class
            .flat_map(|volumes| volumes.candidates(&node.labels))
            .copied()
    }

    /// The volumes whose `claimRef` names this PVC.
    pub(super) fn reserved_for(&self, claim: &NamespacedName) -> impl Iterator<Item = (&'w str, &'w Volume)> {
        self.reserved
            .get(claim)
            .map(Vec::as_slice)
            .unwrap_or_default()
            .iter()
            .copied()
    }

    /// The PVCs whose volumes of one driver are used on a node.
    pub(super) fn used(&self, node: &str, driver: &str) -> Option<&BTreeSet<&'w str>> {
        self.used.get(node)?.get(driver)
    }

    /// The driver of the volume that a PVC has or will get.
    pub(super) fn driver_of(&self, claim: &Claim) -> Option<&'w str> {
        driver_of(self.world, claim)
    }
}

fn by_label<'w, T>(items: BTreeMap<&'w str, Vec<(T, Vec<Label<'w>>)>>) -> BTreeMap<&'w str, ByLabel<'w, T>> {
    let classes = items.into_iter();
    classes
        .map(|(class, items)| (class, ByLabel::new(items)))
        .collect()
}

/// The node labels that the object's topology requires.
fn labels_of(object: &CapacityObject) -> Vec<Label<'_>> {
    let NodeTopology::Matching(selector) = &object.topology else {
        return Vec::new();
    };
    let requirements = selector.requirements().iter();
    let labels = requirements.filter_map(|requirement| match requirement.in_values()? {
        [value] => Some((requirement.key(), value.as_str())),
        _ => None,
    });
    labels.collect()
}

fn driver_of<'w>(world: &'w World, claim: &Claim) -> Option<&'w str> {
    if let Some(volume) = world.volumes.get(&claim.volume) {
        return Some(volume.driver.as_str()).filter(|driver| !driver.is_empty());
    }
    world
        .classes
        .get(&claim.class)
        .map(|class| class.provisioner.as_str())
}

/// The PVCs in use by pods, by node and driver. Empty if no node has a volume limit.
fn used(world: &World) -> BTreeMap<&str, ClaimsByDriver<'_>> {
    let mut used: BTreeMap<&str, ClaimsByDriver<'_>> = BTreeMap::new();
    let mut registrations = world.csi_nodes.values().flat_map(|node| node.drivers.values());
    if registrations.all(|registration| registration.volumes_max.is_none()) {
        return used;
    }
    for (key, pod) in &world.pods {
        let Some(node) = &pod.node else { continue };
        for volume in &pod.volumes {
            let (PodVolume::Claim(name) | PodVolume::Ephemeral(name)) = volume else {
                continue;
            };
            let claim = world.claims.get(&NamespacedName::new(&key.namespace, name));
            if let Some(driver) = claim.and_then(|claim| driver_of(world, claim)) {
                let of_node = used.entry(node).or_default();
                of_node.entry(driver).or_default().insert(name);
            }
        }
    }
    used
}
