//! Follows which programs of a case run, and converts the settings of programs to types of the specification.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capacity_spec::world::{
    CapacityObject, Change, Cleaner, Deployment, Extender, Instance, Owner, Publisher, Release, Scheduler,
    ShapePoint,
};
use capacity_types::{MANAGED_BY_LABEL, Segment};

use super::owners::Owners;
use crate::journal::{CommitFact, ProcessEvent, ProcessFact};
use crate::plan::{Action, NAMESPACE, Plan, api};
use crate::scenario::{self, ExtenderSpec, Role, SchedulerSpec};

/// The programs of a case after the facts processed so far.
pub(super) struct Programs<'p> {
    plan: &'p Plan,
    /// Client name and role of each running program.
    running: BTreeMap<Arc<str>, Role>,
    /// Nodes with a driver instance, and the topology segment that NodeGetInfo returns there.
    plugins: BTreeMap<String, Segment>,
    /// Nodes whose publisher gets its segment from NodeGetInfo. Other publishers read the segment from CSINode and Node.
    calls_node_info: BTreeSet<String>,
    owners: Owners,
    /// The managed-by label in the first write of each publisher.
    labels: BTreeMap<Instance, String>,
}

impl<'p> Programs<'p> {
    /// The state before any program runs.
    pub(super) fn of(plan: &'p Plan) -> Self {
        Programs {
            plan,
            running: BTreeMap::new(),
            plugins: plan.driver_nodes.iter().cloned().collect(),
            calls_node_info: BTreeSet::new(),
            owners: Owners::default(),
            labels: BTreeMap::new(),
        }
    }

    /// The changes that set the extenders and the initial settings of API server and scheduler.
    pub(super) fn initial_changes(&self) -> [Change; 3] {
        let gates = &self.plan.gates;
        let extenders = self.plan.extenders.iter();
        [
            Change::Extenders(extenders.map(extender).collect()),
            Change::Api(api(self.plan.release, gates)),
            Change::Scheduler(scheduler(&self.plan.scheduler)),
        ]
    }

    pub(super) fn runs(&self, role: Role) -> bool {
        self.running.values().any(|running| *running == role)
    }

    pub(super) fn instance(&self, client: &str) -> Instance {
        // For a central publisher, the suffix of the client name is a replica number.
        let node = client.split_once('@').map(|(_, node)| node.to_owned());
        self.instance_on(node.as_deref())
    }

    /// The publisher instance on a node; None: the central publisher.
    pub(super) fn instance_on(&self, node: Option<&str>) -> Instance {
        let node = node.filter(|_| self.plan.is_distributed());
        Instance {
            driver: self.plan.driver.name.clone(),
            node: node.map(str::to_owned),
        }
    }

    /// Processes an action of the harness. Returns the changed settings of scheduler or API server, if any.
    pub(super) fn apply_action(&mut self, action: &Action) -> Option<Change> {
        match action {
            Action::DriverUp(node, segment) => drop(self.plugins.insert(node.clone(), segment.clone())),
            Action::DriverDown(node) => drop(self.plugins.remove(node)),
            Action::RestartScheduler(spec) => return Some(Change::Scheduler(scheduler(spec))),
            Action::Release(release, gates) => return Some(Change::Api(api(*release, gates))),
            _ => {}
        }
        None
    }

    /// Processes a NodeGetInfo call on a node. Returns the changed settings of the node's publisher, if any.
    pub(super) fn apply_node_get_info(&mut self, node: &str) -> Option<Change> {
        if !self.calls_node_info.insert(node.to_owned()) {
            return None;
        }
        let instance = self.instance_on(Some(node));
        let publisher = self.running_publisher(&instance)?;
        Some(Change::Publisher(instance, Some(publisher)))
    }

    /// Processes the start or end of a program. Returns the changed settings of publisher or cleaner, if any.
    pub(super) fn process(&mut self, process: &ProcessFact) -> Option<Change> {
        match process.event {
            ProcessEvent::Started => self.running.insert(process.client.clone(), process.role),
            _ => self.running.remove(&process.client),
        };
        match process.role {
            Role::Publisher => {
                let instance = self.instance(&process.client);
                let publisher = self.running_publisher(&instance);
                Some(Change::Publisher(instance, publisher))
            }
            Role::Cleaner => Some(Change::Cleaner(self.cleaner())),
            Role::Scheduler | Role::Driver => None,
        }
    }

