//! The filter InterPodAffinity: inter-pod affinity and anti-affinity.

use std::collections::HashMap;

use super::FilterReason;
use crate::objects::{Node, ObjectKey, Pod, PodAffinityTerm};
use crate::snapshot::Snapshot;

/// A topology domain: label key and value.
type Domain<'a> = (&'a str, &'a str);

/// Numbers of pods per topology domain that are relevant for one pending pod.
#[derive(Clone, Debug, Default)]
pub(super) struct PodAffinityCounts<'a> {
    /// Pods that match all affinity terms of the pending pod, by domain.
    affinity: HashMap<Domain<'a>, i64>,
    /// Pods that match an anti-affinity term of the pending pod, by domain.
    anti_affinity: HashMap<Domain<'a>, i64>,
    /// Pods whose anti-affinity matches the pending pod, by domain.
    existing_anti_affinity: HashMap<Domain<'a>, i64>,
}

impl<'a> PodAffinityCounts<'a> {
    pub(super) fn of(snapshot: &'a Snapshot, pod: &'a Pod) -> Self {
        let mut counts = Self::default();
        for (node, other) in snapshot.pods.with_anti_affinity() {
            if let Some(node) = snapshot.nodes.get(&ObjectKey::cluster(node)) {
                counts.count_existing_anti_affinity(snapshot, pod, other, node, 1);
            }
        }
        if pod.pod_affinity.is_empty() && pod.anti_affinity.is_empty() {
            return counts;
        }
        for (node, other) in snapshot.pods.iter() {
            if let Some(node) = snapshot.nodes.get(&ObjectKey::cluster(node)) {
                counts.count_affinity(snapshot, pod, other, node, 1);
            }
        }
        counts
    }

    /// Counts a pod on a node (`change` = 1), or removes it from the counts (-1).
    pub(super) fn update(
        &mut self,
        snapshot: &Snapshot,
        pod: &'a Pod,
        other: &'a Pod,
        node: &'a Node,
        change: i64,
    ) {
        self.count_existing_anti_affinity(snapshot, pod, other, node, change);
        self.count_affinity(snapshot, pod, other, node, change);
    }

    fn count_existing_anti_affinity(
        &mut self,
        snapshot: &Snapshot,
        pod: &Pod,
        other: &'a Pod,
        node: &'a Node,
        change: i64,
    ) {
        for term in &other.anti_affinity {
            if term_matches(snapshot, term, pod) {
                add_to_domain_count(&mut self.existing_anti_affinity, term, node, change);
            }
        }
    }

    fn count_affinity(
        &mut self,
        snapshot: &Snapshot,
        pod: &'a Pod,
        other: &Pod,
        node: &'a Node,
        change: i64,
    ) {
        if matches_all(snapshot, &pod.pod_affinity, other) {
            for term in &pod.pod_affinity {
                add_to_domain_count(&mut self.affinity, term, node, change);
            }
        }
        for term in &pod.anti_affinity {
            if term_matches(snapshot, term, other) {
                add_to_domain_count(&mut self.anti_affinity, term, node, change);
            }
        }
    }

    /// The reason for which inter-pod affinity rejects the node; `None` if the node passes.
    pub(super) fn check(&self, snapshot: &Snapshot, pod: &Pod, node: &Node) -> Option<FilterReason> {
        if let Some(term) = self.unsatisfied_term(snapshot, pod, node) {
            return Some(FilterReason::AffinityUnsatisfied(term.topology_key.clone()));
        }
        let domain = |key: &'_ String| Some((key.clone(), node.labels.get(key)?.clone()));
        let is_near = |term: &&PodAffinityTerm| has_pods(&self.anti_affinity, &term.topology_key, node);
        if let Some(term) = pod.anti_affinity.iter().find(is_near) {
            let near = pods_in_domain(snapshot, domain(&term.topology_key)?);
            let found = near.into_iter().find(|other| term_matches(snapshot, term, other));
            return Some(FilterReason::AntiAffinityUnsatisfied {
                pod: found.map_or_else(ObjectKey::default, |other| other.key.clone()),
                key: term.topology_key.clone(),
            });
        }
        let key = node
            .labels
            .keys()
            .find(|key| has_pods(&self.existing_anti_affinity, key, node))?;
        let repels = |other: &&Pod| {
            let mut terms = other.anti_affinity.iter();
            terms.any(|term| term.topology_key == *key && term_matches(snapshot, term, pod))
        };
        let found = pods_in_domain(snapshot, domain(key)?).into_iter().find(repels);
        Some(FilterReason::ExistingAntiAffinity {
            pod: found.map_or_else(ObjectKey::default, |other| other.key.clone()),
            key: key.clone(),
        })
    }

    /// The first affinity term of the pod that the node does not satisfy.
    fn unsatisfied_term<'p>(
        &self,
        snapshot: &Snapshot,
        pod: &'p Pod,
        node: &Node,
    ) -> Option<&'p PodAffinityTerm> {
        let terms = &pod.pod_affinity;
        if let Some(unlabelled) = terms
            .iter()
            .find(|term| !node.labels.contains_key(&term.topology_key))
        {
            return Some(unlabelled);
        }
        let empty = terms
            .iter()
            .find(|term| !has_pods(&self.affinity, &term.topology_key, node))?;
        // If no existing pod matches the affinity terms but the pending pod does, the pending pod may run in any topology domain.
        let is_first = self.affinity.is_empty() && matches_all(snapshot, terms, pod);
        (!is_first).then_some(empty)
    }
}

fn term_matches(snapshot: &Snapshot, term: &PodAffinityTerm, pod: &Pod) -> bool {
    term.matches(&pod.key.namespace, &pod.labels, &snapshot.namespaces)
}

/// Whether all terms match this pod. False if there are no terms.
fn matches_all(snapshot: &Snapshot, terms: &[PodAffinityTerm], pod: &Pod) -> bool {
    !terms.is_empty() && terms.iter().all(|term| term_matches(snapshot, term, pod))
}

fn add_to_domain_count<'a>(
    counts: &mut HashMap<Domain<'a>, i64>,
    term: &'a PodAffinityTerm,
    node: &'a Node,
    change: i64,
) {
    let key = term.topology_key.as_str();
    let Some(value) = node.labels.get(key) else {
        return;
    };
    let domain = (key, value.as_str());
    let sum = counts.entry(domain).or_default();
    *sum += change;
    if *sum == 0 {
        counts.remove(&domain);
    }
}

fn has_pods(counts: &HashMap<Domain<'_>, i64>, key: &str, node: &Node) -> bool {
    let value = node.labels.get(key);
    value.is_some_and(|value| counts.get(&(key, value.as_str())).is_some_and(|count| *count > 0))
}

fn pods_in_domain(snapshot: &Snapshot, (key, value): (String, String)) -> Vec<&Pod> {
    let mut found: Vec<&Pod> = snapshot
        .pods
        .iter()
        .filter(|(node, _)| {
            let node = snapshot.nodes.get(&ObjectKey::cluster(node));
            node.is_some_and(|node| node.labels.get(&key) == Some(&value))
        })
        .map(|(_, pod)| &**pod)
        .collect();
    found.sort_by(|left, right| left.key.cmp(&right.key));
    found
}
