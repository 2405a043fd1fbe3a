//! The resources that pods take on each node: pods that run there, and pods that were just sent there.
//!
//! Knows amounts, not limits; [`crate::node_fit`] says whether a pod still fits.

use std::collections::HashMap;

use crate::objects::{Pod, Resources};

/// What is taken on the nodes.
#[derive(Clone, Debug, Default)]
pub struct Usage {
    /// By the pod's UID.
    pods: HashMap<String, Share>,
    /// By the node's name.
    nodes: HashMap<String, Resources>,
}

/// What one pod takes.
#[derive(Clone, Debug)]
struct Share {
    node: String,
    resources: Resources,
    /// Decided here, and not seen in the cluster yet.
    assumed: bool,
}

impl Usage {
    /// What is taken on a node.
    pub fn on(&self, node: &str) -> Resources {
        self.nodes.get(node).copied().unwrap_or_default()
    }

    /// The cluster shows the pod on the node that it names, or on none.
    pub fn see(&mut self, pod: &Pod) {
        match &pod.node {
            Some(node) => self.put(pod, node, false),
            None => self.remove_unless(&pod.uid, |share| share.assumed),
        }
    }

    /// The pod is being sent to a node.
    pub fn assume(&mut self, pod: &Pod, node: &str) {
        self.put(pod, node, true);
    }

    /// The pod did not get to the node that it was sent to.
    pub fn forget(&mut self, uid: &str) {
        self.remove_unless(uid, |share| !share.assumed);
    }

    /// The pod is gone.
    pub fn remove(&mut self, uid: &str) {
        self.remove_unless(uid, |_| false);
    }

    fn put(&mut self, pod: &Pod, node: &str, assumed: bool) {
        self.remove(&pod.uid);
        let share = Share {
            node: node.to_owned(),
            resources: pod.requests,
            assumed,
        };
        let taken = self.nodes.entry(share.node.clone()).or_default();
        *taken = taken.plus(share.resources);
        self.pods.insert(pod.uid.clone(), share);
    }

    fn remove_unless(&mut self, uid: &str, stays: impl Fn(&Share) -> bool) {
        if self.pods.get(uid).is_none_or(stays) {
            return;
        }
        let Some(share) = self.pods.remove(uid) else {
            return;
        };
        if let Some(taken) = self.nodes.get_mut(&share.node) {
            *taken = taken.minus(share.resources);
            if *taken == Resources::default() {
                self.nodes.remove(&share.node);
            }
        }
    }
}
