//! Model of the state of a generated cluster, limited to what determines which events are possible next.

use std::collections::{BTreeMap, BTreeSet};

use harness::scenario::Role;
use harness::standalone::{CsiMethod, CsiRuleText};
use serde_json::Value;

use super::cluster::{GeneratedCluster, Node};
use super::event::{
    CAPACITY_KIND, CapacityEvent, ClassEvent, CsiDriverEvent, DeleteEvent, Event, NodeEvent, Pod,
    blocks_driver_calls, is_lasting_fault,
};

/// The feature gate of KEP-1472.
pub(super) const GATE: &str = "CSIStorageCapacity";

pub(super) const VOLUMES: &str = "persistentvolumes";

pub(super) const NAMESPACES: &str = "namespaces";

/// Default minor release of the API server.
pub(super) const USUAL_RELEASE: u8 = 36;

#[derive(Clone, Debug)]
pub(super) struct State {
    pub(super) nodes: BTreeMap<String, Node>,
    /// Names of the nodes on which the driver is registered.
    registered: BTreeSet<String>,
    /// Nodes of which either the Node or the CSINode was deleted.
    partially_deleted: BTreeSet<String>,
    /// Capacity objects written by events, by name.
    pub(super) written: BTreeMap<String, Value>,
    pub(super) classes: BTreeSet<String>,
    /// Whether the CSIDriver object exists.
    pub(super) has_driver: bool,
    /// Existing pods, with the claims that they mount.
    pub(super) pods: BTreeMap<String, BTreeSet<String>>,
    pub(super) claims: BTreeSet<String>,
    pub(super) running: BTreeSet<Role>,
    pub(super) stopped: BTreeSet<Role>,
    /// Programs that exited at start because of their settings.
    exited_at_start: BTreeSet<Role>,
    /// Programs that may have been killed and were not restarted since.
    pub(super) may_be_killed: BTreeSet<Role>,
    /// Active lasting API faults by id, with the role whose program the fault may kill.
    pub(super) faults: BTreeMap<String, Option<Role>>,
    /// Active lasting driver faults by id, and whether the fault keeps programs from becoming idle.
    pub(super) driver_faults: BTreeMap<String, bool>,
    /// Kinds and ids of all faults so far. An id must not be used twice.
    used: BTreeSet<(&'static str, String)>,
    /// Whether the publisher's namespace was deleted. Starting the publisher recreates it.
    is_namespace_deleted: bool,
    pub(super) minor: u8,
    pub(super) gate: Option<bool>,
    /// Whether publishers poll the driver. Without polling, objects may stay outdated after a capacity change that no volume caused, so the
    /// specification demands little.
    polls: bool,
}

impl State {
    /// The state before the first event.
    pub(super) fn of(cluster: &GeneratedCluster) -> Self {
        let nodes = cluster.nodes.iter().map(|node| (node.name.clone(), node.clone()));
        let with_driver = cluster.nodes.iter().filter(|node| node.registered);
        let exited_at_start = programs_exiting_at_start(cluster);
        State {
            nodes: nodes.collect(),
            registered: with_driver.map(|node| node.name.clone()).collect(),
            partially_deleted: BTreeSet::new(),
            written: BTreeMap::new(),
            classes: cluster.classes.iter().map(|class| class.name.clone()).collect(),
            has_driver: cluster.driver.object,
            pods: BTreeMap::new(),
            claims: BTreeSet::new(),
            running: &running(cluster) - &exited_at_start,
            exited_at_start,
            stopped: BTreeSet::new(),
            may_be_killed: BTreeSet::new(),
            faults: BTreeMap::new(),
            driver_faults: BTreeMap::new(),
            used: BTreeSet::new(),
            is_namespace_deleted: false,
            minor: minor(cluster.release.as_ref()),
            gate: cluster.gates.get(GATE).copied(),
            polls: cluster.publisher.polls,
        }
    }

    /// Whether all programs become idle without further events, so that the specification applies.
    pub(super) fn is_idle(&self) -> bool {
        let is_driver_away = self.stopped.contains(&Role::Driver);
        let hangs = self.driver_faults.values().any(|hangs| *hangs);
        self.faults.is_empty() && self.may_be_killed.is_empty() && !is_driver_away && !hangs
    }

    pub(super) fn serves_capacity_objects(&self) -> bool {
        match self.minor {
            ..=18 => false,
            19..=20 => self.gate == Some(true),
            _ => true,
        }
    }

