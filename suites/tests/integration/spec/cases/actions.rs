//! Applies the actions of a step, and the reactions of publishers and cleaner, to the simulated cluster.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::objects::settled;
use capacity_spec::world::{
    Cleaner, Deployment, Instance, NamespacedName, Owner, PodVolume, Publisher, Release, Scheduler,
    ShapePoint,
};
use capacity_types::Segment;
use serde_json::{Value, json};
use suites::harness::plan::{Action, CsiCallKind, NAMESPACE};
use suites::harness::scenario::{self, Role, SchedulerSpec};

use super::skip_reason::SkipReason;
use super::volumes::CLAIMS;
use super::walk::CaseSimulation;

impl CaseSimulation<'_> {
    pub(crate) async fn apply_action(&mut self, action: &Action) {
        match action {
            Action::SetPool(segment, storage) => self.plugin.set_pool(segment, storage.as_ref()),
            Action::Create(object) => self.create(object),
            Action::Merge(target, patch) => {
                for (resource, namespace, name) in self.cluster.targets(self.plan, target) {
                    if resource == CLAIMS && !patch["spec"]["resources"].is_null() {
                        self.stop_comparing(SkipReason::VolumeExpansion);
                    }
                    self.cluster.merge(&resource, &namespace, &name, patch);
                }
            }
            Action::Delete(target) => {
                for (resource, namespace, name) in self.cluster.targets(self.plan, target) {
                    self.delete(&resource, &namespace, &name).await;
                }
            }
            Action::DriverUp(node, segment) => drop(self.endpoints.insert(node.clone(), segment.clone())),
            Action::DriverDown(node) => {
                if self.plan.is_distributed() && self.plan.publisher.owner_level == Some(0) {
                    self.stop_comparing(SkipReason::OwnerDeleted);
                }
                self.endpoints.remove(node);
            }
            Action::Registration(node, keys) => {
                let driver = &self.plan.driver.name;
                let drivers = keys.as_ref().map_or_else(
                    || json!([]),
                    |keys| json!([{"name": driver, "nodeID": node, "topologyKeys": keys}]),
                );
                let patch = json!({"spec": {"drivers": drivers}});
                self.cluster.merge("csinodes", "", node, &patch);
            }
            Action::DriverFault { id, rule } => self.plugin.add_rule(id.as_ref(), rule),
            Action::RemoveDriverFault(name) => self.plugin.remove_rule(name),
            Action::CsiCall(call) => {
                if matches!(call.kind, CsiCallKind::Create { .. } | CsiCallKind::Delete(_)) {
                    self.stop_comparing(SkipReason::HarnessVolumes);
                }
            }
            Action::Mount(_) | Action::Discover(_) => {}
            Action::Reserve(_) | Action::Unreserve(_) => self.stop_comparing(SkipReason::Extender),
            Action::Stop(Role::Driver) => self.plugin.is_down = true,
            Action::Start(Role::Driver) => self.plugin.is_down = false,
            Action::Stop(role) => drop(self.active.remove(role)),
            Action::Start(role) => drop(self.active.insert(*role)),
            Action::RestartScheduler(spec) => self.cluster.world.scheduler = scheduler(spec),
            Action::RestartPublisher(_) => self.stop_comparing(SkipReason::Settings),
            Action::Fault { id, rule, kills } => {
                if *kills {
                    self.stop_comparing(SkipReason::Killed);
                }
                if rule.times.is_none() {
                    self.faults.insert(id.clone());
                }
            }
            Action::RemoveFault(id) => drop(self.faults.remove(id)),
            Action::Replace(_) | Action::Apply(_) | Action::Release(..) | Action::Attempt(_) => {
                self.stop_comparing(SkipReason::ServerChange);
            }
        }
    }

    fn create(&mut self, object: &Value) {
        if !object["spec"]["dataSource"].is_null() {
            self.stop_comparing(SkipReason::HarnessVolumes);
        }
        self.cluster.create(object);
    }

    async fn delete(&mut self, resource: &str, namespace: &str, name: &str) {
        if namespace == NAMESPACE && resource != "csistoragecapacities" {
            self.stop_comparing(SkipReason::OwnerDeleted);
        }
        let key = NamespacedName::new(namespace, name);
        if resource == "pods" {
            self.decided.remove(&key);
            let ephemeral = self.cluster.world.pods.get(&key).map(|pod| pod.volumes.clone());
            for volume in ephemeral.into_iter().flatten() {
                if let PodVolume::Ephemeral(claim) = volume {
                    self.delete_claim(namespace, &claim).await;
                }
            }
        }
        if resource == CLAIMS {
            self.delete_claim(namespace, name).await;
        }
        self.cluster.remove(resource, namespace, name);
    }

    async fn delete_claim(&mut self, namespace: &str, name: &str) {
        let key = NamespacedName::new(namespace, name);
        let volume = self
            .cluster
            .world
            .claims
            .get(&key)
            .map(|claim| claim.volume.clone());
        if let Some(volume) = volume.filter(|volume| !volume.is_empty()) {
            self.plugin.delete(&volume).await;
            self.cluster.remove("persistentvolumes", "", &volume);
        }
        self.cluster.remove(CLAIMS, namespace, name);
    }

    pub(crate) fn stop_comparing(&mut self, why: SkipReason) {
        self.lost.get_or_insert(why);
    }

    /// Updates which publishers and cleaner run in the cluster state of the specification.
    pub(crate) fn update_programs(&mut self) {
        let spec = &self.plan.publisher;
        let owner = spec.owner_level.map(|_| Owner {
            kind: "Owner".to_owned(),
            name: "publisher".to_owned(),
            uid: "publisher".to_owned(),
            controller: true,
        });
        let publisher = |deployment| Publisher {
            namespace: NAMESPACE.to_owned(),
            deployment,
            publishes: spec.publish,
            immediate: spec.immediate,
            has_namespace: spec.namespace,
            polls: spec.polls,
            strict_topology: spec.strict_topology,
            deletes_unknown_capacity: spec.delete_unknown_capacity,
            zero_capacity_objects: spec.zero_capacity_objects,
            owner: owner.clone(),
            owner_level: spec.owner_level,
            get_capacity_qps: spec.get_capacity_qps,
            uses_leader_election: spec.replicas.is_some(),
            identifies_by_owner: spec.identify_by_owner,
            observed_label: None,
        };
        let instance = |node: Option<&String>| Instance {
            driver: self.plan.driver.name.clone(),
            node: node.cloned(),
        };
        let of_node = |(node, segment): (&String, &Segment)| {
            let mut publisher = publisher(Deployment::Distributed(segment.clone()));
            // If the node name is too long for a label value, the specification allows every unique value.
            let end = node.len().saturating_sub(40);
            publisher.observed_label = Some(format!("external-provisioner-{}", &node[end..]));
            (instance(Some(node)), publisher)
        };
        let all: BTreeMap<Instance, Publisher> = match self.plan.is_distributed() {
            _ if !self.active.contains(&Role::Publisher) => BTreeMap::new(),
            true => self.endpoints.iter().map(of_node).collect(),
            false => [(instance(None), publisher(Deployment::Central))].into(),
        };
        self.cluster.world.publishers = all;
        let cleaner = self.active.contains(&Role::Cleaner).then(|| Cleaner {
            driver: self.plan.driver.name.clone(),
            namespace: NAMESPACE.to_owned(),
            waiting: BTreeSet::new(),
            labels: BTreeMap::new(),
        });
        self.cluster.world.cleaner = cleaner;
    }

    /// Calls GetCapacity for every segment and class, and stores the responses in the state of the specification.
    pub(crate) async fn call_plugin(&mut self) {
        let world = &self.cluster.world;
        let mut segments: BTreeSet<Segment> = self.endpoints.values().cloned().collect();
        for (name, csi_node) in &world.csi_nodes {
            let registration = csi_node.drivers.get(&self.plan.driver.name);
            let labels = world.nodes.get(name).map(|node| &node.labels);
            segments.extend(
                registration
                    .zip(labels)
                    .and_then(|(it, labels)| it.segment(labels)),
            );
        }
        let classes = world.classes.values();
        let parameters = classes.map(|class| class.driver_parameters()).collect();
        let name = &self.plan.driver.name;
        let answers = self
            .plugin
            .call_get_capacity(&segments, &parameters, world.drivers.get(name))
            .await;
        self.cluster.world.drivers.insert(name.clone(), answers);
    }

    /// Lets publishers and cleaner react to the actions of the step, unless a fault prevents the reaction.
    pub(crate) async fn reconcile(&mut self) {
        self.call_plugin().await;
        if self.faults.is_empty() && self.stuck.is_none() && self.lost.is_none() {
            self.cluster.world.objects = settled(&self.cluster.world);
        }
    }
}

pub(crate) fn scheduler(spec: &SchedulerSpec) -> Scheduler {
    let point = |point: &scenario::ShapePoint| ShapePoint {
        utilization: point.utilization.into(),
        score: point.score.into(),
    };
    let shape = spec.shape.as_ref();
    Scheduler {
        release: spec
            .release
            .map_or(Release::DEFAULT, |release| Release::new(release.minor())),
        capacity_gate: spec.capacity_gate,
        scoring: spec.scoring,
        volume_capacity_priority: spec.volume_capacity_priority,
        shape: shape.map(|points| points.iter().map(point).collect()),
        kep_text: spec.kep4049_sum,
    }
}
