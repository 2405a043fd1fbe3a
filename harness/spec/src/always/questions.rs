//! GetCapacity calls: caller and arguments.

use std::time::Duration;

use capacity_types::Segment;

use super::author::Author;
use super::monitor::Monitor;
use crate::objects::Wanted;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::change::Aspect;
use crate::world::class::without_sidecars;
use crate::world::{Figures, Instance, Parameters, StorageClass, World};

/// The kinds of objects that a publisher's calls depend on.
const ASPECTS: [Aspect; 4] = [Aspect::Nodes, Aspect::CsiNodes, Aspect::Classes, Aspect::Settings];

impl Monitor {
    /// `possible`, `at`: see [`Event::Asked`](super::Event::Asked).
    pub(super) fn asked(
        &mut self,
        by: &Author,
        (driver, segment, parameters): (&str, Segment, Parameters),
        (answer, possible): (Option<Figures>, &[Figures]),
        at: Option<Duration>,
    ) -> Vec<Violation> {
        let wrong = match by {
            Author::Publisher(instance) => self.strange(instance, driver, &segment, &parameters),
            Author::Scheduler | Author::Cleaner | Author::Stranger => {
                Some("GetCapacity was called by a client that is not a publisher")
            }
            Author::Other | Author::User => None,
        };
        let violation = |rule: &'static Rule, detail: String| Violation {
            rule,
            subject: Subject::Call {
                driver: driver.to_owned(),
                segment: segment.clone(),
            },
            detail,
        };
        let strange =
            wrong.map(|wrong| violation(rules::UNEXPECTED_GET_CAPACITY, format!("{wrong}: {parameters:?}")));
        let other = answer.filter(|answer| !possible.is_empty() && !possible.contains(answer));
        let wrong = other.map(|answer| {
            let detail = format!("GetCapacity returned {answer:?}, and the driver has {possible:?}");
            violation(rules::WRONG_ANSWER, detail)
        });
        let hurried = match by {
            Author::Publisher(instance) => self.hurried_question(instance, (&segment, &parameters), at),
            _ => None,
        };
        let violations = strange.into_iter().chain(wrong).chain(hurried).collect();
        match answer.filter(|figures| figures.is_sound()) {
            // The publisher publishes a response for the class even if the request wrongly contained sidecar parameters.
            Some(figures) => self
                .told
                .add(driver, without_sidecars(parameters), segment, figures),
            None => self.withdrawn.excused(),
        }
        violations
    }

    /// Why a publisher's call is unexpected.
    fn strange(
        &self,
        instance: &Instance,
        driver: &str,
        segment: &Segment,
        parameters: &Parameters,
    ) -> Option<&'static str> {
        if !self.world.publishers.contains_key(instance) {
            // The call was in flight when its publisher exited.
            return None;
        }
        let any = |is_so: &dyn Fn(&World) -> bool| self.lately.any(&self.world, &ASPECTS, is_so);
        let is_meant = |class: &StorageClass| {
            class.provisioner == instance.driver && class.driver_parameters() == *parameters
        };
        let is_of_class = |world: &World| world.classes.values().any(is_meant);
        // A provisioner may check the capacity for a PVC in a topology that the class allows.
        let may_provision_there = |world: &World| {
            let mut classes = world.classes.values();
            classes.any(|class| is_meant(class) && class.names(segment))
        };
        let has_segment = |world: &World| {
            let publisher = world.publishers.get(instance);
            publisher.is_some_and(|it| Wanted::of(world, instance, it).segments().contains(segment))
        };
        let is_of_nodes = |world: &World| self.departures.either(world, has_segment);
        if driver != instance.driver {
            return Some("the driver belongs to another publisher");
        }
        let tells = |world: &World| world.drivers.get(driver).is_none_or(|driver| driver.get_capacity);
        if !tells(&self.world) {
            return Some("the driver does not advertise GET_CAPACITY");
        }
        if !any(&is_of_class) {
            return Some("no class of the driver has these parameters");
        }
        let is_its = any(&is_of_nodes) || any(&may_provision_there);
        (!is_its).then_some("the segment does not belong to the publisher's nodes")
    }
}
