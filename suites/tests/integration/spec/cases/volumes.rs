//! Places pods and binds their claims, as the scheduler, the provisioner and the PersistentVolume controller do together.

use std::collections::{BTreeMap, BTreeSet};

use capacity_spec::world::{Claim, NamespacedName, PodVolume, StorageClass, Volume, VolumeBindingMode};
use capacity_types::{ByteConversion, Segment, segment};
use serde_json::{Value, json};
use suites::harness::expectation::{ExpectedNode, Predicate};
use suites::harness::plan::Step;
use suites::harness::scenario::Role;

use super::skip_reason::SkipReason;
use super::walk::CaseSimulation;

pub(crate) const CLAIMS: &str = "persistentvolumeclaims";

impl CaseSimulation<'_> {
    /// Places the pending pods on nodes, as far as the specification determines the node, and creates their volumes.
    pub(crate) async fn place(
        &mut self,
        step: &Step,
        found: BTreeMap<NamespacedName, Result<BTreeSet<String>, SkipReason>>,
    ) {
        if let Some(why) = self.obstacle() {
            self.decided.extend(found.into_keys().map(|pod| (pod, Err(why))));
            return;
        }
        let candidates = found.iter().filter(|(pod, nodes)| {
            nodes.as_ref().is_ok_and(|nodes| !nodes.is_empty()) && self.takes_storage(pod)
        });
        let is_crowded = candidates.count() > 1 && self.plan.roles.contains(&Role::Publisher);
        for (pod, nodes) in found {
            let takes = self.takes_storage(&pod);
            let nodes = if is_crowded && takes {
                nodes.and(Err(SkipReason::Race))
            } else {
                nodes
            };
            if let Ok(nodes) = &nodes {
                let chosen: Vec<&String> = nodes.iter().filter(|node| is_wanted(step, &pod, node)).collect();
                match chosen.as_slice() {
                    [] => {}
                    [node] => {
                        let node = (*node).clone();
                        self.assign_node(&pod, &node).await;
                    }
                    _ if takes => self.mark_undetermined(SkipReason::ChosenNode),
                    [node, ..] => {
                        let node = (*node).clone();
                        self.assign_node(&pod, &node).await;
                    }
                }
            } else if takes {
                self.mark_undetermined(SkipReason::Race);
            }
            self.decided.insert(pod, nodes);
        }
        self.reconcile().await;
    }

    /// Why the specification does not determine the nodes of pending pods; `None` if it determines them.
    fn obstacle(&self) -> Option<SkipReason> {
        let is_stopped = !self.active.contains(&Role::Scheduler);
        let fails = (!self.faults.is_empty()).then_some(SkipReason::Fault);
        self.lost
            .or(self.stuck)
            .or(fails)
            .or(is_stopped.then_some(SkipReason::Stopped))
    }

    /// From now on, skips the expectations on placements, for this reason.
    fn mark_undetermined(&mut self, why: SkipReason) {
        self.stuck.get_or_insert(why);
    }

    fn takes_storage(&self, pod: &NamespacedName) -> bool {
        let volumes = self.cluster.world.pods.get(pod).map(|pod| pod.volumes.as_slice());
        let claims = volumes.unwrap_or_default().iter();
        let mut unbound = claims.filter(|volume| match volume {
            PodVolume::Claim(name) | PodVolume::Ephemeral(name) => {
                let claim = self
                    .cluster
                    .world
                    .claims
                    .get(&NamespacedName::new(&pod.namespace, name));
                claim.is_some_and(|claim| claim.volume.is_empty())
            }
            PodVolume::Inline(_) => false,
        });
        unbound.next().is_some()
    }

    async fn assign_node(&mut self, pod: &NamespacedName, node: &str) {
        let volumes = self.cluster.world.pods[pod].volumes.clone();
        for volume in volumes {
            let (PodVolume::Claim(name) | PodVolume::Ephemeral(name)) = volume else {
                continue;
            };
            let key = NamespacedName::new(&pod.namespace, &name);
            if self.cluster.world.claims[&key].volume.is_empty() {
                self.bind(&key, Some(node)).await;
            }
            if self.cluster.world.claims[&key].volume.is_empty() {
                // The claim has a selected node but no volume yet, so the pod waits.
                return;
            }
        }
        let patch = json!({"spec": {"nodeName": node}});
        self.cluster.merge("pods", &pod.namespace, &pod.name, &patch);
    }

    /// Binds a claim to a matching existing PersistentVolume, or to a new volume of the driver.
    async fn bind(&mut self, key: &NamespacedName, node: Option<&str>) {
        let claim = self.cluster.world.claims[key].clone();
        let world = &self.cluster.world;
        let labels = node
            .and_then(|node| world.nodes.get(node))
            .map(|it| it.labels.clone());
        let fits = |volume: &&Volume| {
            let is_here = node.is_none_or(|node| volume.is_reachable(node, labels.as_ref().unwrap()));
            let is_free = volume.claim.is_none() && volume.is_available;
            let is_for_claim = volume.claim.as_ref().is_some_and(|it| it.claim == *key);
            volume.class == claim.class
                && volume.capacity >= claim.request
                && is_here
                && (is_free || is_for_claim)
        };
        let there = world.volumes.iter().filter(|(_, volume)| fits(volume));
        let there = there
            .min_by_key(|(_, volume)| volume.capacity)
            .map(|(name, _)| name.clone());
        let volume = match there {
            Some(volume) => Some(volume),
            None => self.provision(key, node).await,
        };
        let Some(volume) = volume else { return };
        let reference = json!({"namespace": key.namespace, "name": key.name});
        let taken = json!({"spec": {"claimRef": reference}, "status": {"phase": "Bound"}});
        self.cluster.merge("persistentvolumes", "", &volume, &taken);
        let bound = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume},
        });
        self.cluster.merge(CLAIMS, &key.namespace, &key.name, &bound);
    }

    /// Creates a volume for a claim. In a case without a publisher, the harness creates the volume, without a capacity limit.
    async fn provision(&mut self, key: &NamespacedName, node: Option<&str>) -> Option<String> {
        let claim = self.cluster.world.claims[key].clone();
        let class = self.cluster.world.classes.get(&claim.class)?.clone();
        if !class.can_provision() {
            return None;
        }
        let name = format!("pvc-{}", key.name);
        let reached_from = match self.plan.roles.contains(&Role::Publisher) {
            true => self.created_by_driver(&name, &claim, &class, node).await?,
            false => node.map(|node| segment::parse(&format!("kubernetes.io/hostname={node}")).unwrap()),
        };
        let mut volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "storageClassName": claim.class, "csi": {"driver": class.provisioner},
                "capacity": {"storage": claim.request?.bytes(ByteConversion::Exact).to_string()},
            },
        });
        if let Some(segment) = reached_from {
            let term = |(key, value)| json!({"key": key, "operator": "In", "values": [value]});
            let terms: Vec<Value> = segment.iter().map(term).collect();
            volume["spec"]["nodeAffinity"] =
                json!({"required": {"nodeSelectorTerms": [{"matchExpressions": terms}]}});
        }
        self.cluster.create(&volume);
        Some(name)
    }

    /// Calls CreateVolume, and returns the segment of the volume: outer `None` if the driver rejected the call, inner `None` if the volume
    /// is accessible everywhere.
    async fn created_by_driver(
        &mut self,
        name: &str,
        claim: &Claim,
        class: &StorageClass,
        node: Option<&str>,
    ) -> Option<Option<Segment>> {
        if class.provisioner != self.plan.driver.name || !self.active.contains(&Role::Publisher) {
            self.mark_undetermined(SkipReason::Stopped);
            return None;
        }
        let segment = match node {
            Some(node) => self.cluster.world.segment(&class.provisioner, node),
            None => self.allowed_segment(class),
        };
        let bytes = i64::try_from(claim.request?.bytes(ByteConversion::Exact)).ok()?;
        let parameters = class.driver_parameters();
        match self.plugin.create(name, bytes, segment, parameters).await {
            Some(made) => Some(Some(made.segment).filter(|segment| !segment.is_empty())),
            None => {
                self.stop_comparing(SkipReason::Retries);
                None
            }
        }
    }

    /// The segment to which the StorageClass restricts a volume without a selected node; `None` if it sets no restriction.
    fn allowed_segment(&self, class: &StorageClass) -> Option<Segment> {
        let world = &self.cluster.world;
        let nodes = world.nodes.keys();
        let mut segments = nodes.filter_map(|node| world.segment(&class.provisioner, node));
        let is_restricted = !class.allowed_topologies.is_empty();
        segments.find(|segment| is_restricted && class.allows(segment))
    }

    pub(crate) async fn bind_immediate_claims(&mut self) {
        let world = &self.cluster.world;
        let is_immediate = |class: &String| {
            world
                .classes
                .get(class)
                .is_some_and(|class| class.binding == VolumeBindingMode::Immediate)
        };
        let open = world
            .claims
            .iter()
            .filter(|(_, claim)| claim.volume.is_empty() && is_immediate(&claim.class));
        let open: Vec<NamespacedName> = open.map(|(key, _)| key.clone()).collect();
        for key in open {
            self.bind(&key, None).await;
        }
    }
}

/// Whether the expectations of a step allow the pod to be placed on the node.
fn is_wanted(step: &Step, pod: &NamespacedName, node: &str) -> bool {
    step.expect.iter().all(|expect| match &expect.predicate {
        Predicate::Placement(pods) => match pods.0.get(&pod.name) {
            Some(ExpectedNode::OneOf(nodes)) => nodes.iter().any(|it| it == node),
            _ => true,
        },
        _ => true,
    })
}
