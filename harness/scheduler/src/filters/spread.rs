//! Topology spread constraints (PodTopologySpread).

use std::collections::BTreeMap;

use super::{Unfit, selects, untolerated};
use crate::objects::{Node, Pod, SpreadConstraint};
use crate::snapshot::Snapshot;

/// How much fuller a domain would be than the emptiest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The label's key.
    pub key: String,
    /// The label's value on the node.
    pub value: String,
    /// How many pods that count are in the domain.
    pub pods: i64,
    /// How many are in the emptiest domain.
    pub fewest: i64,
    /// `maxSkew`.
    pub max: i64,
}

/// Pods by domain, for each constraint of one pod.
#[derive(Clone, Debug, Default)]
pub(super) struct SpreadCounts<'a>(Vec<BTreeMap<&'a str, i64>>);

impl<'a> SpreadCounts<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, pod: &'a Pod) -> Self {
        let mut counts = Self(vec![BTreeMap::new(); pod.spread.len()]);
        if pod.spread.is_empty() {
            return counts;
        }
        for node in snapshot.nodes.iter() {
            let on = snapshot.pods.on(node.name());
            for (constraint, domains) in counted(pod, node).zip(&mut counts.0) {
                let Some((constraint, value)) = constraint else {
                    continue;
                };
                let pods = on.iter().flat_map(|on| &on.pods);
                let pods = pods.filter(|other| counts_for(constraint, pod, other));
                *domains.entry(value).or_default() += i64::try_from(pods.count()).unwrap_or(i64::MAX);
            }
        }
        counts
    }

    /// Counts a pod of a node once more, or once less.
    pub(super) fn update(&mut self, pod: &'a Pod, other: &Pod, node: &'a Node, change: i64) {
        for (constraint, domains) in counted(pod, node).zip(&mut self.0) {
            if let Some((constraint, value)) = constraint
                && counts_for(constraint, pod, other)
            {
                *domains.entry(value).or_default() += change;
            }
        }
    }

    /// Why the node is refused, if it is.
    pub(super) fn check(&self, pod: &Pod, node: &Node) -> Option<Unfit> {
        for (constraint, domains) in pod.spread.iter().zip(&self.0) {
            let Some(value) = node.labels.get(&constraint.topology_key) else {
                return Some(Unfit::NoSpreadLabel(constraint.topology_key.clone()));
            };
            let fewest = match domains.len() < constraint.min_domains {
                true => 0,
                false => domains.values().min().copied().unwrap_or(0),
            };
            let pods = domains.get(value.as_str()).copied().unwrap_or(0);
            let selector = constraint.selector.as_ref();
            let own = i64::from(selector.is_some_and(|selector| selector.matches(&pod.labels)));
            if pods + own - fewest > constraint.max_skew {
                return Some(Unfit::Skewed(Skew {
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

/// For each constraint of the pod the node's domain, where the node counts for it.
fn counted<'a>(
    pod: &'a Pod,
    node: &'a Node,
) -> impl Iterator<Item = Option<(&'a SpreadConstraint, &'a str)>> {
    let has_all = pod
        .spread
        .iter()
        .all(|constraint| node.labels.contains_key(&constraint.topology_key));
    pod.spread.iter().map(move |constraint| {
        let counts = has_all
            && (!constraint.honors_affinity || selects(pod, node))
            && (!constraint.honors_taints || untolerated(pod, node).is_none());
        let value = node.labels.get(&constraint.topology_key).filter(|_| counts)?;
        Some((constraint, value.as_str()))
    })
}

/// Whether a pod counts: of the same namespace, selected, and not about to go. A selector that selects everything counts nothing.
fn counts_for(constraint: &SpreadConstraint, pod: &Pod, other: &Pod) -> bool {
    let Some(selector) = &constraint.selector else {
        return false;
    };
    !selector.requirements().is_empty()
        && !other.deleting
        && other.key.namespace == pod.key.namespace
        && selector.matches(&other.labels)
}