    /// Processes an object change. The object may be an owner of CSIStorageCapacity objects.
    pub(super) fn commit(&mut self, commit: &CommitFact) {
        self.owners.commit(commit);
    }

    /// Processes a write of a publisher. Stores the managed-by label if the KEP does not prescribe its value, because later writes must
    /// have the same value.
    pub(super) fn apply_publisher_write(
        &mut self,
        instance: &Instance,
        object: &CapacityObject,
    ) -> Vec<Change> {
        let is_open = self.settings(instance).managed_by(instance).is_none();
        let Some(label) = object.labels.get(MANAGED_BY_LABEL).filter(|_| is_open) else {
            return Vec::new();
        };
        self.labels.insert(instance.clone(), label.clone());
        // A publisher that wrote an object was running, even if it was killed during the write.
        let wrote = Some(self.settings(instance));
        vec![
            Change::Publisher(instance.clone(), wrote),
            Change::Publisher(instance.clone(), self.running_publisher(instance)),
            Change::Cleaner(self.cleaner()),
        ]
    }

    /// Settings of the cleaner. None if no cleaner runs.
    fn cleaner(&self) -> Option<Cleaner> {
        let labels = self.labels.iter();
        let nodes = labels.filter_map(|(instance, label)| Some((label.clone(), instance.node.clone()?)));
        self.runs(Role::Cleaner).then(|| Cleaner {
            driver: self.plan.driver.name.clone(),
            namespace: NAMESPACE.to_owned(),
            waiting: BTreeSet::new(),
            labels: nodes.collect(),
        })
    }

    /// Settings of a publisher. None if the publisher does not run.
    fn running_publisher(&self, instance: &Instance) -> Option<Publisher> {
        let mut publishers = self.running.iter().filter(|(_, role)| **role == Role::Publisher);
        let runs = publishers.any(|(client, _)| self.instance(client) == *instance);
        runs.then(|| self.settings(instance))
    }

    /// Settings of a publisher, whether it runs or not.
    pub(super) fn settings(&self, instance: &Instance) -> Publisher {
        let spec = &self.plan.publisher;
        let deployment = match &instance.node {
            None => Deployment::Central,
            Some(node) if self.calls_node_info.contains(node) => {
                Deployment::Distributed(self.plugins.get(node).cloned().unwrap_or_default())
            }
            Some(_) => Deployment::OfNode,
        };
        Publisher {
            namespace: NAMESPACE.to_owned(),
            deployment,
            publishes: spec.publish,
            immediate: spec.immediate,
            has_namespace: spec.namespace,
            polls: spec.polls,
            strict_topology: spec.strict_topology,
            deletes_unknown_capacity: spec.delete_unknown_capacity,
            zero_capacity_objects: spec.zero_capacity_objects,
            owner: self.owner(instance),
            owner_level: spec.owner_level,
            get_capacity_qps: spec.get_capacity_qps,
            uses_leader_election: spec.replicas.is_some(),
            identifies_by_owner: spec.identify_by_owner,
            observed_label: self.labels.get(instance).cloned(),
        }
    }

    fn owner(&self, instance: &Instance) -> Option<Owner> {
        let hops = self.plan.publisher.owner_level?;
        self.owners.owner_above_pod(instance.node.as_deref(), hops)
    }
}

fn scheduler(spec: &SchedulerSpec) -> Scheduler {
    let point = |point: &scenario::ShapePoint| ShapePoint {
        utilization: point.utilization.into(),
        score: point.score.into(),
    };
    let shape = spec.shape.as_ref();
    let release = spec.release.map(|release| Release::new(release.minor()));
    Scheduler {
        release: release.unwrap_or(Release::DEFAULT),
        capacity_gate: spec.capacity_gate,
        scoring: spec.scoring,
        volume_capacity_priority: spec.volume_capacity_priority,
        shape: shape.map(|points| points.iter().map(point).collect()),
        kep_text: spec.kep4049_sum,
    }
}

fn extender(spec: &ExtenderSpec) -> Extender {
    Extender {
        name: spec.name.clone(),
        has_managed_resources: spec.resource.is_some(),
        rejects: spec.refuses.keys().cloned().collect(),
        scores: spec.prefers.clone(),
        weight: spec.weight,
        fails: spec.fails,
        is_ignorable: spec.ignorable,
    }
}
