//! Checks PVCs and volumes at quiescence.

use capacity_types::Segment;

use super::ledger::{ExistingVolume, Ledger};
use super::{Backend, is_volume_of};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::capacity::bytes;
use crate::world::{
    CapacityResponse, Claim, Instance, NamespacedName, StorageClass, Volume, VolumeBindingMode, World,
};

/// The violations concerning PVCs and volumes if the cluster is quiescent now.
pub fn judge(world: &World, ledger: &Ledger, backend: &dyn Backend) -> Vec<Violation> {
    if !backend.is_up() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (key, claim) in &world.claims {
        if let Some(open) = ProvisionableClaim::of(world, claim) {
            // If the driver returned RESOURCE_EXHAUSTED for a volume that exists in another segment, the provisioner cannot provision
            // the PVC.
            violations.extend(
                open.missing_volume(key, backend)
                    .filter(|_| !ledger.is_reported_exhausted(claim)),
            );
            violations.extend(open.retained_node(key, ledger));
        }
    }
    violations.extend(leaked_volumes(world, ledger));
    violations
}

struct ProvisionableClaim<'w> {
    world: &'w World,
    claim: &'w Claim,
    class: &'w StorageClass,
}

impl<'w> ProvisionableClaim<'w> {
    fn of(world: &'w World, claim: &'w Claim) -> Option<Self> {
        let class = world.classes.get(&claim.class)?;
        // Drivers need not support clones and volume attributes, so such PVCs are not checked.
        let is_plain = !claim.is_clone && claim.attributes_class.is_empty();
        let is_open = is_plain && claim.volume.is_empty() && !claim.is_deleted && !claim.is_lost;
        let waits = class.binding == VolumeBindingMode::WaitForFirstConsumer && claim.selected_node.is_none();
        (is_open && !waits).then_some(ProvisionableClaim { world, claim, class })
    }

    /// The selected node, if it determines the topology of the volume.
    fn determining_node(&self) -> Option<&'w str> {
        let node = self.claim.selected_node.as_deref();
        node.filter(|_| self.class.binding == VolumeBindingMode::WaitForFirstConsumer)
    }

    /// Segments in which a volume must be created if there is capacity, because a provisioner for the segment runs. With Immediate binding,
    /// a distributed provisioner accepts the PVC only if GetCapacity returns enough capacity.
    fn segments(&self) -> impl Iterator<Item = Segment> {
        let driver = &self.class.provisioner;
        let nodes = match self.determining_node() {
            Some(node) => vec![node],
            None => self.world.csi_nodes.keys().map(String::as_str).collect(),
        };
        let segment_of = move |name: &str| {
            let segment = self.world.segment(driver, name)?;
            let has_provisioner = |node: Option<&str>| {
                let (driver, node) = (driver.clone(), node.map(str::to_owned));
                let instance = Instance { driver, node };
                let publisher = self.world.publishers.get(&instance);
                publisher.is_some_and(|publisher| publisher.is_for(self.world, &instance, &segment))
            };
            // If a distributed provisioner has selected its own node for a PVC, the PVC belongs to that provisioner, even if the node was
            // deleted.
            let is_owned_by_other_node = self
                .claim
                .selected_node
                .as_deref()
                .is_some_and(|selected| selected != name);
            let accepts = || {
                !is_owned_by_other_node
                    && (self.determining_node().is_some() || self.reports_enough(&segment))
            };
            let is_provisioned = self.is_allowed(&segment)
                && (has_provisioner(None) || has_provisioner(Some(name)) && accepts());
            is_provisioned.then_some(segment)
        };
        nodes.into_iter().filter_map(segment_of)
    }

    /// Whether GetCapacity returns enough capacity for the PVC in a segment.
    fn reports_enough(&self, segment: &Segment) -> bool {
        let driver = self.world.drivers.get(&self.class.provisioner);
        let response = driver.map(|driver| driver.response(segment, &self.class.driver_parameters()));
        let requested = self.claim.request.map_or(0, bytes);
        response.is_some_and(|response| match response {
            CapacityResponse::Reported(values) => {
                i128::from(values.maximum.unwrap_or(values.available)) >= requested
            }
            CapacityResponse::Error { .. } => false,
        })
    }

    /// Whether `allowedTopologies` of the class certainly allow a segment. The CSI spec does not define the segment for a term that has
    /// only some of the topology keys.
    fn is_allowed(&self, segment: &Segment) -> bool {
        let names_all = |term: &Vec<(String, Vec<String>)>| {
            let mut keys = segment.keys();
            keys.all(|key| term.iter().any(|(named, _)| named == key))
        };
        let terms = &self.class.allowed_topologies;
        terms.is_empty() || self.class.allows(segment) && terms.iter().all(names_all)
    }

    fn missing_volume(&self, key: &NamespacedName, backend: &dyn Backend) -> Option<Violation> {
        let requested = bytes(self.claim.request?);
        let parameters = self.class.driver_parameters();
        let mut segments = self.segments();
        let segment = segments
            .find(|segment| backend.can_create(segment, &parameters, self.claim.is_block, requested))?;
        let detail = format!(
            "the PVC has no volume, although {requested} bytes are available in segment {}",
            capacity_types::segment::format(&segment)
        );
        Some(violation(rules::NOT_PROVISIONED, key, detail))
    }

    fn retained_node(&self, key: &NamespacedName, ledger: &Ledger) -> Option<Violation> {
        let node = self.determining_node()?;
        let registration = self.world.registration(&self.class.provisioner, node)?;
        // Without topology, a new selected node would not change where the volume is created, so the annotation may remain.
        let is_retained = ledger.retains_node(self.claim) && !registration.topology_keys.is_empty();
        let detail =
            || format!("node {node} is still selected, although CreateVolume returned RESOURCE_EXHAUSTED");
        is_retained.then(|| violation(rules::SELECTED_NODE_RETAINED, key, detail()))
    }
}

