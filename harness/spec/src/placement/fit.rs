//! Constraints between pods and nodes that do not concern volumes. Capacity does not change them (KEP-1472, "Using capacity information").
//!
//! Does not know CPU, memory and inter-pod affinity.

use super::reason::Reason;
use crate::world::{Node, Pod};

/// Why the node is not feasible; empty if it is.
pub(super) fn infeasibility_reasons(pod: &Pod, name: &str, node: &Node) -> Vec<Reason> {
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
