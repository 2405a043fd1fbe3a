//! Filters all nodes for one pod and scores the feasible nodes. Owns the result per node and the blockers of an unschedulable pod. Does not
//! break ties or preempt: [`crate::cycle`] makes the decision.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::capacity_check::Demand;
use crate::claims::{self, PodClaims, PreFilterReason};
use crate::filter::{self, VolumePlan};
use crate::filters::{FilterReason, NodeFilters};
use crate::objects::{Node, Pod};
use crate::rules::Rules;
use crate::score;
use crate::snapshot::FilterError;
use crate::snapshot::Snapshot;

/// A node that passed all filters.
#[derive(Clone, Debug)]
pub struct Feasible {
    /// The feasible node.
    pub node: Arc<Node>,
    /// How the pod's PVCs get their volumes on the node.
    pub plan: VolumePlan,
    /// The node's score: 0 to 100, plus the scores of extenders. A node is not scored, and has 0, if it is the only feasible node.
    pub score: i64,
}

/// A node that a filter rejected.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The rejected node.
    pub node: Arc<Node>,
    /// Why the node was rejected.
    pub cause: Cause,
}

/// Why a node was rejected. The VolumeBinding filter runs only if all filters before it pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A filter other than VolumeBinding rejected the node.
    Filter(FilterReason),
    /// VolumeBinding rejected the node.
    Volumes(Vec<filter::ConflictReason>),
    /// An extender rejected the node in its `filter` response.
    Extender {
        /// The reason that the extender returned.
        reason: String,
        /// Preemption on the node would not help (`failedAndUnresolvableNodes` of the response).
        is_unresolvable: bool,
    },
}

/// The filter result of every node for one pod.
#[derive(Clone, Debug, Default)]
pub struct Assessment {
    /// The nodes that passed all filters.
    pub feasible: Vec<Feasible>,
    /// The nodes that a filter rejected.
    pub rejected: Vec<Rejected>,
}

/// Why a pod is unschedulable. Only changes related to a blocker requeue the pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocker {
    /// The pod's PVCs, or their StorageClasses or PersistentVolumes.
    Volumes,
    /// No accessible CSIStorageCapacity object of this class is large enough.
    Capacity {
        /// Name of the StorageClass.
        class: String,
        /// The bytes that the PVC requests.
        request: i128,
    },
    /// Nodes: no node exists, no labels match, or all nodes are cordoned or tainted.
    Nodes,
    /// Resources or PVCs that other pods use. The deletion of a pod may help.
    Resources,
    /// Inter-pod affinity or topology spread. The addition or deletion of a pod may help.
    OtherPods,
    /// An extender rejected nodes. The scheduler does not know which change would make them feasible.
    Extender,
}

/// Why a scheduling attempt ended before nodes were filtered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssessError {
    /// The pod's PVCs rule out every node.
    #[error(transparent)]
    PreFilter(#[from] PreFilterReason),
    /// The VolumeBinding filter returned an error.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Filters every node and, if several are feasible, scores them.
pub fn assess(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, AssessError> {
    let mut assessment = filter_nodes(snapshot, rules, pod)?;
    rank(&mut assessment, rules);
    Ok(assessment)
}

/// Scores the feasible nodes if there are at least two.
pub fn rank(assessment: &mut Assessment, rules: &Rules) {
    if assessment.feasible.len() > 1 {
        for feasible in &mut assessment.feasible {
            feasible.score = score::score(rules, &feasible.plan);
        }
    }
}

pub(crate) fn filter_nodes(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, AssessError> {
    let claims = claims::classify(snapshot, rules, pod)?;
    let filters = NodeFilters::of(snapshot, rules, pod);
    let mut assessment = Assessment::default();
    for node in snapshot.nodes.iter() {
        match filters.check(node, || check_volumes(snapshot, rules, &claims, node)) {
            Ok(plan) => assessment.feasible.push(Feasible {
                node: Arc::clone(node),
                plan,
                score: 0,
            }),
            Err(NodeFailure::Rejected(cause)) => assessment.rejected.push(Rejected {
                node: Arc::clone(node),
                cause,
            }),
            Err(NodeFailure::Error(error)) => return Err(error.into()),
        }
    }
    Ok(assessment)
}

/// Why a node has no volume plan (static bindings and provisions).
pub(crate) enum NodeFailure {
    Rejected(Cause),
    Error(FilterError),
}

impl From<FilterReason> for NodeFailure {
    fn from(reason: FilterReason) -> Self {
        Self::Rejected(Cause::Filter(reason))
    }
}

/// Runs the VolumeBinding filter for one node.
pub(crate) fn check_volumes(
    snapshot: &Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    node: &Node,
) -> Result<VolumePlan, NodeFailure> {
    if let Some(error) = claim_error(claims) {
        return Err(NodeFailure::Error(error));
    }
    filter::check_node(snapshot, rules, claims, node)
        .map_err(|reasons| NodeFailure::Rejected(Cause::Volumes(reasons)))
}

/// The error if the CSIDriver or a capacity object for a PVC cannot be parsed. As upstream, the scheduler reports this error only if a
/// node passes all filters before VolumeBinding.
pub(crate) fn claim_error(claims: &PodClaims) -> Option<FilterError> {
    let delayed = claims.to_provision.iter().chain(&claims.to_match);
    delayed
        .filter_map(|delayed| match &delayed.demand {
            Demand::Unreadable(error) => Some(error.clone()),
            Demand::Request(_) | Demand::Unchecked(_) => None,
        })
        .next()
}

impl Cause {
    /// Whether the node would still reject the pod after other pods were evicted (`UnschedulableAndUnresolvable`).
    pub fn is_unresolvable(&self) -> bool {
        match self {
            Self::Filter(reason) => reason.is_unresolvable(),
            Self::Volumes(_) => true,
            Self::Extender { is_unresolvable, .. } => *is_unresolvable,
        }
    }

    /// The rejection reasons in kube-scheduler's wording.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        match self {
            Self::Filter(reason) => reason.reasons(rules),
            Self::Volumes(reasons) => reasons.iter().map(|reason| reason.reason().into()).collect(),
            Self::Extender { reason, .. } => vec![reason.clone().into()],
        }
    }

    pub(crate) fn add_blockers(&self, rules: &Rules, blockers: &mut BTreeSet<Blocker>) {
        let reasons = match self {
            Self::Filter(reason) => {
                blockers.insert(match reason {
                    FilterReason::MaxSkewExceeded(_) | FilterReason::AffinityUnsatisfied(_) => {
                        Blocker::OtherPods
                    }
                    reason if reason.depends_on_pods() => Blocker::Resources,
                    _ => Blocker::Nodes,
                });
                return;
            }
            Self::Extender { .. } => {
                blockers.insert(Blocker::Extender);
                return;
            }
            Self::Volumes(reasons) => reasons,
        };
        for reason in reasons {
            let filter::ConflictReason::NotEnoughSpace { claim } = reason else {
                blockers.insert(Blocker::Volumes);
                continue;
            };
            let request = claim.request.map_or(0, |request| request.bytes(rules.arithmetic));
            let is_known = blockers.iter().any(|known| {
                matches!(known, Blocker::Capacity { class, request: of } if *class == claim.class && *of == request)
            });
            // The class name is cloned only for a new blocker: thousands of nodes may have the same blocker.
            if !is_known {
                let class = claim.class.clone();
                blockers.insert(Blocker::Capacity { class, request });
            }
        }
    }
}
