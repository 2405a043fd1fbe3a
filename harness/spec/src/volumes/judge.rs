//! Violations by PVCs and volumes at quiescence.

use capacity_types::Segment;

use super::ledger::{Ledger, Made};
use super::{Backend, is_for};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::capacity::bytes;
use crate::world::{Answer, Binding, Claim, Instance, NamespacedName, StorageClass, Volume, World};

/// The violations if the cluster is quiescent.
pub fn judge(world: &World, ledger: &Ledger, backend: &dyn Backend) -> Vec<Violation> {
    if !backend.is_up() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (key, claim) in &world.claims {
        if let Some(open) = Open::of(world, claim) {
            // The volume exists in another segment, but the driver returned RESOURCE_EXHAUSTED for it.
            violations.extend(open.missing(key, backend).filter(|_| !ledger.is_denied(claim)));
            violations.extend(open.kept_node(key, ledger));
        }
    }
    violations.extend(left(world, ledger));
    violations
}

/// An unbound PVC of the driver's class that can be provisioned now.
struct Open<'w> {
    world: &'w World,
    claim: &'w Claim,
    class: &'w StorageClass,
}

impl<'w> Open<'w> {
    fn of(world: &'w World, claim: &'w Claim) -> Option<Self> {
        let class = world.classes.get(&claim.class)?;
        // Clones and volume attributes may be unsupported.
        let is_plain = !claim.is_copy && claim.attributes_class.is_empty();
        let is_open = is_plain && claim.volume.is_empty() && !claim.is_deleted && !claim.is_lost;
        let waits = class.binding == Binding::WaitForFirstConsumer && claim.selected_node.is_none();
        (is_open && !waits).then_some(Open { world, claim, class })
    }

    /// The selected node that determines the topology.
    fn node(&self) -> Option<&'w str> {
        let node = self.claim.selected_node.as_deref();
        node.filter(|_| self.class.binding == Binding::WaitForFirstConsumer)
    }

    /// Segments in which a volume must be provisioned if there is capacity: a program runs that does so, and it is not one of several that
    /// need the driver's capacity to take a PVC.
    fn places(&self) -> impl Iterator<Item = Segment> {
        let driver = &self.class.provisioner;
        let nodes = match self.node() {
            Some(node) => vec![node],
            None => self.world.csi_nodes.keys().map(String::as_str).collect(),
        };
        let place = move |name: &str| {
            let segment = self.world.segment(driver, name)?;
            let makes = |node: Option<&str>| {
                let (driver, node) = (driver.clone(), node.map(str::to_owned));
                let instance = Instance { driver, node };
                let publisher = self.world.publishers.get(&instance);
                publisher.is_some_and(|publisher| publisher.is_for(self.world, &instance, &segment))
            };
            // A PVC that an instance took for its node belongs to that instance, even if the node was deleted.
            let is_taken = self
                .claim
                .selected_node
                .as_deref()
                .is_some_and(|taken| taken != name);
            let takes = || !is_taken && (self.node().is_some() || self.is_told(&segment));
            let is_made = self.is_allowed(&segment) && (makes(None) || makes(Some(name)) && takes());
            is_made.then_some(segment)
        };
        nodes.into_iter().filter_map(place)
    }

    /// Whether GetCapacity returns enough capacity for the PVC in a segment.
    fn is_told(&self, segment: &Segment) -> bool {
        let driver = self.world.drivers.get(&self.class.provisioner);
        let answer = driver.map(|driver| driver.answer(segment, &self.class.driver_parameters()));
        let wanted = self.claim.request.map_or(0, bytes);
        answer.is_some_and(|answer| match answer {
            Answer::Figures(figures) => i128::from(figures.maximum.unwrap_or(figures.available)) >= wanted,
            Answer::Error { .. } => false,
        })
    }

    /// Whether the class certainly allows a segment. CSI does not define the segment for a term with only some of the keys.
    fn is_allowed(&self, segment: &Segment) -> bool {
        let names_all = |term: &Vec<(String, Vec<String>)>| {
            let mut keys = segment.keys();
            keys.all(|key| term.iter().any(|(named, _)| named == key))
        };
        let terms = &self.class.allowed_topologies;
        terms.is_empty() || self.class.allows(segment) && terms.iter().all(names_all)
    }

    fn missing(&self, key: &NamespacedName, backend: &dyn Backend) -> Option<Violation> {
        let wanted = bytes(self.claim.request?);
        let parameters = self.class.driver_parameters();
        let mut places = self.places();
        let segment =
            places.find(|segment| backend.has_room(segment, &parameters, self.claim.is_block, wanted))?;
        let detail = format!(
            "it has no volume, although {wanted} bytes are available at {}",
            capacity_types::segment::format(&segment)
        );
        Some(violation(rules::NOT_PROVISIONED, key, detail))
    }

    fn kept_node(&self, key: &NamespacedName, ledger: &Ledger) -> Option<Violation> {
        let node = self.node()?;
        let registration = self.world.registration(&self.class.provisioner, node)?;
        // Without topology no other node is better.
        let is_kept = ledger.keeps_node(self.claim) && !registration.topology_keys.is_empty();
        let detail =
            || format!("{node} is still selected, although CreateVolume returned RESOURCE_EXHAUSTED there");
        is_kept.then(|| violation(rules::SELECTED_NODE_RETAINED, key, detail()))
    }
}

fn violation(rule: &'static Rule, key: &NamespacedName, detail: String) -> Violation {
    Violation {
        rule,
        subject: Subject::Claim(key.clone()),
        detail,
    }
}

/// Volumes without a PVC.
fn left(world: &World, ledger: &Ledger) -> Vec<Violation> {
    let made = ledger
        .iter()
        .filter_map(|(name, entry)| Some((name, entry.made.as_ref()?)));
    let left = made.filter(|(name, made)| is_left(world, name, made));
    left.map(|(name, made)| Violation {
        rule: rules::VOLUME_NOT_DELETED,
        subject: Subject::Volume(name.to_owned()),
        detail: format!("the driver still has {}, which no PVC uses", made.id),
    })
    .collect()
}

fn is_left(world: &World, name: &str, made: &Made) -> bool {
    if !world.publishers.contains_key(&made.by) || made.is_denied {
        return false;
    }
    let is_claimed = |uid: &str| world.claims.values().any(|claim| claim.uid == uid);
    if let Some(volume) = world.volumes.values().find(|volume| volume.handle == made.id) {
        let owner = volume.claim.as_ref().map(|claim| claim.uid.as_str());
        return !owner.is_some_and(is_claimed) && is_deletable(world, volume, &made.by);
    }
    // A volume without a PersistentVolume is known only to the program that created it.
    let waiting = world.claims.values().find(|claim| is_for(name, claim));
    made.is_known && waiting.is_none_or(|claim| !claim.volume.is_empty())
}

/// Whether the program that created a volume must delete it: a distributed instance only if its node has access.
fn is_deletable(world: &World, volume: &Volume, by: &Instance) -> bool {
    let is_reachable = |node: &String| {
        let known = world.nodes.get(node);
        known.is_some_and(|known| volume.is_reachable(node, &known.labels))
    };
    volume.is_reclaimed && by.node.as_ref().is_none_or(is_reachable)
}
