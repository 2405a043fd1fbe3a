//! Preemption for a pod that fits no node (plugin DefaultPreemption).
//!
//! Pure functions: return the victims, which have lower priority, and their node. Nodes with the fewest violations of the snapshot's
//! PodDisruptionBudgets are preferred.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use crate::assessment::{NodeFailure, Rejected, check_volumes};
use crate::claims::{PodClaims, classify};
use crate::filters::{Counts, NodeFilters};
use crate::node_pods::NodeInfo;
use crate::objects::{Node, ObjectKey, Pod};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

/// As upstream, the search ends after this many candidate nodes (or a tenth of all nodes if more), once one violates no disruption budget.
const MIN_CANDIDATES: usize = 100;
/// kube-scheduler's reason for a node on which evictions would not help.
pub(crate) const NOT_HELPFUL: &str = "Preemption is not helpful for scheduling";
const NO_VICTIMS: &str = "No preemption victims found for incoming pod";
/// Type of the condition of an evicted pod; its reason is [`BY_SCHEDULER`].
pub(crate) const DISRUPTION_TARGET: &str = "DisruptionTarget";
pub(crate) const BY_SCHEDULER: &str = "PreemptionByScheduler";

/// Result of preemption.
#[derive(Clone, Debug)]
pub enum Preemption {
    /// The pod has `preemptionPolicy: Never`.
    Never,
    /// The victims of an earlier preemption for this pod are still terminating.
    VictimsTerminating,
    /// Pods on this node are evicted.
    Evicts(Candidate),
    /// Preemption would help on no node. Contains the reason of each node.
    NotHelpful(Vec<Cow<'static, str>>),
}

/// A node that is feasible after the eviction of some pods.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The node.
    pub node: Arc<Node>,
    /// The pods to evict, most important first.
    pub victims: Vec<Arc<Pod>>,
    /// Number of victims whose eviction violates a PodDisruptionBudget.
    pub violations: usize,
}

/// Selects the victims for a pod. `rejected` contains all nodes of the cluster, each with its rejection reason.
pub fn preempt(snapshot: &Snapshot, rules: &Rules, pod: &Pod, rejected: &[Rejected]) -> Preemption {
    if pod.never_preempts {
        return Preemption::Never;
    }
    let resolvable = rejected
        .iter()
        .filter(|rejected| !rejected.cause.is_unresolvable());
    let unresolvable = rejected.len() - resolvable.clone().count();
    let mut reasons: Vec<Cow<'static, str>> = vec![NOT_HELPFUL.into(); unresolvable];
    // Errors of `classify` are returned before any node is filtered, so they cannot occur here.
    let Ok(claims) = classify(snapshot, rules, pod) else {
        return Preemption::NotHelpful(reasons);
    };
    let filters = NodeFilters::of(snapshot, rules, pod);
    if resolvable
        .clone()
        .any(|rejected| has_terminating_victims(snapshot, pod, &rejected.node))
    {
        return Preemption::VictimsTerminating;
    }
    let candidates_max = MIN_CANDIDATES.max(rejected.len() / 10);
    let mut candidates = Vec::new();
    for Rejected { node, .. } in resolvable {
        // The node is looked up in the snapshot, because the filter counts must borrow it from there.
        let Some(node) = snapshot.nodes.get(&node.key) else {
            continue;
        };
        match select_victims_on_node(snapshot, rules, &claims, &filters, pod, node) {
            Ok(candidate) if candidate.victims.is_empty() => {}
            Ok(candidate) => candidates.push(candidate),
            Err(node_reasons) => reasons.extend(node_reasons),
        }
        if candidates.len() >= candidates_max && candidates.iter().any(|candidate| candidate.violations == 0)
        {
            break;
        }
    }
    match candidates
        .into_iter()
        .min_by_key(|candidate| (candidate.violations, candidate_sort_key(candidate)))
    {
        Some(best) => Preemption::Evicts(best),
        None => Preemption::NotHelpful(reasons),
    }
}

/// Whether victims of an earlier preemption for this pod are still on the pod's nominated node.
fn has_terminating_victims(snapshot: &Snapshot, pod: &Pod, node: &Node) -> bool {
    let is_terminating_victim = |other: &&Arc<Pod>| {
        let mut conditions = other.conditions.iter();
        other.deleting
            && other.priority < pod.priority
            && conditions.any(|condition| {
                condition.type_ == DISRUPTION_TARGET && condition.reason.as_deref() == Some(BY_SCHEDULER)
            })
    };
    let info = snapshot.pods.node_info(node.name());
    pod.nominated_node.as_deref() == Some(node.name())
        && info.is_some_and(|info| info.pods.iter().find(is_terminating_victim).is_some())
}

