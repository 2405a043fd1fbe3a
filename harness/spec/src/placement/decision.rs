//! The decision about a pod over all nodes: feasible nodes with their possible scores, and infeasible nodes with reasons.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{self, Claims, PodRejection};
use super::indexed_world::IndexedWorld;
use super::provision::{self, Provisionable};
use super::reason::Reason;
use super::score::Candidate;
use super::shape::Shape;
use super::{fit, volumes};
use crate::world::{Extender, NamespacedName, Node, Pod, Scoring};

/// On which nodes a pod may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The pod fits on no node, whatever the nodes are.
    Rejected(PodRejection),
    /// The verdict for each node by name.
    Nodes(BTreeMap<String, NodeVerdict>),
}

/// The verdict for one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeVerdict {
    /// The node is feasible, with one of these scores from 0 to 100. There are several if the KEP does not define which of several objects
    /// is scored.
    Feasible(BTreeSet<i64>),
    /// The node is not feasible, for these reasons.
    Infeasible(BTreeSet<Reason>),
}

impl Decision {
    /// The names of the feasible nodes.
    pub fn feasible(&self) -> impl Iterator<Item = &str> {
        self.scores().map(|(name, _)| name)
    }

    /// The feasible nodes, each with its possible scores.
    pub fn scores(&self) -> impl Iterator<Item = (&str, &BTreeSet<i64>)> {
        let nodes = match self {
            Decision::Rejected(_) => None,
            Decision::Nodes(nodes) => Some(nodes),
        };
        nodes
            .into_iter()
            .flatten()
            .filter_map(|(name, verdict)| match verdict {
                NodeVerdict::Feasible(scores) => Some((name.as_str(), scores)),
                NodeVerdict::Infeasible(_) => None,
            })
    }

    /// The nodes that may have the highest score, given that each node has a set of possible scores.
    pub fn best(&self) -> BTreeSet<&str> {
        // The highest score that any node is certain to reach.
        let floor = self.scores().filter_map(|(_, scores)| scores.first()).max();
        let may_be = |scores: &BTreeSet<i64>| scores.last() >= floor;
        let best = self.scores().filter(|(_, scores)| may_be(scores));
        best.map(|(name, _)| name).collect()
    }
}

impl<'w> IndexedWorld<'w> {
    /// Decides for each node whether a pending pod fits on the node, and with which scores.
    pub fn decide(&self, key: &NamespacedName) -> Decision {
        let Some(pod) = self.world.pods.get(key) else {
            return Decision::Rejected(PodRejection::NoPod);
        };
        let claims = match claims::claims_of_pod(self.world, &key.namespace, pod) {
            Ok(claims) => claims,
            Err(rejection) => return Decision::Rejected(rejection),
        };
        let check = NodeCheck::new(self, key, pod, &claims);
        let nodes = self.world.nodes.iter();
        let verdicts = nodes.map(|(name, node)| (name.clone(), check.verdict(name, node)));
        Decision::Nodes(verdicts.collect())
    }
}

/// The inputs for checking the nodes of one pod; they are the same for every node.
struct NodeCheck<'v, 'w> {
    indexed: &'v IndexedWorld<'w>,
    key: &'v NamespacedName,
    pod: &'w Pod,
    claims: &'v Claims<'w>,
    scoring: Scoring,
    shape: Shape,
    /// The nodes on which devices are reserved for the pod. Outer `None`: the pod needs no reservation; inner `None`: nothing is reserved.
    reserved: Option<Option<&'w BTreeSet<String>>>,
}

impl<'v, 'w> NodeCheck<'v, 'w> {
    fn new(
        indexed: &'v IndexedWorld<'w>,
        key: &'v NamespacedName,
        pod: &'w Pod,
        claims: &'v Claims<'w>,
    ) -> Self {
        let scheduler = &indexed.world.scheduler;
        let reservations = indexed.world.reservations.as_ref();
        let reserved = reservations.filter(|it| {
            let drivers = provision::drivers(indexed, &claims.delayed);
            drivers.contains(&it.driver.as_str())
        });
        Self {
            indexed,
            key,
            pod,
            claims,
            scoring: scheduler.scoring_mode(),
            shape: Shape::of(scheduler),
            reserved: reserved.map(|it| it.nodes.get(key)),
        }
    }

