//! What a pod says about nodes apart from storage: cordoned nodes, `nodeSelector`, required node affinity.
//!
//! Not looked at, so that nobody relies on it: taints and tolerations (a cordoned node is refused even to pods that
//! tolerate it), resource requests, host ports, volume limits, zones, spreading, affinity between pods.

use std::collections::BTreeSet;

use crate::objects::{Node, Pod};

/// Why a node is refused, in kube-scheduler's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The pod's affinity names other nodes by `metadata.name`.
    NotNamed,
    /// The node is cordoned.
    Cordoned,
    /// Its labels do not match `nodeSelector` or the required affinity.
    LabelsDiffer,
}

impl Unfit {
    /// The reason in kube-scheduler's words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Self::Cordoned => "node(s) were unschedulable",
            Self::LabelsDiffer => "node(s) didn't match Pod's node affinity/selector",
        }
    }
}

/// What a pod says about nodes, prepared once per attempt.
#[derive(Debug)]
pub struct NodeWishes<'a> {
    pod: &'a Pod,
    named: Option<BTreeSet<&'a str>>,
}

impl<'a> NodeWishes<'a> {
    /// Prepares the pod's wishes.
    pub fn of(pod: &'a Pod) -> Self {
        let affinity = pod.affinity.as_ref();
        Self {
            pod,
            named: affinity.and_then(|affinity| affinity.named_nodes()),
        }
    }

    /// Why the node is refused, if it is. The order is upstream's.
    pub fn check(&self, node: &Node) -> Option<Unfit> {
        if self
            .named
            .as_ref()
            .is_some_and(|named| !named.contains(node.name()))
        {
            return Some(Unfit::NotNamed);
        }
        if node.unschedulable {
            return Some(Unfit::Cordoned);
        }
        let selected = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
        let wanted = self.pod.affinity.as_ref();
        let fits = self.pod.node_selector.iter().all(selected)
            && wanted.is_none_or(|affinity| affinity.matches(node.name(), &node.labels));
        (!fits).then_some(Unfit::LabelsDiffer)
    }
}
