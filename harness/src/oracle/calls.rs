//! Converts CSI calls of the journal into events of the specification.

use std::time::Duration;

use capacity_spec::always::{Author, Event};
use capacity_spec::volumes::{Creation, Ending};
use capacity_spec::world::{Answer, Change, Figures, Parameters};
use fake_csi::Method;

use super::Oracle;
use super::storage::parsed;
use crate::journal::{AnswerFact, CallFact};
use crate::plan::Action;

impl Oracle<'_> {
    /// Events for a completed CSI call.
    pub(super) fn call(&mut self, call: &CallFact, at_us: u64) -> Vec<Event> {
        let by = self.caller(call);
        if let Author::Publisher(instance) = &by {
            self.program_metrics.driver_responded(call, instance);
        }
        if call.method != Method::GetCapacity {
            let reads_topology = call.method == Method::NodeGetInfo && matches!(by, Author::Publisher(_));
            let node = call.node.as_deref().filter(|_| reads_topology);
            let changed = node.and_then(|node| self.programs.node_info(node));
            let changed = changed.map_or_else(Vec::new, |change| self.changed(change));
            let event = self.volume_event(call, by);
            self.storage.volume_call_ended(call);
            let events = changed.into_iter().chain(event);
            return events.chain(self.capacity_changes()).collect();
        }
        let segment = parsed(self.plan, call.segment.as_deref());
        let answer = call
            .available
            .filter(|_| call.code == "OK")
            .map(|available| Figures {
                available,
                maximum: call.maximum,
            });
        let driver = self.plan.driver.name.clone();
        let reported = answer.map_or_else(Answer::error, Answer::Figures);
        let expected = self.storage.get_capacity_result(&segment, &call.parameters);
        let change = |answer| {
            let (segment, parameters) = (segment.clone(), call.parameters.clone());
            Event::Changed(Change::Answer(driver.clone(), segment, parameters, answer))
        };
        // Publishers may also act on a temporary capacity, so the specification gets it for this moment, and then the expected one.
        let is_lost = self.storage.loses_answers();
        let is_temporary = is_lost || !is_same(&reported, &expected);
        let mut events = Vec::new();
        events.extend(is_temporary.then(|| change(reported)));
        events.extend(is_lost.then(|| change(Answer::error())));
        events.push(Event::Asked {
            by,
            driver: driver.clone(),
            segment: segment.clone(),
            parameters: call.parameters.clone(),
            answer,
            possible: self.storage.possible(&segment, &call.parameters),
            at: (!self.delays_responses).then(|| Duration::from_micros(at_us)),
        });
        events.extend(is_temporary.then(|| change(expected)));
        events
    }

    /// The caller of a CSI call.
    fn caller(&self, call: &CallFact) -> Author {
        match call.code.as_str() {
            _ if self.is_harness_calling => Author::User,
            // A cancelled call may have started before events that were recorded later.
            "CANCELLED" => Author::Other,
            _ => Author::Publisher(self.programs.instance_on(call.node.as_deref())),
        }
    }

    /// The event for a GetCapacity call of the harness that is not an action of the case. Such a call represents one of an unknown client.
    pub(super) fn unknown_client_call(&self, answer: &AnswerFact) -> Option<Event> {
        let mut own = self.plan.actions().filter_map(|action| match action {
            Action::CsiCall(call) => Some(&call.name),
            _ => None,
        });
        let is_of_unknown_client =
            answer.call == Method::GetCapacity && !own.any(|name| *name == answer.name);
        is_of_unknown_client.then(|| Event::Asked {
            by: Author::Stranger,
            driver: self.plan.driver.name.clone(),
            segment: parsed(self.plan, answer.segment.as_deref()),
            parameters: Parameters::new(),
            answer: None,
            possible: Vec::new(),
            at: None,
        })
    }

    /// The event for a CreateVolume or DeleteVolume call.
    fn volume_event(&self, call: &CallFact, by: Author) -> Option<Event> {
        match (call.method, &call.volume_id, &call.volume) {
            (Method::DeleteVolume, Some(id), _) if call.code == "OK" => {
                Some(Event::Deleted { id: id.clone(), by })
            }
            (Method::CreateVolume, _, Some(name)) if !self.is_harness_calling => {
                Some(Event::Created(Creation {
                    by: self.programs.instance_on(call.node.as_deref()),
                    name: name.clone(),
                    bytes: call.required_bytes,
                    is_copy: call.details.copy_of.is_some(),
                    place: parsed(self.plan, call.segment.as_deref()),
                    is_elsewhere_too: !call.details.requisite.is_empty(),
                    ending: self.outcome(call),
                    is_overfull: self.storage.is_overfull(call),
                }))
            }
            _ => None,
        }
    }

    /// Outcome of a CreateVolume call.
    fn outcome(&self, call: &CallFact) -> Ending {
        match (call.code.as_str(), &call.volume_id) {
            ("OK", Some(id)) => Ending::Made {
                id: id.clone(),
                segment: parsed(
                    self.plan,
                    call.placed.as_ref().and_then(|placed| placed.segment.as_deref()),
                ),
                is_told: call.is_answered(),
            },
            ("RESOURCE_EXHAUSTED", _) => Ending::Exhausted,
            // CSI: after these codes the driver may still be creating the volume.
            ("OK" | "CANCELLED" | "DEADLINE_EXCEEDED" | "UNAVAILABLE" | "ABORTED", _) => Ending::Undecided,
            ("INTERNAL", _) => Ending::Broken {
                is_scripted: self.storage.has_volume_faults(),
            },
            _ => Ending::Refused,
        }
    }
}

/// Whether two GetCapacity results are equal; all errors are equal.
pub(super) fn is_same(one: &Answer, other: &Answer) -> bool {
    match (one, other) {
        (Answer::Error { .. }, Answer::Error { .. }) => true,
        (Answer::Figures(one), Answer::Figures(other)) => one == other,
        _ => false,
    }
}
