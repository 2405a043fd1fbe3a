//! Converts facts of the journal into events that the specification understands.

use std::time::Duration;

use capacity_spec::always::{Actor, Event, Request};
use capacity_spec::objects::DesiredObjects;
use capacity_spec::placement::IndexedWorld;
use capacity_spec::world::change::ChangeKind;
use capacity_spec::world::{
    Api, CapacityResponse, Change, Driver, NamespacedName, Parameters, Pod, PodVolume,
};
use capacity_types::Segment;
use capacity_types::capacity_api::RESOURCE;

use super::calls::is_same;
use super::{Oracle, orders};
use crate::client_name::HARNESS;
use crate::journal::{
    Change as Committed, CommitFact, DeliveryFact, ExtenderFact, Fact, Observation, RequestFact,
};
use crate::plan::{Action, NAMESPACE, WORKLOADS};
use crate::scenario::Role;

impl<'p> Oracle<'p> {
    /// Converts a journal fact into events of the specification.
    pub(super) fn events(&mut self, fact: &Fact) -> Vec<Event> {
        match &fact.what {
            Observation::StepStarted(mark) => {
                self.next = (mark.step, 0);
                self.deselected.clear();
                // The initial objects are created before the first step.
                let begins = mark.step == 0;
                let at_first = [Event::InitialObjectsCreated, Event::Quiescent];
                let at_first = at_first.into_iter().filter(|_| begins);
                at_first.chain(self.possible_failures()).collect()
            }
            Observation::Action(action) => self.events_of_action_text(&action.text),
            Observation::Request(request) => self.request(request, fact.at_us).into_iter().collect(),
            Observation::Fault(fault) if !fault.is_delay() => {
                self.program_metrics.request_failed();
                vec![Event::RequestFailed]
            }
            Observation::Process(process) => {
                let began = Event::ClientRestarted(process.client.clone());
                let instance = self.programs.instance(&process.client);
                self.program_metrics.program_changed(&process.client, &instance);
                if process.role == Role::Scheduler {
                    self.scheduler_has_no_objects = self.world().api.version().is_none();
                    self.is_scheduler_state_unknown = false;
                }
                let change = self.programs.process(process);
                let changed = change.map_or_else(Vec::new, |change| self.change_events(change));
                std::iter::once(began).chain(changed).collect()
            }
            Observation::Commit(commit) => self.commit(commit),
            Observation::Delivery(delivery) => self.delivery(delivery).into_iter().collect(),
            Observation::Call(call) => self.call(call, fact.at_us),
            Observation::Extender(call) => filter_event(call).into_iter().collect(),
            Observation::Answer(answer) => {
                self.is_harness_calling = false;
                self.unknown_client_call(answer).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Events for an action. Finds the action in the plan by its timeline text, because the journal contains only the text.
    fn events_of_action_text(&mut self, text: &str) -> Vec<Event> {
        let (step, from) = self.next;
        let plan = self.plan;
        let actions = plan.steps.get(step).map(|step| step.actions.as_slice());
        let mut rest = actions.unwrap_or_default().iter().enumerate().skip(from);
        let Some((at, (action, _))) =
            rest.find(|(_, (action, current))| current == text || action.has_old_text(text))
        else {
            // An action that is not in the plan belongs to an injected defect of the driver or the API server.
            return vec![Event::UserRequested(Vec::new())];
        };
        self.next = (step, at + 1);
        let orders = orders::request_of_action(action).into_iter().collect();
        let mut events = vec![Event::UserRequested(orders)];
        events.extend(self.action_events(action));
        events
    }

    fn action_events(&mut self, action: &'p Action) -> Vec<Event> {
        let action = match action {
            Action::Attempt(inner) => inner,
            action => action,
        };
        self.is_harness_calling = matches!(action, Action::CsiCall(_));
        self.storage.apply_action(action);
        if let Action::DriverFault { rule: script, .. } = action {
            self.program_metrics.fault_added(script);
        }
        match self.programs.apply_action(action) {
            Some(change) => self.change_events(change),
            None => self.capacity_changes_and_failures(),
        }
    }

    /// The event for an API request of a program, or for a rejected request of the case.
    fn request(&self, request: &RequestFact, at_us: u64) -> Option<Event> {
        if *request.client == *HARNESS {
            let is_refused = request.resource == RESOURCE && request.code >= 400 && !request.injected;
            return is_refused.then_some(Event::UserRequestRejected(request.code));
        }
        let is_judged = Request::is_judged(request.verb.as_str(), &request.resource)
            && Role::of_client(&request.client).is_some();
        is_judged.then(|| {
            Event::ApiRequested(Request {
                by: self.actor(&request.client),
                client: request.client.clone(),
                verb: request.verb.as_str().to_owned(),
                resource: request.resource.clone(),
                namespace: request.namespace.clone(),
                is_successful: request.code < 300 && !request.injected,
                at: Duration::from_micros(at_us),
            })
        })
    }

    fn capacity_changes_and_failures(&self) -> Vec<Event> {
        let mut events = self.capacity_changes();
        events.extend(self.possible_failures());
        events
    }

    /// Events for GetCapacity calls that may fail. While connections are cut, a call may fail without a fact in the journal, because the
    /// driver never receives it.
    fn possible_failures(&self) -> Vec<Event> {
        let driver = &self.plan.driver.name;
        let expected_calls = match self.storage.loses_answers() {
            true => self.expected_calls(),
            false => Vec::new(),
        };
        let failure_and_recovery = |(segment, parameters): (Segment, Parameters)| {
            let expected = self.storage.get_capacity_result(&segment, &parameters);
            [CapacityResponse::error(), expected].map(|answer| {
                let change =
                    Change::CapacityResponse(driver.clone(), segment.clone(), parameters.clone(), answer);
                Event::Changed(change)
            })
        };
        expected_calls
            .into_iter()
            .flat_map(failure_and_recovery)
            .collect()
    }

    /// Segments and parameters for which running publishers may call GetCapacity.
    fn expected_calls(&self) -> Vec<(Segment, Parameters)> {
        let (world, driver) = (self.world(), &self.plan.driver.name);
        let own = world
            .classes
            .values()
            .filter(|class| class.provisioner == *driver);
        let mut expected_calls = Vec::new();
        for parameters in own.map(|class| class.driver_parameters()) {
            for (instance, publisher) in &world.publishers {
                for segment in DesiredObjects::of(world, instance, publisher).segments() {
                    expected_calls.push((segment.clone(), parameters.clone()));
                }
            }
        }
        expected_calls
    }

    /// Events for a change of the cluster state. Includes changed GetCapacity results if the change affects the expected calls.
    pub(super) fn change_events(&mut self, change: Change) -> Vec<Event> {
        if let Change::Api(api) = &change {
            self.apply_api_change(api);
        }
        let changes_calls = matches!(
            change.kind(),
            ChangeKind::Nodes | ChangeKind::CsiNodes | ChangeKind::Classes | ChangeKind::Settings
        );
        if !changes_calls {
            return vec![Event::Changed(change)];
        }
        // The change must be applied first, because it determines which GetCapacity calls are expected.
        self.monitor.observe(Event::Changed(change));
        self.capacity_changes_and_failures()
    }

    /// Events for GetCapacity results that differ from the results that the specification last received.
    pub(super) fn capacity_changes(&self) -> Vec<Event> {
        let (world, driver) = (self.world(), &self.plan.driver.name);
        let known = world.drivers.get(driver).cloned().unwrap_or_default();
        let mut events = Vec::new();
        if known.get_capacity != self.plan.driver.get_capacity {
            let plugin = Driver {
                get_capacity: self.plan.driver.get_capacity,
                ..known.clone()
            };
            events.push(Event::Changed(Change::Driver(driver.clone(), Some(plugin))));
        }
        for (segment, parameters) in self.expected_calls() {
            let answer = self.storage.get_capacity_result(&segment, &parameters);
            if !is_same(&answer, known.response(&segment, &parameters)) {
                let change = Change::CapacityResponse(driver.clone(), segment, parameters, answer);
                events.push(Event::Changed(change));
            }
        }
        events
    }

    fn apply_api_change(&mut self, api: &Api) {
        let before = &self.world().api;
        let (was_served, had_flag) = (before.version().is_some(), before.release.has_storage_capacity());
        let had_maximum = before.release.has_maximum();
        if was_served && api.version().is_none() {
            self.scheduler_has_no_objects = !self.observed.has_listed(Role::Scheduler, RESOURCE);
            self.lacks_maximum = !had_maximum;
        }
        // The removal of the field `storageCapacity` causes no watch event for CSIDrivers, so the scheduler may still use the cached value.
        let keeps_flag = self.scheduler_has_no_objects && had_flag && !api.release.has_storage_capacity();
        self.is_scheduler_state_unknown = match api.version() {
            Some(_) => false,
            None if was_served => {
                keeps_flag || self.observed.has_undelivered_change(Role::Scheduler, RESOURCE)
            }
            None => keeps_flag || self.is_scheduler_state_unknown,
        };
        self.observed.set_newest_version(api.version());
        if api.release.has_storage_capacity() && !had_flag {
            self.observed.mark_unread("csidrivers");
        }
    }

    fn commit(&mut self, commit: &CommitFact) -> Vec<Event> {
        self.programs.commit(commit);
        match &*commit.resource {
            "events" => return claim_event(commit).into_iter().collect(),
            "leases" => return lease_event(commit).into_iter().collect(),
            _ => {}
        }
        let is_own = commit.namespace.as_deref() == Some(NAMESPACE);
        match change(commit) {
            Some(Change::Object(key, object)) => {
                let by = self.actor(&commit.client);
                let mut events = match (&by, &object) {
                    (Actor::Publisher(instance), Some(object)) => {
                        let changes = self.programs.apply_publisher_write(instance, object).into_iter();
                        changes.flat_map(|change| self.change_events(change)).collect()
                    }
                    _ => Vec::new(),
                };
                events.push(Event::ObjectWritten { by, key, object });
                events
            }
            // Pods in the publisher's namespace are not scheduled, so they are relevant only as owners of objects.
            Some(Change::Pod(..) | Change::Claim(..)) | None if is_own => owner_deleted(commit),
            Some(change) => {
                let mut events = self.decision(commit, &change);
                events.extend(self.change_events(change));
                events.extend(owner_deleted(commit));
                events
            }
            None => owner_deleted(commit),
        }
    }

    fn actor(&self, client: &str) -> Actor {
        match Role::of_client(client) {
            Some(Role::Publisher) => Actor::Publisher(self.programs.instance(client)),
            Some(Role::Cleaner) => Actor::Cleaner,
            Some(Role::Scheduler) => Actor::Scheduler,
            None if client == HARNESS => Actor::User,
            Some(Role::Driver) | None => Actor::Other,
        }
    }

    /// Events for a scheduling decision, if the change of a pod or PVC contains one.
    fn decision(&mut self, commit: &CommitFact, change: &Change) -> Vec<Event> {
        let is_scheduler = Role::of_client(&commit.client) == Some(Role::Scheduler);
        match change {
            Change::Pod(pod, None) => {
                self.allowed.remove(pod);
                Vec::new()
            }
            Change::Pod(pod, Some(after)) if is_scheduler => {
                let before = self.world().pods.get(pod).and_then(|pod| pod.node.clone());
                match &after.node {
                    Some(node) if before.as_ref() != Some(node) => {
                        self.record_allowed_nodes(pod, false);
                        if claims_of(after).next().is_some() {
                            self.program_metrics.pod_bound(&commit.client);
                        }
                        let (pod, node) = (pod.clone(), node.clone());
                        vec![Event::PodBound { pod, node }]
                    }
                    _ => Vec::new(),
                }
            }
            Change::Claim(claim, Some(after)) => {
                let before = self.world().claims.get(claim);
                let before = before.and_then(|claim| claim.selected_node.clone());
                match (&before, &after.selected_node) {
                    (before, Some(node)) if is_scheduler && before.as_ref() != Some(node) => {
                        self.record_allowed_nodes_of_users(claim);
                        let (claim, node) = (claim.clone(), node.clone());
                        vec![Event::NodeSelected { claim, node }]
                    }
                    (Some(_), None) if after.volume.is_empty() => {
                        self.deselected.extend(self.pending_pods_using(claim));
                        Vec::new()
                    }
                    _ => Vec::new(),
                }
            }
            _ => Vec::new(),
        }
    }

    fn pending_pods_using(&self, claim: &NamespacedName) -> Vec<NamespacedName> {
        let pods = self.world().pods.iter();
        let waiting = pods.filter(|(key, pod)| key.namespace == claim.namespace && pod.node.is_none());
        let users = waiting.filter(|(_, pod)| claims_of(pod).any(|name| *name == claim.name));
        users.map(|(key, _)| key.clone()).collect()
    }

    /// Records the allowed nodes of pending pods that use a PVC, when the scheduler selects a node for the PVC.
    fn record_allowed_nodes_of_users(&mut self, claim: &NamespacedName) {
        for pod in self.pending_pods_using(claim) {
            // All unbound PVCs of a pod must get the same node, so later selections do not change the allowed nodes.
            let is_first_selection = !self.has_selected_node(&pod);
            self.record_allowed_nodes(&pod, is_first_selection);
        }
    }

    /// Whether an unbound PVC of the pod has a selected node.
    pub(super) fn has_selected_node(&self, key: &NamespacedName) -> bool {
        let world = self.world();
        let claims = world.pods.get(key).into_iter().flat_map(claims_of);
        let mut claims = claims.filter_map(|name| {
            let name = NamespacedName::new(&key.namespace, name);
            world.claims.get(&name)
        });
        claims.any(|claim| claim.volume.is_empty() && claim.selected_node.is_some())
    }

    /// Records the nodes that the specification currently allows for a pod. `replace`: whether to replace an earlier record.
    fn record_allowed_nodes(&mut self, pod: &NamespacedName, replace: bool) {
        if replace || !self.allowed.contains_key(pod) {
            let decision = IndexedWorld::new(self.world()).decide(pod);
            let best = decision.best().into_iter().map(str::to_owned);
            self.allowed.insert(pod.clone(), best.collect());
        }
    }

    /// The event for the delivery of a CSIStorageCapacity watch event to a publisher.
    fn delivery(&self, delivery: &DeliveryFact) -> Option<Event> {
        let is_publisher = Role::of_client(&delivery.client) == Some(Role::Publisher);
        let is_capacity = &*delivery.resource == RESOURCE;
        (is_publisher && is_capacity).then(|| Event::ObjectDelivered {
            to: self.programs.instance(&delivery.client),
            key: NamespacedName::new(delivery.namespace.as_deref().unwrap_or_default(), &delivery.name),
        })
    }
}

fn claims_of(pod: &Pod) -> impl Iterator<Item = &String> {
    pod.volumes.iter().filter_map(|volume| match volume {
        PodVolume::Claim(name) | PodVolume::Ephemeral(name) => Some(name),
        PodVolume::Inline(_) => None,
    })
}

/// The event for a publisher acquiring or renewing its Lease.
fn lease_event(commit: &CommitFact) -> Option<Event> {
    let holder = commit.object["spec"]["holderIdentity"].as_str();
    let is_held = Role::of_client(&commit.client) == Some(Role::Publisher)
        && holder.is_some_and(|holder| !holder.is_empty());
    is_held.then(|| Event::LeaseHeld(commit.client.clone()))
}

/// Converts a Kubernetes Event about a PVC into an event of the specification.
fn claim_event(commit: &CommitFact) -> Option<Event> {
    let about = [&commit.object["involvedObject"], &commit.object["regarding"]];
    let about = about
        .into_iter()
        .find(|about| about["kind"] == "PersistentVolumeClaim")?;
    let field_text = |field: &str| about[field].as_str().unwrap_or_default();
    Some(Event::EventRecorded(NamespacedName::new(
        field_text("namespace"),
        field_text("name"),
    )))
}

fn filter_event(call: &ExtenderFact) -> Option<Event> {
    (call.verb == "filter").then(|| Event::ExtenderCalled {
        extender: call.extender.clone(),
        pod: NamespacedName::new(WORKLOADS, &call.pod),
        nodes: call.nodes.clone(),
    })
}

/// The event for the deletion of an object that may own other objects.
fn owner_deleted(commit: &CommitFact) -> Vec<Event> {
    let uid = commit.object["metadata"]["uid"].as_str();
    let uid = uid.filter(|_| commit.change == Committed::Deleted);
    let event = uid.map(|uid| Event::Changed(Change::OwnerDeleted(uid.to_owned())));
    event.into_iter().collect()
}

/// Converts an object change to a change of the specification's cluster state. None if the specification does not use the resource.
pub(crate) fn change(commit: &CommitFact) -> Option<Change> {
    let namespace = commit.namespace.as_deref().unwrap_or_default();
    match commit.change {
        Committed::Deleted => Change::of_deletion(&commit.resource, namespace, &commit.name),
        // Parsing cannot fail, because the API server accepts only objects that can be parsed.
        Committed::Added | Committed::Modified => Change::of_object(&commit.resource, &*commit.object)
            .ok()
            .flatten(),
    }
}
