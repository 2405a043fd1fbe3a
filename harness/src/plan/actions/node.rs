//! The `node` action: creates, deletes or changes a node, and registers the driver in its CSINode.

use std::collections::BTreeMap;

use capacity_types::Segment;
use serde::Deserialize;
use serde_json::json;

use super::{Resolved, cluster_wide, create};
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::plan::vocabulary::join_names;
use crate::scenario::{FromShort, NodeSpec, Short};

/// A change of a node. Write exactly one of these keys.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum NodeAction {
    /// Create a node as in `cluster.nodes`, and run the driver on it: `node: {join: n4}`.
    Join(Short<NodeSpec>),
    /// Delete the Node and CSINode objects: `node: {leave: n1}`.
    Leave(String),
    /// Set labels of the Node: `node: {relabel: {name: n1, labels: {zone: west}}}`. The value null removes a label.
    Relabel {
        /// Name of the node.
        name: String,
        /// Labels to set on the Node; null removes a label.
        labels: BTreeMap<String, Option<String>>,
    },
    /// Add the driver to the node's CSINode: `node: {register: n1}`, or `node: {register: {name: n1, labels: first}}`. In distributed mode
    /// this starts no publisher on the node: use `join`.
    Register(Short<RegisterSpec>),
    /// Remove the driver from the node's CSINode: `node: {unregister: n1}`.
    Unregister(String),
}

/// Registers the driver on a node, as the kubelet does.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegisterSpec {
    /// Name of the node.
    pub name: String,
    /// When the node gets its default topology labels: `first`, before the CSINode lists the driver (as the kubelet does), or `last`, after
    /// that. Unset: the labels do not change.
    pub labels: Option<LabelOrder>,
}

/// When a node gets its topology labels. The kubelet sets labels first, but watches may deliver the labels last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelOrder {
    /// The node gets its labels before the CSINode lists the driver.
    First,
    /// The node gets its labels after the CSINode lists the driver.
    Last,
}

impl FromShort for RegisterSpec {
    const EXPECTING: &'static str = "a node name, or a map with `name` and `labels`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(RegisterSpec {
            name: text.to_owned(),
            labels: None,
        })
    }
}

pub(super) fn resolve(scope: &mut Scope<'_>, action: &NodeAction) -> Resolved {
    Ok(match action {
        NodeAction::Join(spec) => {
            let [node, csi_node] = scope.build_node(spec);
            let mut list = vec![create(node, "node", &spec.name)];
            if let Some(segment) = driver_segment(scope, spec) {
                list.push((
                    Action::DriverUp(spec.name.clone(), segment),
                    format!("driver up on {}", spec.name),
                ));
            }
            list.push(create(csi_node, "CSINode", &spec.name));
            list
        }
        NodeAction::Leave(name) => {
            known_node(scope, name)?;
            vec![
                (Action::DriverDown(name.clone()), format!("driver down on {name}")),
                (
                    Action::Delete(cluster_wide("csinodes", name)),
                    format!("delete CSINode {name}"),
                ),
                (
                    Action::Delete(cluster_wide("nodes", name)),
                    format!("delete node {name}"),
                ),
            ]
        }
        NodeAction::Relabel { name, labels } => {
            known_node(scope, name)?;
            let merge = json!({"metadata": {"labels": labels}});
            vec![(
                Action::Merge(cluster_wide("nodes", name), merge),
                format!("relabel node {name}"),
            )]
        }
        NodeAction::Register(spec) => register(scope, spec)?,
        NodeAction::Unregister(name) => {
            known_node(scope, name)?;
            vec![(
                Action::Registration(name.clone(), None),
                format!("unregister the driver from CSINode {name}"),
            )]
        }
    })
}

fn register(scope: &Scope<'_>, spec: &RegisterSpec) -> Resolved {
    let name = &spec.name;
    known_node(scope, name)?;
    let keys = Some(scope.segments.keys().to_vec());
    let mut list = vec![(
        Action::Registration(name.clone(), keys),
        format!("register the driver in CSINode {name}"),
    )];
    if let Some(order) = spec.labels {
        let labels: BTreeMap<String, String> = scope.segments.default_segment(name).into_iter().collect();
        let merge = json!({"metadata": {"labels": labels}});
        let index = if order == LabelOrder::First { 0 } else { 1 };
        let note = format!("label node {name} with its segment");
        list.insert(index, (Action::Merge(cluster_wide("nodes", name), merge), note));
    }
    Ok(list)
}

fn known_node(scope: &Scope<'_>, name: &str) -> Result<(), String> {
    match scope.nodes.contains_key(name) {
        true => Ok(()),
        false => Err(format!(
            "node `{name}` is not defined; nodes: {}",
            join_names(&scope.nodes)
        )),
    }
}

fn driver_segment(scope: &Scope<'_>, spec: &NodeSpec) -> Option<Segment> {
    if !spec.registered {
        return None;
    }
    scope.segments.segment_of_node(&scope.nodes[&spec.name])
}
