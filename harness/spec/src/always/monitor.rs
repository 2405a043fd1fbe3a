//! Processes events in order and returns violations.

use std::borrow::Cow;

use super::capacity_responses::CapacityResponses;
use super::deleted_objects::DeletedObjects;
use super::event::Event;
use super::former_labels::FormerLabels;
use super::leaders::Leaders;
use super::pending_refreshes::PendingRefreshes;
use super::rate_limit::RateCounters;
use super::reads::Reads;
use super::recent_states::RecentStates;
use super::unregistered_drivers::UnregisteredDrivers;
use super::unreported_failures::UnreportedFailures;
use super::user_request::UserRequests;
use crate::objects;
use crate::violation::Violation;
use crate::volumes::{self, Backend, Ledger};
use crate::world::{CapacityObject, Change, Driver, Instance, NamespacedName, Objects, World};

/// Checks a history of events.
pub struct Monitor {
    pub(super) world: World,
    pub(super) recent: RecentStates,
    pub(super) former_labels: FormerLabels,
    pub(super) unregistered: UnregisteredDrivers,
    pub(super) responses: CapacityResponses,
    pub(super) deleted_objects: DeletedObjects,
    /// CreateVolume calls and their results.
    pub(super) ledger: Ledger,
    pub(super) user_requests: UserRequests,
    /// Publisher replicas that may write, because they have held the Lease.
    pub(super) leaders: Leaders,
    /// Failed CreateVolume calls without an Event.
    pub(super) unreported_failures: UnreportedFailures,
    /// Lists and watches of CSIStorageCapacity objects by programs.
    pub(super) reads: Reads,
    pub(super) pending_refreshes: PendingRefreshes,
    pub(super) rates: RateCounters,
    /// CSIStorageCapacity objects at the last quiescence, including later changes by clients that are not checked.
    before: Objects,
    /// Whether the server has ever emulated a release without `maximumVolumeSize`. A publisher may still have objects without the field in
    /// its cache, because no watch event reports that the field is served again.
    pub(super) has_hidden_maximum: bool,
}

/// The violations in a history of events that starts with a quiescent cluster in the state `world`.
pub fn judge(world: World, events: impl IntoIterator<Item = Event>) -> Vec<Violation> {
    let mut monitor = Monitor::new(world);
    let events = events.into_iter();
    events.flat_map(|event| monitor.observe(event)).collect()
}

impl Monitor {
    /// Starts a history. The cluster must be quiescent.
    pub fn new(world: World) -> Self {
        Monitor {
            recent: RecentStates::at_quiescence(&world),
            former_labels: FormerLabels::new(&world),
            unregistered: UnregisteredDrivers::default(),
            responses: CapacityResponses::default(),
            deleted_objects: DeletedObjects::default(),
            ledger: Ledger::default(),
            user_requests: UserRequests::default(),
            leaders: Leaders::default(),
            unreported_failures: UnreportedFailures::default(),
            reads: Reads::default(),
            pending_refreshes: PendingRefreshes::default(),
            rates: RateCounters::default(),
            before: world.objects.clone(),
            has_hidden_maximum: !world.api.release.has_maximum(),
            world,
        }
    }

    /// The state of the cluster after all events so far.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Processes an event and returns the violations that it shows.
    pub fn observe(&mut self, event: Event) -> Vec<Violation> {
        self.rates.record_event(&event);
        match event {
            Event::Changed(change) => {
                let mut violations = Vec::new();
                match &change {
                    Change::CsiDriver(name, Some(stored)) => {
                        violations.extend(self.stored_driver(name, stored));
                    }
                    Change::Api(_) => {
                        self.reads.request_failed();
                        self.pending_refreshes.clear();
                    }
                    Change::Object(key, object) => {
                        self.accept(key.clone(), object.clone());
                        self.deleted_objects.allow_recreation();
                    }
                    Change::Publisher(instance, _) => {
                        self.accept_objects_of(instance);
                        self.ledger.record_restart(instance);
                        self.pending_refreshes.publisher_restarted(instance);
                        self.rates.publisher_restarted(instance);
                    }
                    _ => {}
                }
                self.apply(change);
                violations
            }
            Event::UserRequested(requests) => {
                self.user_requests.replace(requests);
                Vec::new()
            }
            Event::UserRequestRejected(code) => self.user_request_rejected(code).into_iter().collect(),
            Event::InitialObjectsCreated => self.missing_initial_objects(),
            Event::ClientRestarted(client) => {
                self.reads.client_restarted(&client);
                self.unreported_failures.clear();
                Vec::new()
            }
            Event::ApiRequested(request) => self.api_requested(&request).into_iter().collect(),
            Event::EventRecorded(claim) => {
                self.unreported_failures.record_event(&claim);
                Vec::new()
            }
            Event::RequestFailed => {
                self.reads.request_failed();
                self.unreported_failures.clear();
                Vec::new()
            }
            Event::ObjectWritten { by, key, object } => self.object_written(&by, key, object),
            Event::LeaseHeld(client) => {
                self.leaders.lease_held(client);
                Vec::new()
            }
            Event::ObjectDelivered { to, key } => self.object_delivered(&to, &key).into_iter().collect(),
            Event::GetCapacity {
                by,
                driver,
                segment,
                parameters,
                response,
                possible,
                at,
            } => {
                self.record_get_capacity(&by, &parameters, &segment);
                let arguments = (driver.as_str(), segment, parameters);
                self.get_capacity_called(&by, arguments, (response, &possible), at)
            }
            Event::CreateVolume(call) => self.create_volume(call),
            Event::VolumeDeleted { id, by } => {
                let violation = self.volume_deleted(&id, &by);
                self.refresh_after_deletion(&id, &by);
                self.ledger.volume_deleted(&id);
                violation.into_iter().collect()
            }
            Event::NodeSelected { claim, node } => self.check_node_selection(&claim, node),
            Event::ExtenderCalled { extender, pod, nodes } => {
                self.check_extender_call(&extender, &pod, &nodes)
            }
            Event::PodBound { pod, node } => self.check_pod_binding(&pod, node),
            Event::Quiescent => self.check_at_quiescence(),
        }
    }

