//! Rules for GetCapacity calls: which client may call, and with which arguments.

use std::time::Duration;

use capacity_types::Segment;

use super::monitor::Monitor;
use super::request::Actor;
use crate::objects::DesiredObjects;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation, map_text};
use crate::world::change::ChangeKind;
use crate::world::class::without_sidecars;
use crate::world::{Instance, Parameters, ReportedCapacity, StorageClass, World};

/// The kinds of objects on which a publisher's GetCapacity calls depend.
const KINDS: [ChangeKind; 4] = [
    ChangeKind::Nodes,
    ChangeKind::CsiNodes,
    ChangeKind::Classes,
    ChangeKind::Settings,
];

impl Monitor {
    /// Checks a GetCapacity call and records its response. For the arguments, see [`Event::GetCapacity`](super::Event::GetCapacity).
    pub(super) fn get_capacity_called(
        &mut self,
        by: &Actor,
        (driver, segment, parameters): (&str, Segment, Parameters),
        (response, possible): (Option<ReportedCapacity>, &[ReportedCapacity]),
        at: Option<Duration>,
    ) -> Vec<Violation> {
        let reason = match by {
            Actor::Publisher(instance) => self.unexpected_reason(instance, driver, &segment, &parameters),
            Actor::Scheduler | Actor::Cleaner | Actor::Unrelated => {
                Some("GetCapacity was called by a client that is not a publisher")
            }
            Actor::Other | Actor::User => None,
        };
        let violation = |rule: &'static Rule, detail: String| Violation {
            rule,
            subject: Subject::Call {
                driver: driver.to_owned(),
                segment: segment.clone(),
            },
            detail,
        };
        let unexpected = reason.map(|reason| {
            violation(
                rules::UNEXPECTED_GET_CAPACITY,
                format!("{reason}; parameters: {}", map_text(&parameters)),
            )
        });
        let impossible = response.filter(|response| !possible.is_empty() && !possible.contains(response));
        let wrong_response = impossible.map(|response| {
            let possible: Vec<String> = possible.iter().map(ToString::to_string).collect();
            let detail = format!(
                "GetCapacity returned {response}, but the storage of the driver has {}",
                possible.join(" or ")
            );
            violation(rules::WRONG_RESPONSE, detail)
        });
        let rate = match by {
            Actor::Publisher(instance) => self.check_get_capacity_rate(instance, (&segment, &parameters), at),
            _ => None,
        };
        let violations = unexpected.into_iter().chain(wrong_response).chain(rate).collect();
        match response.filter(|values| values.is_valid()) {
            // The publisher publishes the response for the StorageClass, even if the request wrongly contained parameters for sidecars.
            Some(values) => self
                .responses
                .add(driver, without_sidecars(parameters), segment, values),
            None => self.deleted_objects.allow_recreation(),
        }
        violations
    }

    /// The reason why a publisher should not make this GetCapacity call. `None` if the call is allowed.
    fn unexpected_reason(
        &self,
        instance: &Instance,
        driver: &str,
        segment: &Segment,
        parameters: &Parameters,
    ) -> Option<&'static str> {
        if !self.world.publishers.contains_key(instance) {
            // The publisher has exited; the call was in flight at that time.
            return None;
        }
        let any = |is_so: &dyn Fn(&World) -> bool| self.recent.any_state(&self.world, &KINDS, is_so);
        let matches_call = |class: &StorageClass| {
            class.provisioner == instance.driver && class.driver_parameters() == *parameters
        };
        let is_of_class = |world: &World| world.classes.values().any(matches_call);
        // A provisioner may check the capacity for a PVC in any topology that the StorageClass allows.
        let may_provision_there = |world: &World| {
            let mut classes = world.classes.values();
            classes.any(|class| matches_call(class) && class.has_term_with_keys(segment))
        };
        let has_segment = |world: &World| {
            let publisher = world.publishers.get(instance);
            publisher.is_some_and(|it| {
                DesiredObjects::of(world, instance, it)
                    .segments()
                    .contains(segment)
            })
        };
        let is_of_nodes = |world: &World| {
            self.unregistered
                .holds_with_or_without_unregistered(world, has_segment)
        };
        if driver != instance.driver {
            return Some("the driver belongs to another publisher");
        }
        let advertises = |world: &World| world.drivers.get(driver).is_none_or(|driver| driver.get_capacity);
        if !advertises(&self.world) {
            return Some("the driver does not advertise GET_CAPACITY");
        }
        if !any(&is_of_class) {
            return Some("no class of the driver has these parameters");
        }
        let is_own_segment = any(&is_of_nodes) || any(&may_provision_there);
        (!is_own_segment).then_some("the segment does not belong to the publisher's nodes")
    }
}
