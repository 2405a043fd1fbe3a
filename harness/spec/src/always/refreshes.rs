//! Refreshes after a volume has changed the free capacity: the publisher must call GetCapacity again, independently of its poll interval.

use std::collections::BTreeSet;

use capacity_types::{Segment, segment};

use super::monitor::Monitor;
use super::request::Actor;
use crate::objects::{DesiredObjects, DesiredState};
use crate::rules::{self, Unspecified};
use crate::violation::{Subject, Violation};
use crate::volumes::{CreateVolumeCall, CreateVolumeResult, is_volume_of};
use crate::world::{Instance, Parameters};

impl Monitor {
    /// Records a GetCapacity call, which fulfills required refreshes.
    pub(super) fn record_get_capacity(&mut self, by: &Actor, parameters: &Parameters, segment: &Segment) {
        let Actor::Publisher(instance) = by else {
            return;
        };
        for (class, segments) in self
            .pending_refreshes
            .by_class
            .get_mut(instance)
            .into_iter()
            .flatten()
        {
            let class = self.world.classes.get(class);
            if class.is_none_or(|class| class.driver_parameters() == *parameters) {
                segments.remove(segment);
            }
        }
    }

    /// Whether the publisher must make this GetCapacity call because a volume has changed the capacity.
    pub(super) fn is_due(&self, by: &Actor, parameters: &Parameters, segment: &Segment) -> bool {
        let Actor::Publisher(instance) = by else {
            return false;
        };
        let mut due = self
            .pending_refreshes
            .by_class
            .get(instance)
            .into_iter()
            .flatten();
        due.any(|(class, segments)| {
            let class = self.world.classes.get(class);
            segments.contains(segment) && class.is_some_and(|it| it.driver_parameters() == *parameters)
        })
    }

    pub(super) fn require_refresh_after_create(&mut self, call: &CreateVolumeCall) {
        let volume_segment = match &call.result {
            CreateVolumeResult::Created {
                segment,
                is_received: true,
                ..
            } => segment,
            CreateVolumeResult::Exhausted => &call.preferred_segment,
            _ => return,
        };
        let mut claims = self.world.claims.values();
        let claim = claims.find(|claim| is_volume_of(&call.name, claim));
        if let Some(class) = claim.map(|claim| claim.class.clone()) {
            // Compares only common keys, because the volume's segment and the publisher's segment may have different keys.
            let is_affected = |segment: &Segment| {
                segment::contains(segment, volume_segment) || segment::contains(volume_segment, segment)
            };
            let segments = self.segments_where(&call.by, is_affected);
            let is_first = call.result != CreateVolumeResult::Exhausted
                || self.pending_refreshes.is_first_failure(&call.name);
            match is_first {
                true => self.require_refresh(&call.by, class, segments),
                false => self.drop_refresh(&call.by, &class, &segments),
            }
        }
    }

    /// Records the GetCapacity calls that a DeleteVolume call makes necessary.
    pub(super) fn refresh_after_deletion(&mut self, id: &str, by: &Actor) {
        let Actor::Publisher(instance) = by else {
            return;
        };
        let mut volumes = self.world.volumes.values();
        let Some(volume) = volumes.find(|volume| volume.handle == id) else {
            return;
        };
        let class = volume.class.clone();
        let was_in = |segment: &Segment| volume.is_reachable("", segment);
        let segments = self.segments_where(instance, was_in);
        self.require_refresh(instance, class, segments);
    }

    /// The segments that satisfy a predicate, among those for which the publisher creates objects.
    fn segments_where(
        &self,
        instance: &Instance,
        is_affected: impl Fn(&Segment) -> bool,
    ) -> BTreeSet<Segment> {
        let publisher = self.world.publishers.get(instance);
        let desired = publisher.map(|it| DesiredObjects::of(&self.world, instance, it));
        let segments = desired.iter().flat_map(DesiredObjects::segments);
        segments.filter(|segment| is_affected(segment)).cloned().collect()
    }

    fn drop_refresh(&mut self, instance: &Instance, class: &str, segments: &BTreeSet<Segment>) {
        let due = self.pending_refreshes.by_class.get_mut(instance);
        if let Some(due) = due.and_then(|due| due.get_mut(class)) {
            due.retain(|segment| !segments.contains(segment));
        }
    }

    fn require_refresh(&mut self, instance: &Instance, class: String, segments: BTreeSet<Segment>) {
        let due = self
            .pending_refreshes
            .by_class
            .entry(instance.clone())
            .or_default();
        due.entry(class).or_default().extend(segments);
    }

    /// The GetCapacity calls after volume operations that publishers have not made, if the cluster is quiescent now.
    pub(super) fn missing_refreshes(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.world.api.version().is_none() {
            return violations;
        }
        for (instance, due) in &self.pending_refreshes.by_class {
            if due.values().all(BTreeSet::is_empty) {
                continue;
            }
            // A publisher with a rate limit is not checked: it may still be busy with earlier calls while a volume is retried.
            let publisher = self.world.publishers.get(instance);
            let Some(publisher) = publisher.filter(|it| it.publishes && it.get_capacity_qps.is_none()) else {
                continue;
            };
            let desired = DesiredObjects::of(&self.world, instance, publisher);
            for (class, segments) in due {
                let is_due = |segment: &&Segment| {
                    desired
                        .state_for(class, segment)
                        .as_ref()
                        .is_some_and(needs_capacity)
                };
                violations.extend(segments.iter().filter(is_due).map(|segment| Violation {
                    rule: rules::CAPACITY_NOT_REFRESHED,
                    subject: Subject::Call {
                        driver: instance.driver.clone(),
                        segment: segment.clone(),
                    },
                    detail: format!(
                        "GetCapacity was not called for class {class} after the last volume operation"
                    ),
                }));
            }
        }
        violations
    }
}

/// Whether the publisher must have the current capacity of a class and segment. False if publishing is optional, or while GetCapacity fails
/// and the publisher backs off.
fn needs_capacity(state: &DesiredState) -> bool {
    matches!(
        state.unspecified(),
        None | Some(Unspecified::WithoutPolling | Unspecified::ZeroOrAbsent)
    )
}
