//! One scheduling attempt, from a pod and a snapshot to a decision. Pure but for the tie break.
//!
//! Knows no queue and no wire: the loop, the explanation, the extender and the benchmark all call this.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::capacity_check::Demand;
use crate::claims::{self, PodClaims, Unready};
use crate::filter::{self, Refusal, VolumePlan};
use crate::filter_error::FilterError;
use crate::message::{self, Preemption};
use crate::node_fit::{NodeConditions, Unfit};
use crate::objects::{Node, Pod};
use crate::rules::{Refusals, Rules, Ties};
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
    Volumes(Vec<Refusal>),
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

/// The decision about a pod.
#[derive(Clone, Debug)]
pub enum Decision {
    /// It goes to this node.
    Place(Feasible),
    /// No node can take it now.
    Unschedulable {
        /// The text for condition and event.
        message: String,
        /// What has to change before another attempt makes sense.
        blockers: BTreeSet<Blocker>,
        /// Every node with its causes; empty if nodes were not looked at.
        refused: Vec<Refused>,
    },
    /// The attempt was aborted by an error and is to be repeated.
    Failed {
        /// The text for condition and event.
        message: String,
    },
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
    /// What other pods take of the nodes' resources.
    Resources,
    /// An extender; the scheduler does not know what it waits for.
    Extender,
}

/// Decides about a pod. Ties between the highest scores are broken by `random` alone.
pub fn decide(snapshot: &Snapshot, rules: &Rules, pod: &Pod, random: &mut impl Rng) -> Decision {
    match judge(snapshot, rules, pod) {
        Ok(mut assessment) => {
            rank(&mut assessment, rules);
            choose(assessment, rules, pod, random)
        }
        Err(decision) => decision,
    }
}

/// Every node's verdict, to be ranked by [`rank`], which extenders may change before [`choose`]; or the decision, where no node needs a
/// look.
pub fn judge(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, Decision> {
    if snapshot.nodes.is_empty() {
        return Err(Decision::Unschedulable {
            message: message::NO_NODES.to_owned(),
            blockers: [Blocker::Nodes, Blocker::Volumes].into(),
            refused: Vec::new(),
        });
    }
    filter_nodes(snapshot, rules, pod).map_err(|error| match error {
        NoAssessment::Unready(reason) => Decision::Unschedulable {
            message: message::unready(
                rules.form,
                snapshot.nodes.len(),
                &reason.to_string(),
                Preemption {
                    never: pod.never_preempts,
                    hopeful: 0,
                },
            ),
            blockers: [Blocker::Volumes].into(),
            refused: Vec::new(),
        },
        NoAssessment::Filter(error) => Decision::Failed {
            message: format!("running \"VolumeBinding\" filter plugin: {error}"),
        },
    })
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

fn filter_nodes(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, NoAssessment> {
    let claims = claims::classify(snapshot, rules, pod)?;
    let conditions = NodeConditions::of(snapshot, pod);
    let mut assessment = Assessment::default();
    for node in snapshot.nodes.iter() {
        let node = Arc::clone(node);
        if let Some(unfit) = conditions.check(&node) {
            let cause = Cause::Unfit(unfit);
            assessment.refused.push(Refused { node, cause });
            continue;
        }
        if let Some(error) = undecidable(&claims) {
            return Err(error.into());
        }
        match filter::check_node(snapshot, rules, &claims, &node) {
            Ok(plan) => assessment.feasible.push(Feasible { node, plan, score: 0 }),
            Err(refusals) => {
                let cause = Cause::Volumes(refusals);
                assessment.refused.push(Refused { node, cause });
            }
        }
    }
    Ok(assessment)
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

/// The decision that follows from every node's verdict.
pub fn choose(mut assessment: Assessment, rules: &Rules, pod: &Pod, random: &mut impl Rng) -> Decision {
    let best = assessment.feasible.iter().map(|feasible| feasible.score).max();
    assessment
        .feasible
        .retain(|feasible| Some(feasible.score) == best);
    let chosen = match rules.ties {
        Ties::Random => assessment.feasible.choose(random),
        Ties::First => assessment.feasible.first(),
        Ties::Last => assessment.feasible.last(),
    };
    match chosen {
        Some(chosen) => Decision::Place(chosen.clone()),
        None => unschedulable(assessment.refused, rules, pod),
    }
}

fn unschedulable(refused: Vec<Refused>, rules: &Rules, pod: &Pod) -> Decision {
    let mut blockers = BTreeSet::new();
    for refused in &refused {
        refused.cause.note_blockers(rules, &mut blockers);
    }
    Decision::Unschedulable {
        message: refusal(&refused, rules, pod),
        blockers,
        refused,
    }
}

/// The text for a pod that every node refused.
pub(crate) fn refusal(refused: &[Refused], rules: &Rules, pod: &Pod) -> String {
    let reasons = refused.iter().flat_map(|refused| refused.cause.reasons(rules));
    if rules.refusals == Refusals::Plain {
        return message::plain(reasons);
    }
    let may_have_room = |refused: &&Refused| {
        matches!(
            refused.cause,
            Cause::Unfit(Unfit::Full(_)) | Cause::Extender { is_final: false, .. }
        )
    };
    let preemption = Preemption {
        never: pod.never_preempts,
        hopeful: refused.iter().filter(may_have_room).count(),
    };
    message::refused(rules.form, refused.len(), reasons, preemption)
}

impl Cause {
    /// The reasons in kube-scheduler's words.
    pub fn reasons(&self, rules: &Rules) -> Vec<Cow<'static, str>> {
        match self {
            Self::Unfit(unfit) => unfit.reasons(rules),
            Self::Volumes(refusals) => refusals.iter().map(|refusal| refusal.reason().into()).collect(),
            Self::Extender { reason, .. } => vec![reason.clone().into()],
        }
    }

    fn note_blockers(&self, rules: &Rules, blockers: &mut BTreeSet<Blocker>) {
        let refusals = match self {
            Self::Unfit(unfit) => {
                blockers.insert(match unfit {
                    Unfit::Full(_) => Blocker::Resources,
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
            let Refusal::NotEnoughSpace { claim } = refusal else {
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
