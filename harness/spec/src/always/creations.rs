//! CreateVolume calls: PVC, size and topology.

use capacity_types::Segment;

use super::monitor::Monitor;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::volumes::{Creation, Ending, is_for};
use crate::world::capacity::bytes;
use crate::world::change::Aspect;
use crate::world::{Binding, Claim, Deployment, StorageClass, World};

/// The kinds of objects that a provisioner's request depends on.
const ASPECTS: [Aspect; 5] = [
    Aspect::Claims,
    Aspect::Classes,
    Aspect::Nodes,
    Aspect::CsiNodes,
    Aspect::Settings,
];

/// A predicate on a PVC and its class.
type IsSo<'s> = dyn Fn(&World, &Claim, &StorageClass) -> bool + 's;

impl Monitor {
    pub(super) fn created(&mut self, creation: Creation) -> Vec<Violation> {
        let wrong = self.strange_creation(&creation);
        let violation = wrong.map(|(rule, detail)| Violation {
            rule,
            subject: Subject::Volume(creation.name.clone()),
            detail,
        });
        let by = creation.by.clone();
        self.failed(&creation);
        self.refresh_after(&creation);
        self.ledger.created(creation);
        if !self.world.publishers.contains_key(&by) {
            // The call was in flight when its program exited, so the response was not received.
            self.ledger.restarted(&by);
        }
        violation.into_iter().collect()
    }

    fn strange_creation(&self, creation: &Creation) -> Option<(&'static Rule, String)> {
        if let Some(open) = self.ledger.undecided(&creation.name) {
            // The retry must be unchanged, whatever has changed meanwhile.
            let is_elsewhere = open.by == creation.by && open.place != creation.place;
            let detail = || {
                let (before, now) = (&open.place, &creation.place);
                format!("the earlier call requested topology {before:?}, and this one {now:?}")
            };
            return is_elsewhere.then(|| (rules::RETRIED_WITH_OTHER_TOPOLOGY, detail()));
        }
        let any = |is_so: &IsSo<'_>| {
            self.lately.any(&self.world, &ASPECTS, |world| {
                let claims = world.claims.values();
                let mut own = claims.filter(|claim| is_for(&creation.name, claim));
                own.any(|claim| {
                    let class = world.classes.get(&claim.class);
                    class.is_some_and(|class| is_so(world, claim, class))
                })
            })
        };
        if !any(&|_, _, _| true) {
            return None;
        }
        if let (Ending::Made { id, .. }, true) = (&creation.ending, creation.is_overfull) {
            return Some((
                rules::OVERFULL,
                format!("it was created as {id}, without enough free storage"),
            ));
        }
        if let Ending::Broken { is_scripted: false } = creation.ending {
            return Some((rules::WRONG_ERROR_CODE, "the driver returned INTERNAL".to_owned()));
        }
        if !any(&|_, claim, class| is_ready(creation, claim, class)) {
            let detail = format!(
                "{:?} called CreateVolume, and no node was selected for it",
                creation.by
            );
            return Some((rules::PROVISIONED_BEFORE_NODE_SELECTED, detail));
        }
        let asked = creation.bytes.map(i128::from);
        if !any(&|_, claim, _| claim.request.map(bytes) == asked) {
            return Some((
                rules::WRONG_SIZE,
                format!("CreateVolume requests {asked:?} bytes"),
            ));
        }
        if !any(&|_, claim, _| claim.is_copy == creation.is_copy) {
            let detail = format!("CreateVolume requests a content source: {}", creation.is_copy);
            return Some((rules::WRONG_SOURCE, detail));
        }
        // A PVC without a node in an older state does not constrain the topology.
        let any_ready = |is_so: &IsSo<'_>| {
            any(&|world, claim, class| is_ready(creation, claim, class) && is_so(world, claim, class))
        };
        self.misplaced(creation, any_ready)
            .map(|detail| (rules::MISPLACED, detail))
    }

    /// What is wrong with the requested or actual topology of a volume. `any`: whether a predicate holds for a PVC of the volume.
    fn misplaced(&self, creation: &Creation, any: impl Fn(&IsSo<'_>) -> bool) -> Option<String> {
        let is_for_any_node = |world: &World, claim: &Claim, class: &StorageClass| {
            !is_for_its_node(creation, world, claim, class)
        };
        if creation.is_elsewhere_too && !any(&is_for_any_node) {
            return Some("the requested topology contains more than the selected node".to_owned());
        }
        let Ending::Made { segment, .. } = &creation.ending else {
            return None;
        };
        let is_right = |world: &World, claim: &Claim, class: &StorageClass| {
            may_be_in(class, segment) && is_near_enough(creation, world, claim, class, segment)
        };
        let is_new = !self.ledger.has(&creation.name);
        (is_new && !any(&is_right)).then(|| format!("it was created in topology segment {segment:?}"))
    }
}

/// Whether the caller may create a volume for a PVC.
fn is_ready(creation: &Creation, claim: &Claim, class: &StorageClass) -> bool {
    match (&claim.selected_node, &creation.by.node) {
        (None, None) => class.binding == Binding::Immediate,
        (None, Some(_)) => false,
        (Some(_), None) => true,
        (Some(selected), Some(own)) => selected == own,
    }
}

/// Whether a term of `allowedTopologies` does not exclude the segment. Keys that are unknown to the driver are ignored.
fn may_be_in(class: &StorageClass, segment: &Segment) -> bool {
    let admits =
        |(key, values): &(String, Vec<String>)| segment.get(key).is_none_or(|it| values.contains(it));
    let mut terms = class.allowed_topologies.iter();
    class.allowed_topologies.is_empty() || terms.any(|term| term.iter().all(admits))
}

/// Whether a volume is in its node's segment, if the provisioner has strict topology.
fn is_near_enough(
    creation: &Creation,
    world: &World,
    claim: &Claim,
    class: &StorageClass,
    segment: &Segment,
) -> bool {
    if !is_for_its_node(creation, world, claim, class) {
        return true;
    }
    // A distributed provisioner knows its own segment, a central one those of the API server.
    let publisher = world.publishers.get(&creation.by);
    if let Some(publisher) = publisher.filter(|it| it.deployment != Deployment::Central) {
        return publisher.is_for(world, &creation.by, segment);
    }
    let node = claim.selected_node.as_ref();
    let own = node.and_then(|name| world.segment(&creation.by.driver, name));
    own.is_none_or(|own| own == *segment)
}

/// Whether a volume must be in its node's segment.
fn is_for_its_node(creation: &Creation, world: &World, claim: &Claim, class: &StorageClass) -> bool {
    let publisher = world.publishers.get(&creation.by);
    // A publisher's settings are constant while it runs.
    let is_strict = publisher.is_none_or(|publisher| publisher.strict_topology);
    is_strict && class.binding != Binding::Immediate && claim.selected_node.is_some()
}
