//! The `placement` expectation: on which node each pod runs.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::chain::{Chain, Window};
use super::kind::{Expectation, Names};
use super::rows::{DiffRow, RowState, Subject};
use crate::cluster_state::ClusterState;
use crate::plan::{Case, WORKLOADS};
use crate::scenario::{FromShort, Short};

/// Expected nodes, by pod name.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(from = "BTreeMap<String, Short<ExpectedNode>>")]
pub struct Placement(pub BTreeMap<String, ExpectedNode>);

impl From<BTreeMap<String, Short<ExpectedNode>>> for Placement {
    fn from(pods: BTreeMap<String, Short<ExpectedNode>>) -> Self {
        Placement(pods.into_iter().map(|(pod, want)| (pod, want.0)).collect())
    }
}

/// The node on which a pod is expected.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Nodes")]
pub enum ExpectedNode {
    /// The pod runs on one of these nodes.
    OneOf(Vec<String>),
    /// The pod runs on any node.
    Any,
    /// The scheduler has rejected the pod, and the pod has no node.
    Unschedulable,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nodes {
    nodes: Vec<String>,
}

impl From<Nodes> for ExpectedNode {
    fn from(Nodes { nodes }: Nodes) -> Self {
        match nodes.is_empty() {
            true => ExpectedNode::Unschedulable,
            false => ExpectedNode::OneOf(nodes),
        }
    }
}

impl FromShort for ExpectedNode {
    const EXPECTING: &'static str = "a node name, a list of node names, `any`, or `none`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(match text {
            "any" => ExpectedNode::Any,
            "none" => ExpectedNode::Unschedulable,
            node => ExpectedNode::OneOf(vec![node.to_owned()]),
        })
    }

    fn from_list(nodes: Vec<String>) -> Result<Self, String> {
        Ok(Nodes { nodes }.into())
    }
}

impl ExpectedNode {
    /// Whether the expectation is satisfied if the pod runs on this node.
    pub fn allows(&self, node: &str) -> bool {
        match self {
            ExpectedNode::OneOf(nodes) => nodes.iter().any(|wanted| wanted == node),
            ExpectedNode::Any => true,
            ExpectedNode::Unschedulable => false,
        }
    }
}

impl Placement {
    pub(super) const EXAMPLE: &str = "placement: {POD: NODE}";
    pub(super) const HOLDS: &str = "the pod is bound to this node, to one of a list `[n1, n2]`, or to `any` node. With `none`, the pod is \
        unschedulable and stays Pending. `none` also holds if the volume could not be created: to test the filter, add `refusal` or \
        `never: {call: CreateVolume}`";
}

impl Expectation for Placement {
    fn resolve(&mut self, names: &dyn Names, always: bool) -> Result<(), String> {
        for (pod, want) in &self.0 {
            names.check_pod(pod)?;
            if let ExpectedNode::OneOf(nodes) = want {
                nodes.iter().try_for_each(|node| names.check_node(node))?;
            }
        }
        match self.0.keys().find(|pod| always && names.creates_pod(pod)) {
            Some(pod) => Err(format!(
                "`always` applies from the end of the step's actions, when no scheduler has decided about the new pod `{pod}`; \
                 create the pod in an earlier step, or write `stays`"
            )),
            None => Ok(()),
        }
    }

    fn is_negative(&self, _: bool) -> bool {
        self.0.values().any(|want| *want == ExpectedNode::Unschedulable)
    }

    fn negative_pods(&self, _: &ClusterState) -> Option<Vec<String>> {
        let refused = self
            .0
            .iter()
            .filter(|(_, want)| **want == ExpectedNode::Unschedulable);
        Some(refused.map(|(pod, _)| pod.clone()).collect())
    }

    fn rows(&self, _: &Case, cluster: &ClusterState) -> Vec<DiffRow> {
        let rows = self.0.iter().map(|(pod, want)| row(cluster, pod, want));
        rows.collect()
    }

    fn row_chain(&self, window: &Window<'_>, row: &DiffRow) -> Chain {
        match &row.subject {
            Subject::Pod(pod) => self
                .0
                .get(pod)
                .map_or_else(Chain::default, |want| window.placement_chain(pod, want)),
            _ => Chain::default(),
        }
    }
}

/// `spec.nodeName` of a pod. None if the field is unset.
pub(super) fn node_of(cluster: &ClusterState, pod: &str) -> Option<String> {
    let node = cluster.object("pods", Some(WORKLOADS), pod)?["spec"]["nodeName"].as_str()?;
    (!node.is_empty()).then(|| node.to_owned())
}

fn row(cluster: &ClusterState, pod: &str, want: &ExpectedNode) -> DiffRow {
    let node = node_of(cluster, pod);
    let refusal = cluster.scheduling_failure(pod);
    let got = match (&node, refusal) {
        (Some(node), _) => node.clone(),
        (None, Some(_)) => "unschedulable".to_owned(),
        (None, None) => "undecided".to_owned(),
    };
    let holds = match want {
        ExpectedNode::Unschedulable => node.is_none() && refusal.is_some(),
        ExpectedNode::OneOf(_) | ExpectedNode::Any => node.as_ref().is_some_and(|node| want.allows(node)),
    };
    let state = match (holds, node.is_some() || refusal.is_some()) {
        (true, _) => RowState::Same,
        (false, true) => RowState::Differs,
        (false, false) => RowState::Missing,
    };
    DiffRow {
        state,
        subject: Subject::Pod(pod.to_owned()),
        want: format_expected_node(want),
        got,
    }
}

pub(super) fn format_expected_node(want: &ExpectedNode) -> String {
    match want {
        ExpectedNode::OneOf(nodes) => nodes.join(" or "),
        ExpectedNode::Any => "any node".to_owned(),
        ExpectedNode::Unschedulable => "none".to_owned(),
    }
}
