//! Compares the scheduler's decision about a pod with the allowed decisions.

use super::claims::PodRejection;
use super::decision::{Decision, NodeVerdict};
use super::indexed_world::IndexedWorld;
use crate::rules::{self, Rule};
use crate::violation::{Subject, Violation};
use crate::world::{NamespacedName, Pod, PodVolume, Scoring, World};

/// The scheduler's decision about a pod: the selected node, or that no node is feasible.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The scheduler has selected this node.
    ScheduledOn(String),
    /// The scheduler has reported the pod as unschedulable.
    Unschedulable,
}

/// Checks a decision. `world`: the state of the cluster at that time.
pub fn judge(world: &World, pod: &NamespacedName, outcome: &Outcome) -> Vec<Violation> {
    IndexedWorld::new(world).judge(pod, outcome)
}

/// Violations at quiescence: pods without a node although a node is feasible. Ignores pods whose PVCs have a selected node, because they
/// may wait for their volumes.
pub fn pending_violations(world: &World) -> Vec<Violation> {
    let has_selected_node = |namespace: &str, pod: &Pod| {
        let claims = pod.volumes.iter().filter_map(|volume| match volume {
            PodVolume::Claim(name) | PodVolume::Ephemeral(name) => {
                world.claims.get(&NamespacedName::new(namespace, name))
            }
            PodVolume::Inline(_) => None,
        });
        let mut selected = claims.filter(|claim| claim.volume.is_empty() && claim.selected_node.is_some());
        selected.next().is_some()
    };
    let indexed = IndexedWorld::new(world);
    let pods = world.pods.iter();
    let waiting = pods.filter(|(key, pod)| pod.node.is_none() && !has_selected_node(&key.namespace, pod));
    waiting
        .flat_map(|(key, pod)| {
            let wrong = indexed.judge(key, &Outcome::Unschedulable);
            wrong
                .into_iter()
                .chain(indexed.condition_message_violation(key, pod))
        })
        .collect()
}

/// Text that every message about nodes must contain. KEP-1472 quotes the reason “node(s) did not have enough free storage”, but does not
/// define the text around it.
const MESSAGE_SUBSTRING: &str = "node";

impl IndexedWorld<'_> {
    /// Checks a decision in this state of the cluster.
    pub fn judge(&self, pod: &NamespacedName, outcome: &Outcome) -> Vec<Violation> {
        let decision = self.decide(pod);
        let violation = |rule: &'static Rule, detail: String| Violation {
            rule,
            subject: Subject::Pod(pod.clone()),
            detail,
        };
        match (outcome, &decision) {
            (Outcome::ScheduledOn(node), Decision::Rejected(rejection)) => {
                let rule = match rejection {
                    PodRejection::NoPod => rules::NO_NODE,
                    _ => rules::NO_CLAIM,
                };
                vec![violation(
                    rule,
                    format!("the pod was placed on {node}, although {rejection}"),
                )]
            }
            (Outcome::ScheduledOn(node), Decision::Nodes(nodes)) => match nodes.get(node) {
                None => vec![violation(rules::NO_NODE, format!("node {node} does not exist"))],
                Some(NodeVerdict::Infeasible(reasons)) => reasons
                    .iter()
                    .map(|reason| violation(reason.rule(), format!("the pod was placed on {node}: {reason}")))
                    .collect(),
                Some(NodeVerdict::Feasible(scores)) => {
                    let best = decision.best();
                    let is_wrong = self.is_scored() && !best.contains(node.as_str());
                    let detail = || {
                        let scores: Vec<String> = scores.iter().map(i64::to_string).collect();
                        let best: Vec<&str> = best.iter().copied().collect();
                        let (scores, best) = (scores.join(" or "), best.join(", "));
                        format!("the pod was placed on {node} with score {scores}; best nodes: {best}")
                    };
                    is_wrong
                        .then(|| violation(rules::NOT_BEST, detail()))
                        .into_iter()
                        .collect()
                }
            },
            (Outcome::Unschedulable, decision) => {
                let feasible: Vec<&str> = decision.feasible().collect();
                let detail = || format!("unschedulable, although the pod fits on {}", feasible.join(", "));
                (!feasible.is_empty())
                    .then(|| violation(rules::WRONGLY_REFUSED, detail()))
                    .into_iter()
                    .collect()
            }
        }
    }

    /// The violation if the message of an unschedulable pod's condition does not mention nodes.
    fn condition_message_violation(&self, key: &NamespacedName, pod: &Pod) -> Option<Violation> {
        let text = pod
            .unschedulable_message
            .as_ref()
            .filter(|message| !message.contains(MESSAGE_SUBSTRING))?;
        let is_about_nodes = matches!(self.decide(key), Decision::Nodes(_));
        is_about_nodes.then(|| Violation {
            rule: rules::UNEXPLAINED,
            subject: Subject::Pod(key.clone()),
            detail: format!("the PodScheduled condition does not mention nodes: `{text}`"),
        })
    }

    /// Whether feasible nodes have scores, from capacity scoring or from extenders.
    fn is_scored(&self) -> bool {
        let mut extenders = self.world.extenders.iter();
        self.world.scheduler.scoring_mode() != Scoring::Off || extenders.any(|it| !it.scores.is_empty())
    }
}
