//! Every node's verdict for one pod, and what would have to change where it is a refusal.
//!
//! Knows neither ties nor preemption: [`crate::cycle`] decides from this.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::capacity_check::Demand;
use crate::claims::{self, PodClaims, Unready};
use crate::filter::{self, VolumePlan};
use crate::filter_error::FilterError;
use crate::filters::{NodeFilters, Unfit};
use crate::objects::{Node, Pod};
use crate::rules::Rules;
use crate::score;
use crate::snapshot::Snapshot;

/// A node that can take the pod.
#[derive(Clone, Debug)]
pub struct Feasible {
    /// The node.
    pub node: Arc<Node>,
    /// How the pod gets its volumes there.
    pub plan: VolumePlan,
    /// The score, 0 to 100. A single feasible node is not scored and has 0.
    pub score: i64,
}

/// A node that cannot take the pod.
#[derive(Clone, Debug)]
pub struct Refused {
    /// The node.
    pub node: Arc<Node>,
    /// Why.
    pub cause: Cause,
}

/// Why a node cannot take the pod. Storage is looked at last, and only if nothing else is in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Something other than storage.
    Unfit(Unfit),
    /// Its volumes.
    Volumes(Vec<filter::Refusal>),
    /// An extender.
    Extender {
        /// Why, in the extender's words.
        reason: String,
        /// Room made on the node would not help.
        is_final: bool,
    },
}

/// Every node's verdict for one pod.
#[derive(Clone, Debug, Default)]
pub struct Assessment {
    /// The nodes that can take it.
    pub feasible: Vec<Feasible>,
    /// The others.
    pub refused: Vec<Refused>,
}

/// What kept a pod from being placed, so that only changes to it wake the pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blocker {
    /// Its claims, classes or volumes.
    Volumes,
    /// No capacity object of this class is large enough for the request where it is needed.
    Capacity {
        /// The class.
        class: String,
        /// The request in bytes.
        request: i128,
    },
    /// The nodes: none there, none matching, or all cordoned or tainted.
    Nodes,
    /// What other pods take of the nodes or forbid there: one that leaves may help.
    Room,
    /// Where other pods are: one that comes may help as well as one that leaves.
    Company,
    /// An extender; the scheduler does not know what it waits for.
    Extender,
}

/// Why no node was assessed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoAssessment {
    /// The pod's claims forbid every node.
    #[error(transparent)]
    Unready(#[from] Unready),
    /// The filter failed.
    #[error(transparent)]
    Filter(#[from] FilterError),
}

/// Looks at every node, and scores the feasible ones if there are several.
pub fn assess(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, NoAssessment> {
    let mut assessment = filter_nodes(snapshot, rules, pod)?;
    rank(&mut assessment, rules);
    Ok(assessment)
}

/// Scores the feasible nodes if there are several.
pub fn rank(assessment: &mut Assessment, rules: &Rules) {
    if assessment.feasible.len() > 1 {
        for feasible in &mut assessment.feasible {
            feasible.score = score::score(rules, &feasible.plan);
        }
    }
}

pub(crate) fn filter_nodes(
    snapshot: &Snapshot,
    rules: &Rules,
    pod: &Pod,
) -> Result<Assessment, NoAssessment> {
    let claims = claims::classify(snapshot, rules, pod)?;
    let filters = NodeFilters::of(snapshot, rules, pod);
    let mut assessment = Assessment::default();
    for node in snapshot.nodes.iter() {
        match filters.check(node, || volumes(snapshot, rules, &claims, node)) {
            Ok(plan) => assessment.feasible.push(Feasible {
                node: Arc::clone(node),
                plan,
                score: 0,
            }),
            Err(Refusal::By(cause)) => assessment.refused.push(Refused {
                node: Arc::clone(node),
                cause,
            }),
            Err(Refusal::Undecidable(error)) => return Err(error.into()),
        }
    }
    Ok(assessment)
}

/// How a node does not take the pod.
pub(crate) enum Refusal {
    /// It is refused.
    By(Cause),
    /// The filter failed.
    Undecidable(FilterError),
}

impl From<Unfit> for Refusal {
    fn from(unfit: Unfit) -> Self {
        Self::By(Cause::Unfit(unfit))
    }
}

/// VolumeBinding's part of a node's verdict.
pub(crate) fn volumes(
    snapshot: &Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    node: &Node,
) -> Result<VolumePlan, Refusal> {
    if let Some(error) = undecidable(claims) {
        return Err(Refusal::Undecidable(error));
    }
    filter::check_node(snapshot, rules, claims, node)
        .map_err(|refusals| Refusal::By(Cause::Volumes(refusals)))
}

/// Why no node can be judged. As upstream it matters only once a node is to be judged.
pub(crate) fn undecidable(claims: &PodClaims) -> Option<FilterError> {
    let delayed = claims.selected.iter().chain(&claims.open);
    delayed
        .filter_map(|delayed| match &delayed.demand {
            Demand::Unknown(error) => Some(error.clone()),
            Demand::Request(_) | Demand::Unchecked(_) => None,
        })
        .next()
}

impl Cause {
    /// Whether the node would refuse the pod even if other pods made room.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Unfit(unfit) => unfit.is_final(),
            Self::Volumes(_) => true,
            Self::Extender { is_final, .. } => *is_final,
        }
    }

    /// The reasons in kube-scheduler's words.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        match self {
            Self::Unfit(unfit) => unfit.reasons(rules),
            Self::Volumes(refusals) => refusals.iter().map(|refusal| refusal.reason().into()).collect(),
            Self::Extender { reason, .. } => vec![reason.clone().into()],
        }
    }

    pub(crate) fn note_blockers(&self, rules: &Rules, blockers: &mut BTreeSet<Blocker>) {
        let refusals = match self {
            Self::Unfit(unfit) => {
                blockers.insert(match unfit {
                    Unfit::Skewed(_) | Unfit::NoPodNear(_) => Blocker::Company,
                    unfit if unfit.depends_on_pods() => Blocker::Room,
                    _ => Blocker::Nodes,
                });
                return;
            }
            Self::Extender { .. } => {
                blockers.insert(Blocker::Extender);
                return;
            }
            Self::Volumes(refusals) => refusals,
        };
        for refusal in refusals {
            let filter::Refusal::NotEnoughSpace { claim } = refusal else {
                blockers.insert(Blocker::Volumes);
                continue;
            };
            let request = claim.request.map_or(0, |request| request.bytes(rules.arithmetic));
            let is_known = blockers.iter().any(|known| {
                matches!(known, Blocker::Capacity { class, request: of } if *class == claim.class && *of == request)
            });
            // Thousands of nodes have the same blocker.
            if !is_known {
                let class = claim.class.clone();
                blockers.insert(Blocker::Capacity { class, request });
            }
        }
    }
}
