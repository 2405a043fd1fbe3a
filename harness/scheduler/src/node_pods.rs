//! The pods on each node: bound pods, assumed pods (the scheduler has chosen the node, and the binding is not observed yet), and nominated
//! pods.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::objects::{ObjectKey, Pod, Resources};

/// The bound, assumed and nominated pods of all nodes.
#[derive(Clone, Debug, Default)]
pub struct NodePods {
    /// Assigned pods by UID.
    pods: HashMap<String, AssignedPod>,
    /// Pods of a node, by node name.
    nodes: HashMap<String, NodeInfo>,
    /// Pods with required anti-affinity, and their nodes, by UID.
    with_anti_affinity: BTreeMap<String, AssignedPod>,
    /// For each PVC, the number of assigned pods that use it.
    users: HashMap<ObjectKey, usize>,
    /// Pending pods with `status.nominatedNodeName`, by UID.
    nominated: BTreeMap<String, Arc<Pod>>,
}

#[derive(Clone, Debug)]
struct AssignedPod {
    node: String,
    pod: Arc<Pod>,
    /// This scheduler has chosen the node, and no watch event has reported the binding yet.
    assumed: bool,
}

/// The pods on one node.
#[derive(Clone, Debug, Default)]
pub struct NodeInfo {
    /// The sum of the resource requests of the node's pods.
    pub requested: Resources,
    /// The pods on the node, unordered.
    pub pods: Vec<Arc<Pod>>,
}

impl NodeInfo {
    /// Adds a pod to the node.
    pub fn add(&mut self, pod: &Arc<Pod>) {
        self.requested.add(&pod.requests);
        self.pods.push(Arc::clone(pod));
    }

    /// Removes a pod from the node.
    pub fn remove(&mut self, uid: &str) {
        if let Some(at) = self.pods.iter().position(|pod| pod.uid == uid) {
            let pod = self.pods.swap_remove(at);
            self.requested.subtract(&pod.requests);
        }
    }
}

impl NodePods {
    /// The pods on a node; `None` if there are none.
    pub fn node_info(&self, node: &str) -> Option<&NodeInfo> {
        self.nodes.get(node)
    }

    /// All pods with the names of their nodes.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<Pod>)> {
        let nodes = self.nodes.iter();
        nodes.flat_map(|(node, info)| info.pods.iter().map(|pod| (node.as_str(), pod)))
    }

    /// The pods with required anti-affinity and their nodes.
    pub fn with_anti_affinity(&self) -> impl Iterator<Item = (&str, &Arc<Pod>)> {
        let assigned = self.with_anti_affinity.values();
        assigned.map(|assigned| (assigned.node.as_str(), &assigned.pod))
    }

    /// Whether a pod on any node uses the PVC.
    pub fn is_claim_used(&self, claim: &ObjectKey) -> bool {
        self.users.contains_key(claim)
    }

    /// Pods with a nominated node. For pods of the same or lower priority, the filters treat them as running on that node.
    pub fn nominated(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.nominated.values()
    }

    /// Records a pod from a watch event: as assigned to the node in `spec.nodeName`, or as pending.
    pub fn observe(&mut self, pod: &Arc<Pod>) {
        match &pod.node {
            Some(node) => self.put(pod, node, false),
            None => {
                self.remove_unless(&pod.uid, |assigned| assigned.assumed);
                self.nominate(pod);
            }
        }
    }

    /// Records that a node was chosen for the pod, before the pod is bound.
    pub fn assume(&mut self, pod: &Arc<Pod>, node: &str) {
        self.put(pod, node, true);
    }

    /// Removes an assumed pod after binding failed.
    pub fn forget(&mut self, uid: &str) {
        self.remove_unless(uid, |assigned| !assigned.assumed);
    }

    /// Removes a deleted pod.
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
        let assigned = AssignedPod {
            node: node.to_owned(),
            pod: Arc::clone(pod),
            assumed,
        };
        self.nodes.entry(assigned.node.clone()).or_default().add(pod);
        if !pod.anti_affinity.is_empty() {
            self.with_anti_affinity.insert(pod.uid.clone(), assigned.clone());
        }
        for volume in pod.volumes.iter().filter(|volume| !volume.ephemeral) {
            *self.users.entry(volume.claim.clone()).or_default() += 1;
        }
        self.pods.insert(pod.uid.clone(), assigned);
    }

    fn remove_unless(&mut self, uid: &str, keep: impl Fn(&AssignedPod) -> bool) {
        if self.pods.get(uid).is_none_or(keep) {
            return;
        }
        let Some(assigned) = self.pods.remove(uid) else {
            return;
        };
        if let Some(info) = self.nodes.get_mut(&assigned.node) {
            info.remove(uid);
            if info.pods.is_empty() {
                self.nodes.remove(&assigned.node);
            }
        }
        self.with_anti_affinity.remove(uid);
        for volume in assigned.pod.volumes.iter().filter(|volume| !volume.ephemeral) {
            if let Some(users) = self.users.get_mut(&volume.claim) {
                *users -= 1;
                if *users == 0 {
                    self.users.remove(&volume.claim);
                }
            }
        }
    }
}
