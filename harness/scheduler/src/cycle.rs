//! One scheduling attempt: makes a decision from a pod and a snapshot. All functions are pure, apart from the random choice among nodes of
//! equal score.
//!
//! Used by the scheduling loop, `cargo xtask why`, the extender and the benchmark.

use std::collections::BTreeSet;

use rand::Rng;
use rand::seq::IndexedRandom;

use crate::assessment::filter_nodes;
use crate::message;
use crate::objects::Pod;
use crate::preemption::{Candidate, NOT_HELPFUL, Preemption, preempt};
use crate::rules::{MessageStyle, Rules, Ties};
use crate::snapshot::Snapshot;

pub use crate::assessment::{AssessError, Assessment, Blocker, Cause, Feasible, Rejected, assess, rank};

/// The result of one scheduling attempt.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The pod is placed on this node.
    Place(Feasible),
    /// No node is feasible.
    Unschedulable {
        /// Message of the PodScheduled condition and of the Event.
        message: String,
        /// What must change in the cluster before another attempt can succeed.
        blockers: BTreeSet<Blocker>,
        /// Every node with its rejection reasons. Empty if no node was filtered.
        rejected: Vec<Rejected>,
        /// The preemption victims and their node. `None` if preemption does not help.
        eviction: Option<Candidate>,
    },
    /// An error aborted the scheduling attempt, which is retried.
    Failed {
        /// Message of the PodScheduled condition and of the Event.
        message: String,
    },
}

/// Makes one scheduling decision. `random` chooses among nodes with the highest score.
pub fn decide(snapshot: &Snapshot, rules: &Rules, pod: &Pod, random: &mut impl Rng) -> Decision {
    match run_filters(snapshot, rules, pod) {
        Ok(mut assessment) => {
            rank(&mut assessment, rules);
            choose(snapshot, assessment, rules, pod, random)
        }
        Err(decision) => decision,
    }
}

/// Filters every node. The caller scores the result with [`rank`], may call extenders, and passes the result to [`choose`]. The error is
/// the decision if no node can be filtered or a filter returns an error.
pub fn run_filters(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Result<Assessment, Decision> {
    if snapshot.nodes.is_empty() {
        return Err(Decision::Unschedulable {
            message: message::NO_NODES.to_owned(),
            blockers: [Blocker::Nodes, Blocker::Volumes].into(),
            rejected: Vec::new(),
            eviction: None,
        });
    }
    filter_nodes(snapshot, rules, pod).map_err(|error| match error {
        AssessError::PreFilter(reason) => Decision::Unschedulable {
            message: pre_filter_message(snapshot, rules, pod, &reason.to_string()),
            blockers: [Blocker::Volumes].into(),
            rejected: Vec::new(),
            eviction: None,
        },
        AssessError::Filter(error) => Decision::Failed {
            message: format!("running \"VolumeBinding\" filter plugin: {error}"),
        },
    })
}

/// Message for a pod that fits no node for a reason that does not depend on the node, so that preemption would not help either.
pub fn pre_filter_message(snapshot: &Snapshot, rules: &Rules, pod: &Pod, reason: &str) -> String {
    let nodes = snapshot.nodes.len();
    let reasons = vec![NOT_HELPFUL.into(); nodes];
    let preemption = match pod.never_preempts {
        true => message::PreemptionOutcome::Never,
        false => message::PreemptionOutcome::NotHelpful(&reasons),
    };
    message::pre_filter_rejection(rules.wording, nodes, reason, &preemption)
}

/// Makes the scheduling decision from the filter results and scores.
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
        None => unschedulable(snapshot, assessment.rejected, rules, pod),
    }
}

fn unschedulable(snapshot: &Snapshot, rejected: Vec<Rejected>, rules: &Rules, pod: &Pod) -> Decision {
    let mut blockers = BTreeSet::new();
    for rejected in &rejected {
        rejected.cause.add_blockers(rules, &mut blockers);
    }
    let preemption = preempt(snapshot, rules, pod, &rejected);
    Decision::Unschedulable {
        message: rejection_message(&rejected, rules, &preemption),
        blockers,
        rejected,
        eviction: match preemption {
            Preemption::Evicts(candidate) => Some(candidate),
            _ => None,
        },
    }
}

/// Message for a pod that every node rejected.
pub fn rejection_message(rejected: &[Rejected], rules: &Rules, preemption: &Preemption) -> String {
    let reasons = rejected.iter().flat_map(|rejected| rejected.cause.reasons(rules));
    if rules.message_style == MessageStyle::Plain {
        return message::plain_rejection(reasons);
    }
    let preemption = match preemption {
        Preemption::Never => message::PreemptionOutcome::Never,
        Preemption::VictimsTerminating => message::PreemptionOutcome::VictimsTerminating,
        Preemption::Evicts(_) => message::PreemptionOutcome::Evicts,
        Preemption::NotHelpful(reasons) => message::PreemptionOutcome::NotHelpful(reasons),
    };
    message::rejection(rules.wording, rejected.len(), reasons, &preemption)
}