/// The fewest and least important pods whose eviction makes the pod fit on the node. The error contains why the pod does not fit even if
/// all pods of lower priority are evicted.
fn select_victims_on_node<'a>(
    snapshot: &'a Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    filters: &NodeFilters<'a>,
    pod: &Pod,
    node: &'a Arc<Node>,
) -> Result<Candidate, Vec<Cow<'static, str>>> {
    let fits = |info: &NodeInfo, counts: &Counts<'a>| {
        filters
            .check_with(node, info, counts, || {
                check_volumes(snapshot, rules, claims, node)
            })
            .map(drop)
    };
    let current = snapshot.pods.node_info(node.name());
    let mut lower: Vec<&'a Arc<Pod>> = current.iter().flat_map(|info| &info.pods).collect();
    lower.retain(|other| other.priority < pod.priority);
    if lower.is_empty() {
        return Err(vec![NO_VICTIMS.into()]);
    }
    let mut info = current.cloned().unwrap_or_default();
    let mut counts = filters.counts().clone();
    for other in &lower {
        info.remove(&other.uid);
        filters.remove(&mut counts, other, node);
    }
    fits(&info, &counts).map_err(|failure| match failure {
        NodeFailure::Rejected(cause) => cause.reasons(rules),
        NodeFailure::Error(error) => vec![error.to_string().into()],
    })?;
    lower.sort_by_key(|other| pod_sort_key(other));
    let (violating, others) = split_by_pdb_violation(snapshot, lower);
    let protected = violating.len();
    let mut violations = 0;
    let mut victims = Vec::new();
    for (number, other) in violating.into_iter().chain(others).enumerate() {
        info.add(other);
        filters.add(&mut counts, other, node);
        if fits(&info, &counts).is_err() {
            info.remove(&other.uid);
            filters.remove(&mut counts, other, node);
            victims.push(Arc::clone(other));
            violations += usize::from(number < protected);
        }
    }
    victims.sort_by_key(|other| pod_sort_key(other));
    Ok(Candidate {
        node: Arc::clone(node),
        victims,
        violations,
    })
}

/// Splits pods into pods whose eviction violates a PodDisruptionBudget and other pods (`filterPodsWithPDBViolation` of kube-scheduler).
/// Evictions of earlier pods count when later pods are checked.
fn split_by_pdb_violation<'p>(
    snapshot: &Snapshot,
    pods: Vec<&'p Arc<Pod>>,
) -> (Vec<&'p Arc<Pod>>, Vec<&'p Arc<Pod>>) {
    let mut budgets: Vec<_> = snapshot
        .budgets
        .iter()
        .map(|budget| (budget, budget.allowed))
        .collect();
    pods.into_iter().partition(|pod| {
        let mut violates = false;
        for (_, allowed) in budgets.iter_mut().filter(|(budget, _)| budget.protects(pod)) {
            *allowed = allowed.saturating_sub(1);
            violates |= *allowed < 0;
        }
        violates
    })
}

/// Sort key of pods: more important pods first, by priority, then by start time.
fn pod_sort_key(pod: &Pod) -> (Reverse<i32>, bool, Option<String>, ObjectKey) {
    (
        Reverse(pod.priority),
        pod.started.is_none(),
        pod.started.clone(),
        pod.key.clone(),
    )
}

/// Sort key of candidates with equal violations: lowest priority of the most important victim, then lowest sum of priorities, then fewest
/// victims, then latest start time of the most important victims.
fn candidate_sort_key(candidate: &Candidate) -> (i32, i64, usize, Reverse<(bool, Option<String>)>) {
    let priorities = candidate.victims.iter().map(|victim| victim.priority);
    let highest = priorities.clone().max().unwrap_or_default();
    // Priorities are shifted to be non-negative: otherwise more victims with negative priority would make a node preferable.
    let sum = priorities
        .map(|priority| i64::from(priority) - i64::from(i32::MIN))
        .sum();
    let first = candidate
        .victims
        .iter()
        .filter(|victim| victim.priority == highest);
    let started = first.map(|victim| (victim.started.is_none(), victim.started.clone()));
    (
        highest,
        sum,
        candidate.victims.len(),
        Reverse(started.min().unwrap_or_default()),
    )
}