fn violation(rule: &'static Rule, key: &NamespacedName, detail: String) -> Violation {
    Violation {
        rule,
        subject: Subject::Claim(key.clone()),
        detail,
    }
}

/// Violations for volumes that no PVC uses and that should have been deleted.
fn leaked_volumes(world: &World, ledger: &Ledger) -> Vec<Violation> {
    let volumes = ledger
        .iter()
        .filter_map(|(name, entry)| Some((name, entry.volume.as_ref()?)));
    let leaked = volumes.filter(|(name, existing)| is_leaked(world, name, existing));
    leaked
        .map(|(name, existing)| Violation {
            rule: rules::VOLUME_NOT_DELETED,
            subject: Subject::Volume(name.to_owned()),
            detail: format!("the driver still has volume {}, which no PVC uses", existing.id),
        })
        .collect()
}

fn is_leaked(world: &World, name: &str, existing: &ExistingVolume) -> bool {
    if !world.publishers.contains_key(&existing.by) || existing.is_reported_exhausted {
        return false;
    }
    let is_claimed = |uid: &str| world.claims.values().any(|claim| claim.uid == uid);
    if let Some(volume) = world.volumes.values().find(|volume| volume.handle == existing.id) {
        let owner = volume.claim.as_ref().map(|claim| claim.uid.as_str());
        return !owner.is_some_and(is_claimed) && is_deletable(world, volume, &existing.by);
    }
    // Without a PersistentVolume, only the program that created the volume can know that it exists.
    let waiting = world.claims.values().find(|claim| is_volume_of(name, claim));
    existing.is_known && waiting.is_none_or(|claim| !claim.volume.is_empty())
}

/// Whether the program that created a volume must delete it. A distributed provisioner must do so only if the volume is accessible from its
/// node.
fn is_deletable(world: &World, volume: &Volume, by: &Instance) -> bool {
    let is_reachable = |node: &String| {
        let known = world.nodes.get(node);
        known.is_some_and(|known| volume.is_reachable(node, &known.labels))
    };
    volume.is_reclaimed && by.node.as_ref().is_none_or(is_reachable)
}