    /// Whether an event is possible in this state of the cluster.
    pub(super) fn admits(&self, event: &Event) -> bool {
        match event {
            Event::Backend(_) | Event::Release(_) | Event::Stop(Role::Driver) if !self.polls => false,
            Event::DriverFault(rule) if !self.polls && rule.method == CsiMethod::GetCapacity.as_str() => {
                false
            }
            Event::Backend(_) | Event::Release(_) => true,
            Event::Node(event) => self.admits_node(event),
            Event::Class(ClassEvent::Create(class)) => !self.classes.contains(&class.name),
            Event::Class(ClassEvent::Delete(name)) => self.classes.contains(name),
            Event::CsiDriver(CsiDriverEvent::Create(_)) => !self.has_driver,
            Event::CsiDriver(_) => self.has_driver,
            Event::Pod(pod) => self.admits_pod(pod),
            Event::Claim(claim) => claim
                .name
                .as_ref()
                .is_some_and(|name| !self.claims.contains(name)),
            Event::Capacity(CapacityEvent::Create(_))
            | Event::Object(_)
            | Event::Merge(_)
            | Event::Replace(_) => self.serves_capacity_objects() && !self.is_namespace_deleted,
            Event::Capacity(_) => true,
            Event::Delete(DeleteEvent::Pod(name)) => self.pods.contains_key(name),
            Event::Delete(DeleteEvent::Claim(name)) => {
                self.claims.contains(name) && !self.pods.values().any(|claims| claims.contains(name))
            }
            Event::Delete(DeleteEvent::Object(node)) if node.is_of_node() => {
                // A publisher on the node would recreate the objects that the cleaner deletes.
                let publisher_would_recreate =
                    self.has_role(Role::Cleaner) && self.running.contains(&Role::Publisher);
                self.registered.contains(&node.name)
                    && !self.partially_deleted.contains(&node.name)
                    && !publisher_would_recreate
            }
            Event::Delete(DeleteEvent::Object(object)) => {
                // The object is the pod of the publisher, an owner of this pod, or the namespace, whose deletion deletes the pod too.
                let is_of_publisher = !matches!(object.resource.as_str(), VOLUMES | "leases");
                !is_of_publisher || self.stopped.contains(&Role::Publisher)
            }
            Event::DriverFault(rule) => rule.id.as_ref().is_none_or(|id| self.is_free("rule", id)),
            Event::RemoveDriverFault(id) => self.driver_faults.contains_key(id),
            Event::Stop(role) => self.running.contains(role),
            Event::Start(Role::Publisher) if !self.is_registered_everywhere() => false,
            Event::Start(role) => self.stopped.contains(role),
            Event::Scheduler(_) => {
                self.running.contains(&Role::Scheduler) || self.exited_at_start.contains(&Role::Scheduler)
            }
            Event::Fault(fault) => {
                fault.id.as_ref().is_none_or(|id| self.is_free("fault", id))
                    && fault.by.is_none_or(|role| self.has_role(role))
            }
            Event::RemoveFault(id) => self.faults.contains_key(id),
        }
    }

    fn admits_node(&self, event: &NodeEvent) -> bool {
        if self.partially_deleted.contains(event.name()) {
            return false;
        }
        match event {
            NodeEvent::Join(node) => !self.nodes.contains_key(&node.name),
            NodeEvent::Leave(name) | NodeEvent::Relabel { name, .. } => self.nodes.contains_key(name),
            // Impossible if the driver is already registered: the topology keys of a registration cannot be changed.
            NodeEvent::Register(name) => self.nodes.contains_key(name) && !self.registered.contains(name),
            NodeEvent::Unregister(name) => {
                let publisher_would_recreate =
                    self.has_role(Role::Cleaner) && self.running.contains(&Role::Publisher);
                self.nodes.contains_key(name) && !publisher_would_recreate
            }
        }
    }

    /// Whether each node with a publisher has the driver registered. Otherwise cleaner and publisher delete and recreate the same objects
    /// forever.
    fn is_registered_everywhere(&self) -> bool {
        let mut with_driver = self.nodes.values().filter(|node| node.registered);
        !self.has_role(Role::Cleaner)
            || self.partially_deleted.is_empty()
                && with_driver.all(|node| self.registered.contains(&node.name))
    }

    fn has_role(&self, role: Role) -> bool {
        self.running.contains(&role) || self.stopped.contains(&role)
    }

    fn admits_pod(&self, pod: &Pod) -> bool {
        let is_known = |name: &String| self.claims.contains(name);
        let mut mounted = pod.claims.iter().filter(|claim| claim.class.is_none());
        let mut created = created_claims(pod);
        !self.pods.contains_key(&pod.name)
            && mounted.all(|claim| claim.name.as_ref().is_some_and(is_known))
            && !created.any(|name| self.claims.contains(&name))
    }

    /// Whether no fault of this kind has had this id so far.
    fn is_free(&self, kind: &'static str, name: &str) -> bool {
        !self.used.contains(&(kind, name.to_owned()))
    }

    fn mark_used(&mut self, kind: &'static str, name: &str) {
        self.used.insert((kind, name.to_owned()));
    }

