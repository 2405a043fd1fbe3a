//! Refreshes after a volume changed capacity: the publisher must call GetCapacity again, regardless of its poll interval.

use std::collections::BTreeSet;

use capacity_types::{Segment, segment};

use super::author::Author;
use super::monitor::Monitor;
use crate::objects::{Demand, Wanted};
use crate::rules::{self, Question};
use crate::violation::{Subject, Violation};
use crate::volumes::{Creation, Ending, is_for};
use crate::world::{Instance, Parameters};

impl Monitor {
    /// Records a GetCapacity call.
    pub(super) fn refreshed(&mut self, by: &Author, parameters: &Parameters, segment: &Segment) {
        let Author::Publisher(instance) = by else {
            return;
        };
        for (class, segments) in self.due.by_class.get_mut(instance).into_iter().flatten() {
            let class = self.world.classes.get(class);
            if class.is_none_or(|class| class.driver_parameters() == *parameters) {
                segments.remove(segment);
            }
        }
    }

    /// Whether the call is a required refresh.
    pub(super) fn is_due(&self, by: &Author, parameters: &Parameters, segment: &Segment) -> bool {
        let Author::Publisher(instance) = by else {
            return false;
        };
        let mut due = self.due.by_class.get(instance).into_iter().flatten();
        due.any(|(class, segments)| {
            let class = self.world.classes.get(class);
            segments.contains(segment) && class.is_some_and(|it| it.driver_parameters() == *parameters)
        })
    }

    /// Records a CreateVolume call and the refreshes that it requires.
    pub(super) fn refresh_after(&mut self, creation: &Creation) {
        let place = match &creation.ending {
            Ending::Made {
                segment,
                is_told: true,
                ..
            } => segment,
            Ending::Exhausted => &creation.place,
            _ => return,
        };
        let mut claims = self.world.claims.values();
        let claim = claims.find(|claim| is_for(&creation.name, claim));
        if let Some(class) = claim.map(|claim| claim.class.clone()) {
            // Either one may have keys that the other lacks.
            let is_meant =
                |segment: &Segment| segment::contains(segment, place) || segment::contains(place, segment);
            let segments = self.segments_where(&creation.by, is_meant);
            let is_first = creation.ending != Ending::Exhausted || self.due.is_first_failure(&creation.name);
            match is_first {
                true => self.refresh(&creation.by, class, segments),
                false => self.needs_no_refresh(&creation.by, &class, &segments),
            }
        }
    }

    /// Records a DeleteVolume call and the refreshes that it requires.
    pub(super) fn refresh_after_deletion(&mut self, id: &str, by: &Author) {
        let Author::Publisher(instance) = by else {
            return;
        };
        let mut volumes = self.world.volumes.values();
        let Some(volume) = volumes.find(|volume| volume.handle == id) else {
            return;
        };
        let class = volume.class.clone();
        let was_in = |segment: &Segment| volume.is_reachable("", segment);
        let segments = self.segments_where(instance, was_in);
        self.refresh(instance, class, segments);
    }

    /// The publisher's segments that match.
    fn segments_where(&self, instance: &Instance, is_meant: impl Fn(&Segment) -> bool) -> BTreeSet<Segment> {
        let publisher = self.world.publishers.get(instance);
        let wanted = publisher.map(|it| Wanted::of(&self.world, instance, it));
        let segments = wanted.iter().flat_map(Wanted::segments);
        segments.filter(|segment| is_meant(segment)).cloned().collect()
    }

    fn needs_no_refresh(&mut self, instance: &Instance, class: &str, segments: &BTreeSet<Segment>) {
        let due = self.due.by_class.get_mut(instance);
        if let Some(due) = due.and_then(|due| due.get_mut(class)) {
            due.retain(|segment| !segments.contains(segment));
        }
    }

    fn refresh(&mut self, instance: &Instance, class: String, segments: BTreeSet<Segment>) {
        let due = self.due.by_class.entry(instance.clone()).or_default();
        due.entry(class).or_default().extend(segments);
    }

    /// Missing refreshes, if the cluster is quiescent now.
    pub(super) fn unrefreshed(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.world.api.version().is_none() {
            return violations;
        }
        for (instance, due) in &self.due.by_class {
            if due.values().all(BTreeSet::is_empty) {
                continue;
            }
            // A publisher with a rate limit may be busy with earlier calls while a volume is retried.
            let publisher = self.world.publishers.get(instance);
            let Some(publisher) = publisher.filter(|it| it.publishes && it.get_capacity_qps.is_none()) else {
                continue;
            };
            let wanted = Wanted::of(&self.world, instance, publisher);
            for (class, segments) in due {
                let is_due =
                    |segment: &&Segment| wanted.demand_for(class, segment).as_ref().is_some_and(is_told);
                violations.extend(segments.iter().filter(is_due).map(|segment| Violation {
                    rule: rules::CAPACITY_NOT_REFRESHED,
                    subject: Subject::Call {
                        driver: instance.driver.clone(),
                        segment: segment.clone(),
                    },
                    detail: format!("GetCapacity was not called for class {class} since"),
                }));
            }
        }
        violations
    }
}

/// Whether the publisher must know the capacity: for some classes and segments publishing is optional, and after an error it backs off.
fn is_told(demand: &Demand) -> bool {
    matches!(
        demand.question(),
        None | Some(Question::WithoutPolling | Question::ZeroOrNothing)
    )
}
