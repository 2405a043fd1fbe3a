//! Publishers that do not poll may use the last response that they received, whatever the driver would return now.

use super::monitor::Monitor;
use crate::objects::Pairs;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, Instance};

/// Rules that compare objects with the driver's current response.
const ABOUT_FIGURES: [&Rule; 3] = [rules::MISSING, rules::WRONG_CAPACITY, rules::NONZERO_CAPACITY];

impl Monitor {
    /// Removes violations about objects that match a response since the last quiescence: the publisher had no reason to call again.
    pub(super) fn excuse_what_was_told(&self, violations: &mut Vec<Violation>) {
        for (instance, publisher) in self.world.publishers.iter().filter(|(_, it)| !it.polls) {
            let own = Pairs::of(&self.world, instance, publisher);
            violations.retain(|violation| !self.is_told_lately(violation, instance, &own));
        }
    }

    /// Whether the violation concerns a value that the publisher with these objects received recently.
    fn is_told_lately(
        &self,
        violation: &Violation,
        publisher: &Instance,
        own: &Pairs<'_, Option<&CapacityObject>>,
    ) -> bool {
        let Subject::Pair {
            instance,
            class: name,
            segment,
        } = &violation.subject
        else {
            return false;
        };
        let is_meant = instance == publisher && ABOUT_FIGURES.contains(&violation.rule);
        let Some(class) = self.world.classes.get(name).filter(|_| is_meant) else {
            return false;
        };
        let parameters = class.driver_parameters();
        let mut told = self.told.lately(&instance.driver, &parameters, segment);
        let has_maximum = self.world.api.release.has_maximum();
        match own.get(name, segment).copied().flatten() {
            Some(object) => told.any(|figures| object.says(&figures.kept(has_maximum))),
            None => told.any(|figures| figures.available == 0),
        }
    }
}