    /// Updates the state by an event, which must be possible in the state.
    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            Event::Backend(_) | Event::Capacity(_) | Event::Merge(_) | Event::Replace(_) => {}
            Event::Scheduler(settings) => {
                let (from, to) = match settings.exits_at_start() {
                    true => (&mut self.running, &mut self.exited_at_start),
                    false => (&mut self.exited_at_start, &mut self.running),
                };
                from.remove(&Role::Scheduler);
                to.insert(Role::Scheduler);
            }
            Event::Object(object) => {
                let name = object["metadata"]["name"].as_str();
                if let Some(name) = name.filter(|_| object["kind"] == CAPACITY_KIND) {
                    self.written.insert(name.to_owned(), object.clone());
                }
            }
            Event::Node(event) => self.apply_node(event),
            Event::Class(ClassEvent::Create(class)) => drop(self.classes.insert(class.name.clone())),
            Event::Class(ClassEvent::Delete(name)) => drop(self.classes.remove(name)),
            Event::CsiDriver(CsiDriverEvent::Delete) => self.has_driver = false,
            Event::CsiDriver(CsiDriverEvent::Create(_)) => self.has_driver = true,
            Event::CsiDriver(CsiDriverEvent::StorageCapacity(_)) => {}
            Event::Pod(pod) => self.apply_pod(pod),
            Event::Claim(claim) => {
                self.claims.insert(claim.name.clone().unwrap_or_default());
            }
            Event::Delete(DeleteEvent::Pod(name)) => drop(self.pods.remove(name)),
            Event::Delete(DeleteEvent::Claim(name)) => drop(self.claims.remove(name)),
            Event::Delete(DeleteEvent::Object(node)) if node.is_of_node() => {
                self.partially_deleted.insert(node.name.clone());
                self.registered.remove(&node.name);
            }
            Event::Delete(DeleteEvent::Object(object)) => {
                self.is_namespace_deleted |= object.resource == NAMESPACES;
            }
            Event::DriverFault(rule) => self.apply_driver_fault(rule),
            Event::RemoveDriverFault(id) => drop(self.driver_faults.remove(id)),
            Event::Stop(role) => {
                self.running.remove(role);
                self.may_be_killed.remove(role);
                self.stopped.insert(*role);
            }
            Event::Start(role) => {
                self.is_namespace_deleted &= *role != Role::Publisher;
                self.stopped.remove(role);
                self.running.insert(*role);
            }
            Event::Fault(fault) => {
                if let Some(id) = &fault.id {
                    self.mark_used("fault", id);
                    if is_lasting_fault(fault) {
                        let victim = fault.by.filter(|_| fault.kill);
                        self.faults.insert(id.clone(), victim);
                    }
                }
            }
            Event::RemoveFault(id) => drop(self.faults.remove(id)),
            Event::Release(release) => {
                if release.to.is_some() {
                    self.minor = minor(release.to.as_ref());
                }
                self.gate = release.gates.get(GATE).copied();
            }
        }
        let victims = self.faults.values().flatten();
        let alive = victims.filter(|role| self.running.contains(role));
        self.may_be_killed.extend(alive);
    }

    fn apply_node(&mut self, event: &NodeEvent) {
        match event {
            NodeEvent::Join(node) => {
                self.nodes.insert(node.name.clone(), node.clone());
                if node.registered {
                    self.registered.insert(node.name.clone());
                }
            }
            NodeEvent::Leave(name) => {
                self.nodes.remove(name);
                self.registered.remove(name);
            }
            NodeEvent::Relabel { name, labels } => {
                if let Some(node) = self.nodes.get_mut(name) {
                    node.labels.extend(labels.clone());
                }
            }
            NodeEvent::Register(name) => {
                self.registered.insert(name.clone());
            }
            NodeEvent::Unregister(name) => {
                self.registered.remove(name);
            }
        }
    }

    fn apply_pod(&mut self, pod: &Pod) {
        let names = pod.claims.iter().filter_map(|claim| claim.name.clone());
        let mounted: BTreeSet<String> = names.chain(created_claims(pod)).collect();
        self.claims.extend(mounted.iter().cloned());
        self.pods.insert(pod.name.clone(), mounted);
    }

    fn apply_driver_fault(&mut self, rule: &CsiRuleText<String>) {
        let Some(id) = &rule.id else {
            return;
        };
        self.mark_used("rule", id);
        if rule.times.is_none() {
            self.driver_faults.insert(id.clone(), blocks_driver_calls(rule));
        }
    }
}

fn created_claims(pod: &Pod) -> impl Iterator<Item = String> {
    let claims = pod.claims.iter().enumerate();
    let created = claims.filter(|(_, claim)| claim.name.is_none());
    created.map(|(index, _)| format!("{}-{index}", pod.name))
}

/// The programs of the roles, and the driver if a publisher runs.
fn running(cluster: &GeneratedCluster) -> BTreeSet<Role> {
    let has_driver = cluster.roles.contains(&Role::Publisher);
    let driver = has_driver.then_some(Role::Driver);
    cluster.roles.iter().copied().chain(driver).collect()
}

fn programs_exiting_at_start(cluster: &GeneratedCluster) -> BTreeSet<Role> {
    let ends = [
        (Role::Publisher, cluster.publisher.exits_at_start()),
        (Role::Scheduler, cluster.scheduler.exits_at_start()),
    ];
    let ends = ends
        .into_iter()
        .filter(|(role, ends)| *ends && cluster.roles.contains(role));
    ends.map(|(role, _)| role).collect()
}

/// The minor number of a release such as `1.20`.
fn minor(release: Option<&String>) -> u8 {
    let number = release.and_then(|release| release.rsplit('.').next()?.parse().ok());
    number.unwrap_or(USUAL_RELEASE)
}
