//! The filter PodTopologySpread: topology spread constraints.

use std::collections::BTreeMap;

use super::{FilterReason, matches_node_selector, untolerated_taint};
use crate::objects::{Node, Pod, SpreadConstraint};
use crate::snapshot::Snapshot;

/// A topology spread constraint that the pod would violate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The `topologyKey`.
    pub key: String,
    /// The node's value of the `topologyKey` label.
    pub value: String,
    /// Number of matching pods in the node's topology domain.
    pub pods: i64,
    /// Number of matching pods in the topology domain with the fewest matching pods.
    pub fewest: i64,
    /// `maxSkew` of the constraint.
    pub max: i64,
}

/// Matching pods per topology domain, for each constraint of one pod.
#[derive(Clone, Debug, Default)]
pub(super) struct SpreadCounts<'a>(Vec<BTreeMap<&'a str, i64>>);

impl<'a> SpreadCounts<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, pod: &'a Pod) -> Self {
        let mut counts = Self(vec![BTreeMap::new(); pod.spread.len()]);
        if pod.spread.is_empty() {
            return counts;
        }
        for node in snapshot.nodes.iter() {
            let info = snapshot.pods.node_info(node.name());
            for (constraint, domains) in counted_domains(pod, node).zip(&mut counts.0) {
                let Some((constraint, value)) = constraint else {
                    continue;
                };
                let pods = info.iter().flat_map(|info| &info.pods);
                let pods = pods.filter(|other| counts_pod(constraint, pod, other));
                *domains.entry(value).or_default() += i64::try_from(pods.count()).unwrap_or(i64::MAX);
            }
        }
        counts
    }

    /// Counts a pod on a node (`change` = 1), or removes it from the counts (-1).
    pub(super) fn update(&mut self, pod: &'a Pod, other: &Pod, node: &'a Node, change: i64) {
        for (constraint, domains) in counted_domains(pod, node).zip(&mut self.0) {
            if let Some((constraint, value)) = constraint
                && counts_pod(constraint, pod, other)
            {
                *domains.entry(value).or_default() += change;
            }
        }
    }

    /// The reason for which topology spread rejects the node; `None` if the node passes.
    pub(super) fn check(&self, pod: &Pod, node: &Node) -> Option<FilterReason> {
        for (constraint, domains) in pod.spread.iter().zip(&self.0) {
            let Some(value) = node.labels.get(&constraint.topology_key) else {
                return Some(FilterReason::MissingTopologyLabel(
                    constraint.topology_key.clone(),
                ));
            };
            let fewest = match domains.len() < constraint.min_domains {
                true => 0,
                false => domains.values().min().copied().unwrap_or(0),
            };
            let pods = domains.get(value.as_str()).copied().unwrap_or(0);
            let selector = constraint.selector.as_ref();
            let own = i64::from(selector.is_some_and(|selector| selector.matches(&pod.labels)));
            if pods + own - fewest > constraint.max_skew {
                return Some(FilterReason::MaxSkewExceeded(Skew {
                    key: constraint.topology_key.clone(),
                    value: value.clone(),
                    pods,
                    fewest,
                    max: constraint.max_skew,
                }));
            }
        }
        None
    }
}

/// For each constraint of the pod, the topology domain of the node; `None` if the constraint does not count the node's pods.
fn counted_domains<'a>(
    pod: &'a Pod,
    node: &'a Node,
) -> impl Iterator<Item = Option<(&'a SpreadConstraint, &'a str)>> {
    let has_all = pod
        .spread
        .iter()
        .all(|constraint| node.labels.contains_key(&constraint.topology_key));
    pod.spread.iter().map(move |constraint| {
        let counts = has_all
            && (!constraint.honors_affinity || matches_node_selector(pod, node))
            && (!constraint.honors_taints || untolerated_taint(pod, node).is_none());
        let value = node.labels.get(&constraint.topology_key).filter(|_| counts)?;
        Some((constraint, value.as_str()))
    })
}

/// Whether the constraint counts the pod `other`: it is in the same namespace, selected, and not terminating. As upstream, an empty
/// selector counts no pod.
fn counts_pod(constraint: &SpreadConstraint, pod: &Pod, other: &Pod) -> bool {
    let Some(selector) = &constraint.selector else {
        return false;
    };
    !selector.requirements().is_empty()
        && !other.deleting
        && other.key.namespace == pod.key.namespace
        && selector.matches(&other.labels)
}
