//! What is wrong with claims and volumes once everything is quiet.

use capacity_types::Segment;

use super::ledger::{Ledger, Made};
use super::{Backend, is_for};
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::capacity::bytes;
use crate::world::{Answer, Binding, Claim, Instance, NamespacedName, StorageClass, Volume, World};

/// What is wrong if everything is quiet.
pub fn judge(world: &World, ledger: &Ledger, backend: &dyn Backend) -> Vec<Violation> {
    if !backend.is_up() {
        return Vec::new();
    }
    let mut violations = Vec::new();
    for (key, claim) in &world.claims {
        if let Some(open) = Open::of(world, claim) {
            // There is one under the same name elsewhere, which the driver has denied.
            violations.extend(open.missing(key, backend).filter(|_| !ledger.is_denied(claim)));
            violations.extend(open.kept_node(key, ledger));
        }
    }
    violations.extend(left(world, ledger));
    violations
}

/// A claim that waits for a volume of its class's driver, and can have one now.
struct Open<'w> {
    world: &'w World,
    claim: &'w Claim,
    class: &'w StorageClass,
}

impl<'w> Open<'w> {
    fn of(world: &'w World, claim: &'w Claim) -> Option<Self> {
        let class = world.classes.get(&claim.class)?;
        // A copy, or certain attributes, may not be to be had.
        let is_plain = !claim.is_copy && claim.attributes_class.is_empty();
        let is_open = is_plain && claim.volume.is_empty() && !claim.is_deleted && !claim.is_lost;
        let waits = class.binding == Binding::WaitForFirstConsumer && claim.selected_node.is_none();
        (is_open && !waits).then_some(Open { world, claim, class })
    }

    /// The node whose scheduler's choice decides where the volume is made.
    fn node(&self) -> Option<&'w str> {
        let node = self.claim.selected_node.as_deref();
        node.filter(|_| self.class.binding == Binding::WaitForFirstConsumer)
    }

    /// The segments in one of which the volume is made for sure if there is room: a program runs that makes it there, and is not one of
    /// several that take a claim only where the driver's figures allow it.
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
            // One on a node that has taken a claim is its only one, also when the node is gone.
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

    /// Whether the driver tells of room for the claim at a segment.
    fn is_told(&self, segment: &Segment) -> bool {
        let driver = self.world.drivers.get(&self.class.provisioner);
        let answer = driver.map(|driver| driver.answer(segment, &self.class.driver_parameters()));
        let wanted = self.claim.request.map_or(0, bytes);
        answer.is_some_and(|answer| match answer {
            Answer::Figures(figures) => i128::from(figures.maximum.unwrap_or(figures.available)) >= wanted,
            Answer::Error { .. } => false,
        })
    }

    /// Whether the class allows a segment. Of a term that speaks of some of its keys only, CSI leaves open where a volume is made.
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
            "it has no volume, though there is room for {wanted} bytes at {}",
            capacity_types::segment::format(&segment)
        );
        Some(violation(rules::NOT_PROVISIONED, key, detail))
    }

    fn kept_node(&self, key: &NamespacedName, ledger: &Ledger) -> Option<Violation> {
        let node = self.node()?;
        let registration = self.world.registration(&self.class.provisioner, node)?;
        // Without topology no other node is any better.
        let is_kept = ledger.keeps_node(self.claim) && !registration.topology_keys.is_empty();
        let detail = || format!("it keeps {node}, where RESOURCE_EXHAUSTED was answered");
        is_kept.then(|| violation(rules::NODE_KEPT, key, detail()))
    }
}

fn violation(rule: &'static Rule, key: &NamespacedName, detail: String) -> Violation {
    Violation {
        rule,
        subject: Subject::Claim(key.clone()),
        detail,
    }
}

/// Volumes that nobody claims any more.
fn left(world: &World, ledger: &Ledger) -> Vec<Violation> {
    let made = ledger
        .iter()
        .filter_map(|(name, entry)| Some((name, entry.made.as_ref()?)));
    let left = made.filter(|(name, made)| is_left(world, name, made));
    left.map(|(name, made)| Violation {
        rule: rules::VOLUME_LEFT,
        subject: Subject::Volume(name.to_owned()),
        detail: format!("the driver still has {}, and nobody claims it", made.id),
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
    // What no object speaks of is known to the program alone that made it.
    let waiting = world.claims.values().find(|claim| is_for(name, claim));
    made.is_known && waiting.is_none_or(|claim| !claim.volume.is_empty())
}

/// Whether the program that made a volume has to delete it: where there is one on each node, only what that node reaches.
fn is_deletable(world: &World, volume: &Volume, by: &Instance) -> bool {
    let is_reachable = |node: &String| {
        let known = world.nodes.get(node);
        known.is_some_and(|known| volume.is_reachable(node, &known.labels))
    };
    volume.is_reclaimed && by.node.as_ref().is_none_or(is_reachable)
}
