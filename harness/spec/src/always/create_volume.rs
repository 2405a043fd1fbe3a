//! Rules for CreateVolume calls: PVC, size and topology.

use capacity_types::Segment;

use super::monitor::Monitor;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation, segment_text};
use crate::volumes::{CreateVolumeCall, CreateVolumeResult, is_volume_of};
use crate::world::capacity::bytes;
use crate::world::change::ChangeKind;
use crate::world::{Claim, Deployment, StorageClass, VolumeBindingMode, World};

/// The kinds of objects on which a provisioner's CreateVolume request depends.
const KINDS: [ChangeKind; 5] = [
    ChangeKind::Claims,
    ChangeKind::Classes,
    ChangeKind::Nodes,
    ChangeKind::CsiNodes,
    ChangeKind::Settings,
];

type Predicate<'s> = dyn Fn(&World, &Claim, &StorageClass) -> bool + 's;

impl Monitor {
    pub(super) fn create_volume(&mut self, call: CreateVolumeCall) -> Vec<Violation> {
        let violated = self.check_create_volume(&call);
        let violation = violated.map(|(rule, detail)| Violation {
            rule,
            subject: Subject::Volume(call.name.clone()),
            detail,
        });
        let by = call.by.clone();
        self.record_failure(&call);
        self.require_refresh_after_create(&call);
        self.ledger.create_volume(call);
        if !self.world.publishers.contains_key(&by) {
            // The provisioner exited while the CreateVolume call was in flight, so it has not received the response.
            self.ledger.record_restart(&by);
        }
        violation.into_iter().collect()
    }

    fn check_create_volume(&self, call: &CreateVolumeCall) -> Option<(&'static Rule, String)> {
        if let Some(open) = self.ledger.call_with_unknown_result(&call.name) {
            // A retried CreateVolume call must request the same topology as the first call, even if the cluster has changed in between.
            let is_elsewhere = open.by == call.by && open.preferred_segment != call.preferred_segment;
            let detail = || {
                let (earlier, retry) = (&open.preferred_segment, &call.preferred_segment);
                let (earlier, retry) = (segment_text(earlier), segment_text(retry));
                format!("the first call requested topology {earlier}, and the retry {retry}")
            };
            return is_elsewhere.then(|| (rules::RETRIED_WITH_OTHER_TOPOLOGY, detail()));
        }
        let any = |is_so: &Predicate<'_>| {
            self.recent.any_state(&self.world, &KINDS, |world| {
                let claims = world.claims.values();
                let mut own = claims.filter(|claim| is_volume_of(&call.name, claim));
                own.any(|claim| {
                    let class = world.classes.get(&claim.class);
                    class.is_some_and(|class| is_so(world, claim, class))
                })
            })
        };
        if !any(&|_, _, _| true) {
            return None;
        }
        if let (CreateVolumeResult::Created { id, .. }, true) = (&call.result, call.exceeds_capacity) {
            return Some((
                rules::OVERFULL,
                format!("the driver created volume {id} without enough free storage"),
            ));
        }
        if let CreateVolumeResult::Internal { is_injected: false } = call.result {
            return Some((rules::WRONG_ERROR_CODE, "the driver returned INTERNAL".to_owned()));
        }
        if !any(&|_, claim, class| may_provision(call, claim, class)) {
            let detail = format!(
                "{} called CreateVolume, although it may not provision the PVC of the volume yet",
                call.by
            );
            return Some((rules::PROVISIONED_BEFORE_NODE_SELECTED, detail));
        }
        let requested = call.bytes.map(i128::from);
        if !any(&|_, claim, _| claim.request.map(bytes) == requested) {
            return Some((
                rules::WRONG_SIZE,
                match requested {
                    Some(bytes) => format!("CreateVolume requests {bytes} bytes"),
                    None => "CreateVolume requests no size".to_owned(),
                },
            ));
        }
        if !any(&|_, claim, _| claim.is_clone == call.is_clone) {
            let detail = format!("CreateVolume with a source volume: {}", call.is_clone);
            return Some((rules::WRONG_SOURCE, detail));
        }
        // Only states in which the caller may provision count: a PVC without a selected node would allow any topology.
        let any_ready = |is_so: &Predicate<'_>| {
            any(&|world, claim, class| may_provision(call, claim, class) && is_so(world, claim, class))
        };
        self.wrong_topology(call, any_ready)
            .map(|detail| (rules::MISPLACED, detail))
    }

    /// Why the requested or actual topology of a volume is wrong. `any`: whether a predicate holds for the volume's PVC in a recent cluster
    /// state.
    fn wrong_topology(
        &self,
        call: &CreateVolumeCall,
        any: impl Fn(&Predicate<'_>) -> bool,
    ) -> Option<String> {
        let is_for_any_node = |world: &World, claim: &Claim, class: &StorageClass| {
            !is_node_determined(call, world, claim, class)
        };
        if call.allows_other_segments && !any(&is_for_any_node) {
            return Some("the request allows segments other than the selected node's".to_owned());
        }
        let CreateVolumeResult::Created { segment, .. } = &call.result else {
            return None;
        };
        let is_right = |world: &World, claim: &Claim, class: &StorageClass| {
            allows_segment(class, segment) && is_in_segment_of_node(call, world, claim, class, segment)
        };
        let is_new = !self.ledger.has_volume(&call.name);
        (is_new && !any(&is_right))
            .then(|| format!("the volume was created in segment {}", segment_text(segment)))
    }
}

/// Whether the caller may create a volume for a PVC, according to the selected node and the binding mode.
fn may_provision(call: &CreateVolumeCall, claim: &Claim, class: &StorageClass) -> bool {
    match (&claim.selected_node, &call.by.node) {
        (None, None) => class.binding == VolumeBindingMode::Immediate,
        (None, Some(_)) => false,
        (Some(_), None) => true,
        (Some(selected), Some(own)) => selected == own,
    }
}

/// Whether the segment matches a term of `allowedTopologies`. Ignores topology keys that the segment does not have.
fn allows_segment(class: &StorageClass, segment: &Segment) -> bool {
    let admits =
        |(key, values): &(String, Vec<String>)| segment.get(key).is_none_or(|it| values.contains(it));
    let mut terms = class.allowed_topologies.iter();
    class.allowed_topologies.is_empty() || terms.any(|term| term.iter().all(admits))
}

/// Whether a volume is in the segment of the PVC's selected node. True if the volume need not be in that segment.
fn is_in_segment_of_node(
    call: &CreateVolumeCall,
    world: &World,
    claim: &Claim,
    class: &StorageClass,
    segment: &Segment,
) -> bool {
    if !is_node_determined(call, world, claim, class) {
        return true;
    }
    // A distributed provisioner knows its own segment; a central provisioner reads the segment from the API server.
    let publisher = world.publishers.get(&call.by);
    if let Some(publisher) = publisher.filter(|it| it.deployment != Deployment::Central) {
        return publisher.is_for(world, &call.by, segment);
    }
    let node = claim.selected_node.as_ref();
    let own = node.and_then(|name| world.segment(&call.by.driver, name));
    own.is_none_or(|own| own == *segment)
}

/// Whether the selected node determines the segment of the volume.
fn is_node_determined(call: &CreateVolumeCall, world: &World, claim: &Claim, class: &StorageClass) -> bool {
    let publisher = world.publishers.get(&call.by);
    // A cluster state without the publisher counts as strict topology; other recent states contain the publisher's actual setting.
    let is_strict = publisher.is_none_or(|publisher| publisher.strict_topology);
    is_strict && class.binding != VolumeBindingMode::Immediate && claim.selected_node.is_some()
}
