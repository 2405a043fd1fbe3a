//! Exceptions for publishers that do not poll: they may publish the last capacity that they received, whatever the driver would return now.

use super::monitor::Monitor;
use crate::objects::ByClassAndSegment;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, Instance};

/// Rules that compare objects with the driver's current response.
const ABOUT_VALUES: [&Rule; 3] = [rules::MISSING, rules::WRONG_CAPACITY, rules::NONZERO_CAPACITY];

impl Monitor {
    /// Removes violations about objects whose values equal a response since the last quiescence, because the publisher had no reason to
    /// call GetCapacity again.
    pub(super) fn remove_recently_reported(&self, violations: &mut Vec<Violation>) {
        for (instance, publisher) in self.world.publishers.iter().filter(|(_, it)| !it.polls) {
            let own = ByClassAndSegment::of(&self.world, instance, publisher);
            violations.retain(|violation| !self.was_reported_recently(violation, instance, &own));
        }
    }

    /// Whether the object of a violation has the values of a response that the publisher has received since the last quiescence.
    fn was_reported_recently(
        &self,
        violation: &Violation,
        publisher: &Instance,
        own: &ByClassAndSegment<'_, Option<&CapacityObject>>,
    ) -> bool {
        let Subject::ClassAndSegment {
            instance,
            class: name,
            segment,
        } = &violation.subject
        else {
            return false;
        };
        let is_about_values = instance == publisher && ABOUT_VALUES.contains(&violation.rule);
        let Some(class) = self.world.classes.get(name).filter(|_| is_about_values) else {
            return false;
        };
        let parameters = class.driver_parameters();
        let mut recent = self.responses.recent(&instance.driver, &parameters, segment);
        let has_maximum = self.world.api.release.has_maximum();
        match own.get(name, segment).copied().flatten() {
            Some(object) => recent.any(|values| object.has_values(&values.as_stored(has_maximum))),
            None => recent.any(|values| values.available == 0),
        }
    }
}
