//! Converts CSI calls of the journal into events of the specification.

use std::time::Duration;

use capacity_spec::always::{Actor, Event};
use capacity_spec::volumes::{CreateVolumeCall, CreateVolumeResult};
use capacity_spec::world::{CapacityResponse, Change, Parameters, ReportedCapacity};
use fake_csi::Method;

use super::Oracle;
use super::storage::parse_segment;
use crate::journal::{CallFact, HarnessCallFact};
use crate::plan::Action;

impl Oracle<'_> {
    /// The events of the specification for a completed CSI call.
    pub(super) fn call(&mut self, call: &CallFact, at_us: u64) -> Vec<Event> {
        let by = self.caller(call);
        if let Actor::Publisher(instance) = &by {
            self.program_metrics.driver_responded(call, instance);
        }
        if call.method != Method::GetCapacity {
            let reads_topology = call.method == Method::NodeGetInfo && matches!(by, Actor::Publisher(_));
            let node = call.node.as_deref().filter(|_| reads_topology);
            let changed = node.and_then(|node| self.programs.apply_node_get_info(node));
            let changed = changed.map_or_else(Vec::new, |change| self.change_events(change));
            let event = self.volume_event(call, by);
            self.storage.volume_call_ended(call);
            let events = changed.into_iter().chain(event);
            return events.chain(self.capacity_changes()).collect();
        }
        let segment = parse_segment(self.plan, call.segment.as_deref());
        let answer = call
            .available
            .filter(|_| call.code == "OK")
            .map(|available| ReportedCapacity {
                available,
                maximum: call.maximum,
            });
        let driver = self.plan.driver.name.clone();
        let reported = answer.map_or_else(CapacityResponse::error, CapacityResponse::Reported);
        let expected = self.storage.get_capacity_result(&segment, &call.parameters);
        let change = |answer| {
            let (segment, parameters) = (segment.clone(), call.parameters.clone());
            Event::Changed(Change::CapacityResponse(
                driver.clone(),
                segment,
                parameters,
                answer,
            ))
        };
        // A capacity other than the expected one is temporary. Publishers may act on it, so the specification receives it before the
        // expected capacity.
        let is_lost = self.storage.loses_answers();
        let is_temporary = is_lost || !is_same(&reported, &expected);
        let mut events = Vec::new();
        events.extend(is_temporary.then(|| change(reported)));
        events.extend(is_lost.then(|| change(CapacityResponse::error())));
        events.push(Event::GetCapacity {
            by,
            driver: driver.clone(),
            segment: segment.clone(),
            parameters: call.parameters.clone(),
            response: answer,
            possible: self.storage.possible_capacities(&segment, &call.parameters),
            at: (!self.delays_responses).then(|| Duration::from_micros(at_us)),
        });
        events.extend(is_temporary.then(|| change(expected)));
        events
    }

    fn caller(&self, call: &CallFact) -> Actor {
        match call.code.as_str() {
            _ if self.is_harness_calling => Actor::User,
            // A cancelled call may have started before facts that precede it in the journal, so it is not attributed to the publisher.
            "CANCELLED" => Actor::Other,
            _ => Actor::Publisher(self.programs.instance_on(call.node.as_deref())),
        }
    }

    /// The event for a GetCapacity call of the harness that no action of the case requests. Such a call simulates a client that is not a
    /// publisher.
    pub(super) fn unknown_client_call(&self, answer: &HarnessCallFact) -> Option<Event> {
        let mut own = self.plan.actions().filter_map(|action| match action {
            Action::CsiCall(call) => Some(&call.name),
            _ => None,
        });
        let is_of_unknown_client =
            answer.call == Method::GetCapacity && !own.any(|name| *name == answer.name);
        is_of_unknown_client.then(|| Event::GetCapacity {
            by: Actor::Unrelated,
            driver: self.plan.driver.name.clone(),
            segment: parse_segment(self.plan, answer.segment.as_deref()),
            parameters: Parameters::new(),
            response: None,
            possible: Vec::new(),
            at: None,
        })
    }

    /// The event for a CreateVolume or DeleteVolume call.
    fn volume_event(&self, call: &CallFact, by: Actor) -> Option<Event> {
        match (call.method, &call.volume_id, &call.volume) {
            (Method::DeleteVolume, Some(id), _) if call.code == "OK" => {
                Some(Event::VolumeDeleted { id: id.clone(), by })
            }
            (Method::CreateVolume, _, Some(name)) if !self.is_harness_calling => {
                Some(Event::CreateVolume(CreateVolumeCall {
                    by: self.programs.instance_on(call.node.as_deref()),
                    name: name.clone(),
                    bytes: call.required_bytes,
                    is_clone: call.details.copy_of.is_some(),
                    preferred_segment: parse_segment(self.plan, call.segment.as_deref()),
                    allows_other_segments: !call.details.requisite.is_empty(),
                    result: self.outcome(call),
                    exceeds_capacity: self.storage.exceeds_free_capacity(call),
                }))
            }
            _ => None,
        }
    }

    /// The specification's result of a CreateVolume call, derived from the gRPC code and the response.
    fn outcome(&self, call: &CallFact) -> CreateVolumeResult {
        match (call.code.as_str(), &call.volume_id) {
            ("OK", Some(id)) => CreateVolumeResult::Created {
                id: id.clone(),
                segment: parse_segment(
                    self.plan,
                    call.placed.as_ref().and_then(|placed| placed.segment.as_deref()),
                ),
                is_received: call.has_received_response(),
            },
            ("RESOURCE_EXHAUSTED", _) => CreateVolumeResult::Exhausted,
            // CSI spec: after these gRPC codes, the driver may still be creating the volume.
            ("OK" | "CANCELLED" | "DEADLINE_EXCEEDED" | "UNAVAILABLE" | "ABORTED", _) => {
                CreateVolumeResult::Unknown
            }
            ("INTERNAL", _) => CreateVolumeResult::Internal {
                is_injected: self.storage.has_volume_faults(),
            },
            _ => CreateVolumeResult::Failed,
        }
    }
}

/// Whether two GetCapacity results are equal. All gRPC errors count as equal.
pub(super) fn is_same(one: &CapacityResponse, other: &CapacityResponse) -> bool {
    match (one, other) {
        (CapacityResponse::Error { .. }, CapacityResponse::Error { .. }) => true,
        (CapacityResponse::Reported(one), CapacityResponse::Reported(other)) => one == other,
        _ => false,
    }
}
