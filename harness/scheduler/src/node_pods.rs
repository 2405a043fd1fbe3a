//! The pods on each node: those that run there, and those that were just sent there.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::objects::{ObjectKey, Pod, Resources};

/// The pods of all nodes.
#[derive(Clone, Debug, Default)]
pub struct NodePods {
    /// By the pod's UID.
    pods: HashMap<String, Placed>,
    /// By the node's name.
    nodes: HashMap<String, OnNode>,
    /// Pods that have required anti-affinity, with their nodes, by UID.
    repelling: BTreeMap<String, Placed>,
    /// How many pods on nodes name a claim.
    users: HashMap<ObjectKey, usize>,
    /// Pods that are on no node yet and have `status.nominatedNodeName`, by UID.
    nominated: BTreeMap<String, Arc<Pod>>,
}

/// A pod and its node.
#[derive(Clone, Debug)]
struct Placed {
    node: String,
    pod: Arc<Pod>,
    /// Decided here, and not seen in the cluster yet.
    assumed: bool,
}

/// What is on one node.
#[derive(Clone, Debug, Default)]
pub struct OnNode {
    /// What its pods request together.
    pub requested: Resources,
    /// Its pods, in no particular order.
    pub pods: Vec<Arc<Pod>>,
}

impl OnNode {
    /// Adds a pod.
    pub fn add(&mut self, pod: &Arc<Pod>) {
        self.requested.add(&pod.requests);
        self.pods.push(Arc::clone(pod));
    }

    /// Takes a pod away.
    pub fn remove(&mut self, uid: &str) {
        if let Some(at) = self.pods.iter().position(|pod| pod.uid == uid) {
            let pod = self.pods.swap_remove(at);
            self.requested.subtract(&pod.requests);
        }
    }
}

impl NodePods {
    /// What is on a node, if anything is.
    pub fn on(&self, node: &str) -> Option<&OnNode> {
        self.nodes.get(node)
    }

    /// Every node's pods.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Pod>)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(node, on)| on.pods.iter().map(|pod| (node.as_str(), pod)))
    }

    /// The pods that have required anti-affinity, each with its node.
    pub fn repelling(&self) -> impl Iterator<Item = (&str, &Arc<Pod>)> {
        let placed = self.repelling.values();
        placed.map(|placed| (placed.node.as_str(), &placed.pod))
    }

    /// Whether a pod on some node names the claim.
    pub fn uses(&self, claim: &ObjectKey) -> bool {
        self.users.contains_key(claim)
    }

    /// The pods for which a node is nominated: they are about to get there, and count against pods of no higher priority.
    pub fn nominated(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.nominated.values()
    }

    /// The cluster shows the pod on the node that it names, or on none.
    pub fn see(&mut self, pod: &Arc<Pod>) {
        match &pod.node {
            Some(node) => self.put(pod, node, false),
            None => {
                self.remove_unless(&pod.uid, |placed| placed.assumed);
                self.nominate(pod);
            }
        }
    }

    /// The pod is being sent to a node.
    pub fn assume(&mut self, pod: &Arc<Pod>, node: &str) {
        self.put(pod, node, true);
    }

    /// The pod did not get to the node that it was sent to.
    pub fn forget(&mut self, uid: &str) {
        self.remove_unless(uid, |placed| !placed.assumed);
    }

    /// The pod is gone.
    pub fn remove(&mut self, uid: &str) {
        self.remove_unless(uid, |_| false);
        self.nominated.remove(uid);
    }

    fn nominate(&mut self, pod: &Arc<Pod>) {
        if pod.nominated_node.is_some() && !self.pods.contains_key(&pod.uid) {
            self.nominated.insert(pod.uid.clone(), Arc::clone(pod));
        } else {
            self.nominated.remove(&pod.uid);
        }
    }

    fn put(&mut self, pod: &Arc<Pod>, node: &str, assumed: bool) {
        self.remove(&pod.uid);
        let placed = Placed {
            node: node.to_owned(),
            pod: Arc::clone(pod),
            assumed,
        };
        self.nodes.entry(placed.node.clone()).or_default().add(pod);
        if !pod.anti_affinity.is_empty() {
            self.repelling.insert(pod.uid.clone(), placed.clone());
        }
        for volume in pod.volumes.iter().filter(|volume| !volume.ephemeral) {
            *self.users.entry(volume.claim.clone()).or_default() += 1;
        }
        self.pods.insert(pod.uid.clone(), placed);
    }

    fn remove_unless(&mut self, uid: &str, stays: impl Fn(&Placed) -> bool) {
        if self.pods.get(uid).is_none_or(stays) {
            return;
        }
        let Some(placed) = self.pods.remove(uid) else {
            return;
        };
        if let Some(on) = self.nodes.get_mut(&placed.node) {
            on.remove(uid);
            if on.pods.is_empty() {
                self.nodes.remove(&placed.node);
            }
        }
        self.repelling.remove(uid);
        for volume in placed.pod.volumes.iter().filter(|volume| !volume.ephemeral) {
            if let Some(users) = self.users.get_mut(&volume.claim) {
                *users -= 1;
                if *users == 0 {
                    self.users.remove(&volume.claim);
                }
            }
        }
    }
}
