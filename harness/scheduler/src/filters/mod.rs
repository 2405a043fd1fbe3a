//! Whether pod and node fit each other apart from storage: names, cordons, taints, labels, and
//! processor, memory and number of pods.
//!
//! Not looked at: host ports, volume limits, zones of volumes, spreading, affinity between
//! pods, preferences of any kind. No pod is preempted.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::objects::{Node, Pod, Taint};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// The taint that a cordon amounts to.
const CORDON: &str = "node.kubernetes.io/unschedulable";

/// Why a node is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The pod's affinity names other nodes by `metadata.name`.
    NotNamed,
    /// The node is cordoned.
    Cordoned,
    /// The pod does not tolerate this taint.
    Tainted(Taint),
    /// Its labels do not match `nodeSelector` or the required affinity.
    LabelsDiffer,
    /// It has too little left of these, in the order in which they are reported.
    Full(Vec<Short>),
}

/// A resource of which too little is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Short {
    /// The number of pods.
    Pods,
    /// Processor time.
    Cpu,
    /// Memory.
    Memory,
}

impl Unfit {
    /// The reasons in kube-scheduler's words.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        match self {
            Self::NotNamed => vec!["node(s) didn't satisfy plugin(s) [NodeAffinity]".into()],
            Self::Cordoned => vec!["node(s) were unschedulable".into()],
            Self::Tainted(taint) => vec![rules.taint_words.reason(taint)],
            Self::LabelsDiffer => vec!["node(s) didn't match Pod's node affinity/selector".into()],
            Self::Full(short) => short.iter().map(|short| short.reason().into()).collect(),
        }
    }
}

impl Short {
    fn reason(self) -> &'static str {
        match self {
            Self::Pods => "Too many pods",
            Self::Cpu => "Insufficient cpu",
            Self::Memory => "Insufficient memory",
        }
    }
}

/// The conditions of a pod on nodes, prepared once per attempt.
#[derive(Debug)]
pub struct NodeConditions<'a> {
    snapshot: &'a Snapshot,
    pod: &'a Pod,
    named: Option<BTreeSet<&'a str>>,
}

impl<'a> NodeConditions<'a> {
    /// Prepares the pod's conditions.
    pub fn of(snapshot: &'a Snapshot, pod: &'a Pod) -> Self {
        let affinity = pod.affinity.as_ref();
        Self {
            snapshot,
            pod,
            named: affinity.and_then(|affinity| affinity.named_nodes()),
        }
    }

    /// Why the node is refused, if it is. The order is upstream's.
    pub fn check(&self, node: &Node) -> Option<Unfit> {
        let unnamed = |named: &BTreeSet<&str>| !named.contains(node.name());
        if self.named.as_ref().is_some_and(unnamed) {
            return Some(Unfit::NotNamed);
        }
        if node.unschedulable && !Taint::no_schedule(CORDON).is_tolerated(&self.pod.tolerations) {
            return Some(Unfit::Cordoned);
        }
        let mut taints = node.taints.iter();
        if let Some(taint) = taints.find(|taint| !taint.is_tolerated(&self.pod.tolerations)) {
            return Some(Unfit::Tainted(taint.clone()));
        }
        let selected = |(key, value): (&String, &String)| node.labels.get(key) == Some(value);
        let wanted = self.pod.affinity.as_ref();
        let fits = self.pod.node_selector.iter().all(selected)
            && wanted.is_none_or(|affinity| affinity.matches(node.name(), &node.labels));
        if !fits {
            return Some(Unfit::LabelsDiffer);
        }
        let short = self.short(node);
        (!short.is_empty()).then_some(Unfit::Full(short))
    }

    /// What the node has too little of. A node without `status.allocatable` has no limits.
    fn short(&self, node: &Node) -> Vec<Short> {
        let Some(all) = node.allocatable else {
            return Vec::new();
        };
        let left = all.minus(self.snapshot.usage.on(node.name()));
        let requests = self.pod.requests;
        // A request of nothing always fits, even on a node that is overcommitted.
        let resources = [
            (Short::Pods, requests.pods, left.pods),
            (Short::Cpu, requests.cpu_milli, left.cpu_milli),
            (Short::Memory, requests.memory, left.memory),
        ];
        let short = resources
            .into_iter()
            .filter(|(_, requested, left)| *requested > 0 && requested > left);
        short.map(|(short, ..)| short).collect()
    }
}
