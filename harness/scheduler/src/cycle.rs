//! One scheduling attempt, from a pod and a snapshot to a decision. Pure but for the tie break.
//!
//! Knows no queue and no wire: the loop, the explanation, the extender and the benchmark all call this.

use std::collections::BTreeSet;

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::assessment::filter_nodes;
use crate::message;
use crate::objects::Pod;
use crate::preemption::{Candidate, NOT_HELPFUL, Preemption, preempt};
use crate::rules::{Refusals, Rules, Ties};
use crate::snapshot::Snapshot;

pub use crate::assessment::{Assessment, Blocker, Cause, Feasible, NoAssessment, Refused, assess, rank};

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
        /// The pods to be evicted, so that the pod gets their node.
        evicts: Option<Candidate>,
    },
    /// The attempt was aborted by an error and is to be repeated.
    Failed {
        /// The text for condition and event.
        message: String,
    },
}

/// Decides about a pod. Ties between the highest scores are broken by `random` alone.
pub fn decide(snapshot: &Snapshot, rules: &Rules, pod: &Pod, random: &mut impl Rng) -> Decision {
    match judge(snapshot, rules, pod) {
        Ok(mut assessment) => {
            rank(&mut assessment, rules);
            choose(snapshot, assessment, rules, pod, random)
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
            evicts: None,
        });
    }
    filter_nodes(snapshot, rules, pod).map_err(|error| match error {
        NoAssessment::Unready(reason) => Decision::Unschedulable {
            message: unready(snapshot, rules, pod, &reason.to_string()),
            blockers: [Blocker::Volumes].into(),
            refused: Vec::new(),
            evicts: None,
        },
        NoAssessment::Filter(error) => Decision::Failed {
            message: format!("running \"VolumeBinding\" filter plugin: {error}"),
        },
    })
}

/// The text for a pod that no node can take, whatever the nodes are. Preemption helps on none.
pub fn unready(snapshot: &Snapshot, rules: &Rules, pod: &Pod, reason: &str) -> String {
    let nodes = snapshot.nodes.len();
    let tried = vec![NOT_HELPFUL.into(); nodes];
    let preemption = match pod.never_preempts {
        true => message::Preemption::Never,
        false => message::Preemption::Tried(&tried),
    };
    message::unready(rules.form, nodes, reason, &preemption)
}

/// The decision that follows from every node's verdict.
pub fn choose(
    snapshot: &Snapshot,
    mut assessment: Assessment,
    rules: &Rules,
    pod: &Pod,
    random: &mut impl Rng,
) -> Decision {
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
        None => unschedulable(snapshot, assessment.refused, rules, pod),
    }
}

fn unschedulable(snapshot: &Snapshot, refused: Vec<Refused>, rules: &Rules, pod: &Pod) -> Decision {
    let mut blockers = BTreeSet::new();
    for refused in &refused {
        refused.cause.note_blockers(rules, &mut blockers);
    }
    let preemption = preempt(snapshot, rules, pod, &refused);
    Decision::Unschedulable {
        message: refusal(&refused, rules, &preemption),
        blockers,
        refused,
        evicts: match preemption {
            Preemption::Evicts(candidate) => Some(candidate),
            _ => None,
        },
    }
}

/// The text for a pod that every node refused.
pub fn refusal(refused: &[Refused], rules: &Rules, preemption: &Preemption) -> String {
    let reasons = refused.iter().flat_map(|refused| refused.cause.reasons(rules));
    if rules.refusals == Refusals::Plain {
        return message::plain(reasons);
    }
    let preemption = match preemption {
        Preemption::Never => message::Preemption::Never,
        Preemption::Waits => message::Preemption::Waits,
        Preemption::Evicts(_) => message::Preemption::Evicts,
        Preemption::HelpsNowhere(reasons) => message::Preemption::Tried(reasons),
    };
    message::refused(rules.form, refused.len(), reasons, &preemption)
}