    /// Whether the event may add or remove a violation at quiescence.
    pub fn may_change_violations(&self, event: &Event) -> bool {
        match event {
            Event::ObjectDelivered { .. }
            | Event::LeaseHeld(_)
            | Event::UserRequested(_)
            | Event::UserRequestRejected(_)
            | Event::InitialObjectsCreated
            | Event::ClientRestarted(_)
            | Event::ApiRequested(_)
            | Event::RequestFailed => false,
            Event::GetCapacity {
                by,
                driver,
                segment,
                parameters,
                response,
                ..
            } => {
                let mut recent = self.responses.recent(driver, parameters, segment);
                self.is_due(by, parameters, segment)
                    || response.is_some_and(|response| !recent.any(|values| *values == response))
            }
            _ => true,
        }
    }

    /// Accepts the current state of a CSIStorageCapacity object: it is no violation until a program has a reason to change the object.
    pub(super) fn accept(&mut self, key: NamespacedName, object: Option<CapacityObject>) {
        match object {
            Some(object) => drop(self.before.insert(key, object)),
            None => drop(self.before.remove(&key)),
        }
    }

    /// Accepts the current state of a publisher's CSIStorageCapacity objects, because the publisher stops or restarts.
    fn accept_objects_of(&mut self, instance: &Instance) {
        let Some(publisher) = self.world.publishers.get(instance) else {
            return;
        };
        let is_other =
            |(key, object): (&NamespacedName, &CapacityObject)| !publisher.owns(instance, key, object);
        self.before.retain(|key, object| is_other((key, object)));
        let own = self.world.objects.iter().filter(|own| !is_other(*own));
        self.before
            .extend(own.map(|(key, object)| (key.clone(), object.clone())));
    }

    pub(super) fn apply(&mut self, change: Change) {
        self.unregistered.record_change(&self.world, &change);
        if let Change::Claim(key, after) = &change
            && let Some(before) = self.world.claims.get(key)
            && after
                .as_ref()
                .is_none_or(|after| after.selected_node != before.selected_node)
        {
            self.ledger.node_changed(before);
        }
        self.deleted_objects.record_change(&change);
        if let Change::Api(api) = &change {
            self.has_hidden_maximum |= !api.release.has_maximum();
        }
        self.former_labels.record_change(&change);
        self.recent.add_change(change.clone());
        self.world.apply(change);
    }

    /// The violations concerning CSIStorageCapacity objects if the cluster is quiescent now.
    pub fn object_violations(&self) -> Vec<Violation> {
        let mut violations = objects::judge_since(
            &self.before,
            &self.world_with_earlier_responses(),
            &self.world.objects,
        );
        self.remove_recently_reported(&mut violations);
        violations.extend(self.missing_failure_events());
        violations.extend(self.missing_refreshes());
        violations
    }

    /// The violations concerning PVCs and volumes if the cluster is quiescent now.
    pub fn volume_violations(&self, backend: &dyn Backend) -> Vec<Violation> {
        volumes::judge(&self.world, &self.ledger, backend)
    }

    /// The cluster state from which the required objects are computed: with the CSIStorageCapacity objects before the actions of programs,
    /// and with the last valid responses of drivers that return errors now.
    pub fn world_before_actions(&self) -> World {
        let mut world = self.world_with_earlier_responses().into_owned();
        world.objects.clone_from(&self.before);
        world
    }

    /// The cluster state with the last valid responses of drivers that return errors now. Borrowed if no driver returns errors.
    fn world_with_earlier_responses(&self) -> Cow<'_, World> {
        if self.world.drivers.values().all(Driver::reports_valid_capacity) {
            return Cow::Borrowed(&self.world);
        }
        let mut world = self.world.clone();
        self.responses.add_to_failing_drivers(&mut world.drivers);
        Cow::Owned(world)
    }

    fn check_at_quiescence(&mut self) -> Vec<Violation> {
        let violations = self.object_violations();
        if self.world.api.version().is_none() && !self.world.publishers.is_empty() {
            // While the API server does not serve CSIStorageCapacity, publishers cannot write the received capacities yet, so no response
            // is dropped.
            return violations;
        }
        self.before.clone_from(&self.world.objects);
        // By now, publishers have written the capacities of recent GetCapacity responses to objects.
        self.responses.clear_recent();
        self.world
            .drivers
            .values_mut()
            .for_each(Driver::drop_earlier_responses);
        self.recent = RecentStates::at_quiescence(&self.world);
        self.unregistered.on_quiescence();
        self.ledger.on_quiescence();
        self.pending_refreshes.on_quiescence();
        self.leaders.on_quiescence();
        self.deleted_objects = DeletedObjects::default();
        violations
    }
}