    fn verdict(&self, name: &str, node: &'w Node) -> NodeVerdict {
        let mut reasons = fit::infeasibility_reasons(self.pod, name, node);
        reasons.extend(self.volume_limit_reasons(name));
        reasons.extend(self.bound_claim_reasons(name, node));
        reasons.extend(self.extender_reasons(name));
        if let Some(nodes) = self.reserved
            && !nodes.is_some_and(|nodes| nodes.contains(name))
        {
            reasons.push(Reason::NotReserved);
        }
        let mut candidate = Candidate::default();
        reasons.extend(self.delayed_claim_reasons(name, node, &mut candidate));
        match reasons.is_empty() {
            true => NodeVerdict::Feasible(self.scores(name, &candidate)),
            false => NodeVerdict::Infeasible(reasons.into_iter().collect()),
        }
    }

    /// The possible scores of a node: the score by capacity, plus points from extenders.
    fn scores(&self, name: &str, candidate: &Candidate<'_>) -> BTreeSet<i64> {
        let world = self.indexed.world;
        let points: i64 = world.extenders.iter().map(|it| it.extender_points(name)).sum();
        let own = candidate.scores(self.scoring, &self.shape, world.scheduler.kep_text);
        own.into_iter().map(|score| score + points).collect()
    }

    fn extender_reasons(&self, name: &str) -> Vec<Reason> {
        let concerned = self
            .indexed
            .world
            .extenders
            .iter()
            .filter(|it| !it.has_managed_resources);
        let reason = |it: &Extender| match it.fails {
            true => (!it.is_ignorable).then(|| Reason::ExtenderFails(it.name.clone())),
            false => it
                .rejects
                .contains(name)
                .then(|| Reason::Extender(it.name.clone())),
        };
        concerned.filter_map(reason).collect()
    }

    /// Why bound PVCs exclude the node: their volumes are not accessible from it.
    fn bound_claim_reasons(&self, name: &str, node: &Node) -> Vec<Reason> {
        let bound = self.claims.bound.iter().filter_map(|(claim_name, claim)| {
            match self.indexed.world.volumes.get(&claim.volume) {
                None => Some(Reason::VolumeMissing((*claim_name).to_owned())),
                Some(volume) if !volume.is_reachable(name, &node.labels) => {
                    Some(Reason::VolumeElsewhere((*claim_name).to_owned()))
                }
                Some(_) => None,
            }
        });
        bound.collect()
    }

    /// Why unbound PVCs exclude the node: no volume matches, and none can be provisioned.
    fn delayed_claim_reasons(
        &self,
        name: &str,
        node: &'w Node,
        candidate: &mut Candidate<'w>,
    ) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let (mut unbound, mut selected_here) = (Vec::new(), Vec::new());
        for (claim_name, claim) in &self.claims.delayed {
            match &claim.selected_node {
                None => unbound.push((*claim_name, *claim)),
                Some(selected) if selected == name => selected_here.push((*claim_name, *claim)),
                Some(_) => reasons.push(Reason::SelectedElsewhere((*claim_name).to_owned())),
            }
        }
        let matched = volumes::match_volumes(self.indexed, &self.key.namespace, unbound, name, node);
        for ((_, claim), volume) in matched.found {
            candidate.add_volume(claim, volume);
        }
        for named in selected_here.into_iter().chain(matched.unmatched) {
            match provision::check_provisionable(self.indexed, named, node) {
                Ok(Provisionable::WithCapacity(objects)) => candidate.add_claim(named.1, objects),
                Ok(Provisionable::Untracked) => {}
                Err(reason) => reasons.push(reason),
            }
        }
        reasons
    }

    fn volume_limit_reasons(&self, name: &str) -> Vec<Reason> {
        let Some(csi_node) = self.indexed.world.csi_nodes.get(name) else {
            return Vec::new();
        };
        let limited = csi_node.drivers.iter().filter_map(|(driver, registration)| {
            let max = usize::try_from(registration.volumes_max?).ok()?;
            let all = self.claims.bound.iter().chain(&self.claims.delayed);
            let own = all.filter(|(_, claim)| self.indexed.driver_of(claim) == Some(driver.as_str()));
            let own: BTreeSet<&str> = own.map(|(claim_name, _)| *claim_name).collect();
            let used = self.indexed.used(name, driver);
            let other_volumes = used.map_or(0, |used| used.difference(&own).count());
            (!own.is_empty() && other_volumes + own.len() > max)
                .then(|| Reason::TooManyVolumes(driver.clone()))
        });
        limited.collect()
    }
}
