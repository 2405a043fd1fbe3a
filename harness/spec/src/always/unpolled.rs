//! What a publisher that does not poll may go by: the last answer that it was given, whatever the driver would answer now.

use super::monitor::Monitor;
use crate::rules;
use crate::violation::{Subject, Violation};
use crate::world::{CapacityObject, NamespacedName};

impl Monitor {
    /// Whether a violation is what a publisher was told since everything was last quiet, and has had no reason to ask for again.
    pub(super) fn is_told_lately(&self, violation: &Violation) -> bool {
        let is_about_figures = [
            rules::MISSING,
            rules::WRONG_FIGURES,
            rules::OFFER_WITHOUT_CAPACITY,
        ]
        .contains(&violation.rule);
        let Subject::Pair {
            instance,
            class,
            segment,
        } = &violation.subject
        else {
            return false;
        };
        let publisher = self.world.publishers.get(instance);
        let Some(publisher) = publisher.filter(|publisher| is_about_figures && !publisher.polls) else {
            return false;
        };
        let Some(class_object) = self.world.classes.get(class) else {
            return false;
        };
        let parameters = class_object.driver_parameters();
        let mut told = self.told.lately(&instance.driver, &parameters, segment);
        let is_own = |key: &NamespacedName, object: &CapacityObject| {
            publisher.owns(instance, key, object)
                && object.class == *class
                && object.segment().as_ref() == Some(segment)
        };
        let mut own = self.world.objects.iter();
        let has_maximum = self.world.api.release.has_maximum();
        match own.find(|(key, object)| is_own(key, object)) {
            Some((_, object)) => told.any(|figures| object.says(&figures.kept(has_maximum))),
            None => told.any(|figures| figures.available == 0),
        }
    }
}
