//! What pods and nodes ask of each other besides volumes. Capacity changes nothing about it (KEP-1472, "Using capacity information").
//!
//! Deliberately absent: processors and memory, and what pods ask of other pods.

use super::reason::Reason;
use crate::world::{Node, Pod};

/// The reasons why the node does not take the pod.
pub(super) fn reasons(pod: &Pod, name: &str, node: &Node) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if node.unschedulable {
        reasons.push(Reason::Unschedulable);
    }
    let repels = |taint: &&crate::world::Taint| taint.effect.excludes() && !pod.tolerates(taint);
    if let Some(taint) = node.taints.iter().find(repels) {
        reasons.push(Reason::Tainted(taint.key.clone()));
    }
    if !pod.selects(name, &node.labels) {
        reasons.push(Reason::NotSelected);
    }
    reasons
}
