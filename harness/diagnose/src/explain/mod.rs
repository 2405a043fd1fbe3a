//! Explains on which nodes a pod, or a hypothetical PVC, fits, and why the remaining nodes are rejected.
//!
//! Performs no I/O: returns every node's verdict, with the CSIStorageCapacity objects that were considered and why each is not sufficient.
//! Kubernetes offers no such explanation (KEP-1472 only defines the reason text). The verdicts come from [`capacity_scheduler::cycle`] and
//! [`capacity_scheduler::capacity_check`].

mod causes;
mod objects;
mod obstacle;
mod table;

use std::borrow::Cow;
use std::sync::Arc;

use capacity_types::ByteConversion;
use capacity_types::quantity::format_bytes;
use serde::Serialize;
use serde_json::json;

use self::objects::ConsideredObjects;
use crate::lint::{self, Finding};
use capacity_scheduler::Options;
use capacity_scheduler::capacity_check::{self, Demand, Sufficiency, Unchecked};
use capacity_scheduler::claims::{DelayedClaim, PodClaims, classify};
use capacity_scheduler::cycle::{self, AssessError, Assessment, Cause, Feasible, Rejected, assess};
use capacity_scheduler::filter::{BindConflict, ConflictReason};
use capacity_scheduler::message;
use capacity_scheduler::objects::{Claim, Node, Object, ObjectKey, Pod, ReadError};
use capacity_scheduler::preemption::{Preemption, preempt};
use capacity_scheduler::rules::Rules;
use capacity_scheduler::snapshot::Snapshot;
use capacity_scheduler::store::Collection;

pub use self::objects::{ObjectVerdict, ObjectView};

/// How much an explanation contains.
#[derive(Clone, Debug)]
pub struct ExplainOptions {
    /// Name of the only node to explain. `None`: all nodes.
    pub node: Option<String>,
    /// Maximum number of CSIStorageCapacity objects per node and PVC, closest first.
    pub objects: usize,
}

impl Default for ExplainOptions {
    fn default() -> Self {
        Self {
            node: None,
            objects: 8,
        }
    }
}

/// The explanation of a scheduling decision.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The explained pod or PVC.
    pub subject: String,
    /// The scheduling decision, with kube-scheduler's text if kube-scheduler has one.
    pub verdict: String,
    /// The pods that the scheduler would evict by preemption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Causes outside the scheduler why the pod does not start, each with its remedy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Message of the pod's PodScheduled condition, if the message differs from the verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The PVCs, in the order in which the scheduler checks them.
    pub claims: Vec<ClaimView>,
    /// The verdicts for the explained nodes, sorted by node name.
    pub nodes: Vec<NodeView>,
    /// Findings of the lint about capacity objects for the StorageClasses of the PVCs.
    pub findings: Vec<Finding>,
}

/// A PVC, independent of any node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimView {
    /// Namespace and name of the PVC.
    pub claim: String,
    /// Name of the PVC's StorageClass.
    pub class: String,
    /// Requested storage, such as `1Gi`.
    pub request: Option<String>,
    /// Whether the PVC is bound, whether its capacity is checked, and why.
    pub state: String,
}

/// The verdict about the pod or PVC for one node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView {
    /// Name of the node.
    pub node: String,
    /// Whether the pod fits on the node.
    pub fits: bool,
    /// Score of the node, from 0 to 100. `None` unless several nodes fit and scoring is on.
    pub score: Option<i64>,
    /// Why the pod does not fit on the node, in kube-scheduler's words. Empty if the pod fits.
    pub reasons: Vec<String>,
    /// What exactly excludes the node, except missing capacity: the taint, the label or the resource.
    pub obstacles: Vec<String>,
    /// The unbound PVCs of the pod.
    pub claims: Vec<NodeClaim>,
}

/// An unbound PVC of the pod, compared with one node.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaim {
    /// Namespace and name of the PVC.
    pub claim: String,
    /// How the PVC would get a volume on the node, or why it would not.
    pub outcome: String,
    /// The CSIStorageCapacity objects that were considered, closest first.
    pub objects: Vec<ObjectView>,
    /// Number of CSIStorageCapacity objects of the PVC's StorageClass that `objects` omits.
    pub more: usize,
}

/// Why a pod or PVC cannot be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// The node given by the user does not exist.
    #[error("there is no node {0:?}; name a node of the cluster")]
    NoNode(String),
    /// The StorageClass given by the user does not exist.
    #[error("no StorageClass is named {class:?}; PVCs of it stay Pending until it exists; existing classes: {}", known.join(", "))]
    NoClass {
        /// Name given by the user.
        class: String,
        /// Names of the existing StorageClasses.
        known: Vec<String>,
    },
    /// The size given by the user is invalid.
    #[error(transparent)]
    Size(#[from] ReadError),
    /// The objects for the hypothetical PVC are invalid, which is a bug of this program.
    #[error("the hypothetical claim is invalid: {0}; please report this")]
    Example(#[from] serde_json::Error),
}

/// Explains the scheduling of a pod.
pub fn pod(
    snapshot: &Snapshot,
    rules: &Rules,
    pod: &Pod,
    detail: &ExplainOptions,
) -> Result<Explanation, ExplainError> {
    let subject = match pod.unsupported.is_empty() {
        true => format!("pod {}", pod.key),
        false => format!(
            "pod {}; not evaluated: {}",
            pod.key,
            pod.unsupported.join(" and ")
        ),
    };
    if let Some(verdict) = not_attempted(pod) {
        return Ok(Explanation {
            verdict,
            subject,
            preemption: None,
            causes: causes::causes(snapshot, pod),
            condition: None,
            claims: Vec::new(),
            nodes: Vec::new(),
            findings: Vec::new(),
        });
    }
    let mut explained = explain(snapshot, rules, pod, subject, detail)?;
    explained.causes = causes::causes(snapshot, pod);
    let condition = pod
        .scheduled_condition()
        .filter(|condition| condition.status == "False");
    explained.condition = condition
        .and_then(|condition| condition.message.clone())
        .filter(|message| without_suffixes(message) != without_suffixes(&explained.verdict));
    Ok(explained)
}

/// The reasons in the message of a PodScheduled condition, without suffixes that only some releases add.
fn without_suffixes(message: &str) -> String {
    let reasons = message.split(" preemption:").next().unwrap_or_default();
    let reasons = reasons
        .strip_suffix(" no new claims to deallocate,")
        .unwrap_or(reasons);
    let mut text = String::new();
    let mut rest = reasons;
    // Some releases print the taint's key and value in braces instead of `(s)`.
    while let Some((before, after)) = rest.split_once("untolerated taint {") {
        text += before;
        text += "untolerated taint(s)";
        rest = after.split_once('}').map_or("", |(_, after)| after);
    }
    text + rest
}

/// Why the default scheduler does not try to schedule the pod.
fn not_attempted(pod: &Pod) -> Option<String> {
    let ours = Options::default().scheduler_name;
    match &pod.node {
        Some(node) => Some(format!(
            "is already on node {node}; a scheduled pod is never moved"
        )),
        None if pod.deleting => Some("is being deleted: no scheduler attempts it".to_owned()),
        None if pod.gated => Some(
            "has scheduling gates: no scheduler attempts it until spec.schedulingGates is empty".to_owned(),
        ),
        None if pod.scheduler_name != ours => Some(format!(
            "has spec.schedulerName {}: {ours} does not attempt it",
            pod.scheduler_name
        )),
        None => None,
    }
}

/// Explains where a hypothetical PVC of this StorageClass and size fits.
pub fn claim(
    snapshot: &Snapshot,
    rules: &Rules,
    class: &str,
    size: &str,
    detail: &ExplainOptions,
) -> Result<Explanation, ExplainError> {
    let Some(found) = snapshot.class(class) else {
        let known = snapshot.classes.iter().map(|class| class.key.name.clone());
        return Err(ExplainError::NoClass {
            class: class.to_owned(),
            known: known.collect(),
        });
    };
    let subject = format!("a claim for {size} of class {class}");
    if !found.delayed {
        let verdict = "is provisioned before any pod is scheduled, without a capacity check, because volumeBindingMode is Immediate";
        return Ok(Explanation {
            subject,
            verdict: verdict.to_owned(),
            preemption: None,
            causes: Vec::new(),
            condition: None,
            claims: Vec::new(),
            nodes: Vec::new(),
            findings: findings(snapshot, [class], |_| false),
        });
    }
    let mut snapshot = snapshot.clone();
    let claim = json!({
        "metadata": {"name": "hypothetical"},
        "spec": {"storageClassName": class, "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
    });
    let claim = Claim::read(&serde_json::from_value(claim)?)?;
    snapshot.claims.put(Arc::new(claim));
    let volume = json!({"name": "data", "persistentVolumeClaim": {"claimName": "hypothetical"}});
    let pod = json!({"metadata": {"name": "hypothetical"}, "spec": {"containers": [], "volumes": [volume]}});
    let pod = Pod::read(&serde_json::from_value(pod)?)?;
    explain(&snapshot, rules, &pod, subject, detail)
}

fn explain(
    snapshot: &Snapshot,
    rules: &Rules,
    pod: &Pod,
    subject: String,
    detail: &ExplainOptions,
) -> Result<Explanation, ExplainError> {
    if let Some(name) = &detail.node
        && snapshot.nodes.stored(&ObjectKey::cluster(name)).is_none()
    {
        return Err(ExplainError::NoNode(name.clone()));
    }
    let explanation = |verdict: String, claims: Vec<ClaimView>, nodes, classes: Vec<&str>| Explanation {
        subject,
        verdict,
        preemption: None,
        causes: Vec::new(),
        condition: None,
        claims,
        nodes,
        findings: findings(snapshot, classes, |claim| pod.uses(claim)),
    };
    if snapshot.nodes.is_empty() {
        return Ok(explanation(
            message::NO_NODES.to_owned(),
            Vec::new(),
            Vec::new(),
            Vec::new(),
        ));
    }
    let claims = match classify(snapshot, rules, pod) {
        Ok(claims) => claims,
        Err(reason) => {
            let verdict = cycle::pre_filter_message(snapshot, rules, pod, &reason.to_string());
            return Ok(explanation(
                verdict,
                unready_claim_views(snapshot, rules, pod),
                Vec::new(),
                Vec::new(),
            ));
        }
    };
    let classes = claims.to_provision.iter().chain(&claims.to_match);
    let classes = classes.map(|delayed| delayed.class.key.name.as_str()).collect();
    let views = claim_views(rules, &claims);
    let assessment = match assess(snapshot, rules, pod) {
        Ok(assessment) => assessment,
        Err(error @ (AssessError::Filter(_) | AssessError::PreFilter(_))) => {
            return Ok(explanation(error.to_string(), views, Vec::new(), classes));
        }
    };
    let (verdict, preemption) = match assessment.feasible.is_empty() {
        true => {
            let preemption = preempt(snapshot, rules, pod, &assessment.rejected);
            let verdict = cycle::rejection_message(&assessment.rejected, rules, &preemption);
            (verdict, eviction_text(snapshot, &preemption))
        }
        false => (fits_text(rules, &assessment), None),
    };
    let has_scores = rules.shape.is_some() && assessment.feasible.len() > 1;
    let considered: Vec<_> = claims
        .to_provision
        .iter()
        .chain(&claims.to_match)
        .map(|delayed| ConsideredObjects::new(snapshot, rules, delayed, detail.objects))
        .collect();
    let feasible = assessment.feasible.iter().map(|feasible| NodeView {
        node: feasible.node.name().to_owned(),
        fits: true,
        score: has_scores.then_some(feasible.score),
        reasons: Vec::new(),
        obstacles: Vec::new(),
        claims: node_claims(&considered, &feasible.node, |claim| {
            planned_outcome(feasible, claim)
        }),
    });
    let refused = assessment.rejected.iter().map(|refused| NodeView {
        node: refused.node.name().to_owned(),
        fits: false,
        score: None,
        reasons: refused
            .cause
            .reasons(rules)
            .into_iter()
            .map(Cow::into_owned)
            .collect(),
        obstacles: obstacle::obstacles(snapshot, pod, refused),
        claims: node_claims(&considered, &refused.node, |claim| {
            rejection_outcome(refused, claim)
        }),
    });
    let is_wanted = |view: &NodeView| detail.node.as_ref().is_none_or(|node| *node == view.node);
    let mut nodes: Vec<_> = feasible.chain(refused).filter(is_wanted).collect();
    nodes.sort_by(|left, right| left.node.cmp(&right.node));
    Ok(Explanation {
        preemption,
        ..explanation(verdict, views, nodes, classes)
    })
}

/// Lists the feasible nodes. The scores of non-storage plugins are unknown, so the node that the scheduler will choose is unknown too.
fn fits_text(rules: &Rules, assessment: &Assessment) -> String {
    /// Maximum number of nodes that the verdict lists.
    const LISTED_MAX: usize = 4;
    let feasible = &assessment.feasible;
    let names: Vec<_> = feasible.iter().map(|feasible| feasible.node.name()).collect();
    let all = feasible.len() + assessment.rejected.len();
    let named = match names.len() {
        ..=LISTED_MAX => names.join(", "),
        count => format!(
            "{} and {} more",
            names[..LISTED_MAX - 1].join(", "),
            count + 1 - LISTED_MAX
        ),
    };
    let mut text = format!("fits {} of {all} nodes: {named}", feasible.len());
    let best = feasible.iter().map(|feasible| feasible.score).max();
    let best: Vec<_> = feasible.iter().filter(|it| Some(it.score) == best).collect();
    if rules.shape.is_some() && best.len() < feasible.len() {
        let best: Vec<_> = best.iter().map(|feasible| feasible.node.name()).collect();
        text += &format!("; the best score for storage: {}", best.join(", "));
    }
    text
}

fn eviction_text(snapshot: &Snapshot, preemption: &Preemption) -> Option<String> {
    let Preemption::Evicts(candidate) = preemption else {
        return None;
    };
    let victims: Vec<_> = candidate
        .victims
        .iter()
        .map(|victim| format!("{} (priority {})", victim.key, victim.priority))
        .collect();
    let budgets = match candidate.violations {
        0 if snapshot.budgets.is_empty() => "; no PodDisruptionBudget is known".to_owned(),
        0 => String::new(),
        count => {
            format!(
                "; {count} of them in violation of their PodDisruptionBudgets, because no node has better victims"
            )
        }
    };
    Some(format!(
        "preemption is possible on node {}: it evicts {}{budgets}",
        candidate.node.name(),
        victims.join(", ")
    ))
}

fn claim_view(rules: &Rules, claim: &Claim, state: String) -> ClaimView {
    ClaimView {
        claim: claim.key.to_string(),
        class: claim.class.clone(),
        request: claim
            .request
            .map(|request| format_bytes(request.bytes(rules.arithmetic))),
        state,
    }
}

/// The PVCs of a pod that the scheduler rejects before it filters nodes.
fn unready_claim_views(snapshot: &Snapshot, rules: &Rules, pod: &Pod) -> Vec<ClaimView> {
    let claims = pod
        .volumes
        .iter()
        .filter_map(|volume| snapshot.claims.stored(&volume.claim));
    let state = |claim: &Claim| match (&claim.volume, snapshot.class(&claim.class)) {
        (Some(volume), _) => format!("bound to {volume}"),
        (None, None) => format!("not bound; there is no StorageClass {}", claim.class),
        (None, Some(class)) if class.delayed => "waits for its first consumer".to_owned(),
        (None, Some(class)) => format!(
            "not bound; volumeBindingMode is Immediate, so {} must create its volume before a pod is scheduled",
            class.provisioner
        ),
    };
    claims
        .map(|claim| claim_view(rules, claim, state(claim)))
        .collect()
}

fn claim_views(rules: &Rules, claims: &PodClaims) -> Vec<ClaimView> {
    let view = |claim: &Claim, state: String| claim_view(rules, claim, state);
    let bound = claims.bound.iter().map(|claim| {
        let volume = claim.volume.as_deref().unwrap_or_default();
        view(
            claim,
            format!("bound to {volume}; only nodes that can access it are considered"),
        )
    });
    let delayed = claims.to_provision.iter().chain(&claims.to_match).map(|delayed| {
        let mut state = demand_text(delayed);
        if let Some(node) = &delayed.claim.selected_node {
            state = format!("its selected-node is {node}, so no other node is considered; {state}");
        }
        view(&delayed.claim, state)
    });
    bound.chain(delayed).collect()
}

fn demand_text(delayed: &DelayedClaim) -> String {
    let provisioner = &delayed.class.provisioner;
    match &delayed.demand {
        Demand::Request(_) => format!("waits for its first consumer; {provisioner} tracks capacity"),
        Demand::Unchecked(reason) => format!(
            "waits for its first consumer; capacity is not checked: {}",
            unchecked_text(*reason, provisioner)
        ),
        Demand::Unreadable(error) => format!("waits for its first consumer; {error}"),
    }
}

fn unchecked_text(reason: Unchecked, provisioner: &str) -> String {
    match reason {
        Unchecked::NoRequest => "it requests no storage".to_owned(),
        Unchecked::NoDriver => format!("no CSIDriver is named {provisioner}"),
        Unchecked::NotTracked => format!("CSIDriver {provisioner} has not set storageCapacity: true"),
        Unchecked::GateOff => "the scheduler's feature gate CSIStorageCapacity is disabled".to_owned(),
    }
}

fn node_claims(
    claims: &[ConsideredObjects<'_>],
    node: &Node,
    outcome: impl Fn(&ObjectKey) -> Option<String>,
) -> Vec<NodeClaim> {
    let view = |considered: &ConsideredObjects<'_>| {
        let claim = &considered.delayed.claim;
        let (objects, more) = considered.closest_objects(node);
        NodeClaim {
            claim: claim.key.to_string(),
            outcome: outcome(&claim.key).unwrap_or_else(|| evaluate_alone(considered, node)),
            objects,
            more,
        }
    };
    claims.iter().map(view).collect()
}

/// How a PVC gets its volume on a feasible node; `None` if `feasible` has no plan for the PVC.
fn planned_outcome(feasible: &Feasible, claim: &ObjectKey) -> Option<String> {
    let binding = feasible.plan.bindings.iter().find(|it| it.claim.key == *claim);
    if let Some(binding) = binding {
        return Some(format!("is bound to volume {}, which exists", binding.volume.key));
    }
    let provision = feasible
        .plan
        .provisions
        .iter()
        .find(|it| it.claim.key == *claim)?;
    let limit = |object: &capacity_scheduler::objects::Capacity| {
        object
            .largest_volume()
            .map(|limit| format_bytes(limit.bytes(ByteConversion::Exact)))
    };
    Some(match &provision.capacity {
        Some(object) => format!(
            "is provisioned: {} allows volumes up to {}",
            object.key,
            limit(object).unwrap_or_default()
        ),
        None => "is provisioned; capacity is not checked".to_owned(),
    })
}

fn rejection_outcome(refused: &Rejected, claim: &ObjectKey) -> Option<String> {
    let Cause::Volumes(refusals) = &refused.cause else {
        return None;
    };
    refusals.iter().find_map(|refusal| match refusal {
        ConflictReason::BindConflict { claim: of, cause } if of == claim => Some(cause.to_string()),
        ConflictReason::NotEnoughSpace { claim: of } if of.key == *claim => {
            Some("no capacity object that this node can access is large enough".to_owned())
        }
        _ => None,
    })
}

/// Checks the PVC on a node that another filter rejected before the scheduler checked the PVC.
fn evaluate_alone(considered: &ConsideredObjects<'_>, node: &Node) -> String {
    let DelayedClaim { demand, class, .. } = considered.delayed;
    if !class.admits(&node.labels) {
        return BindConflict::TopologyNotAllowed.to_string();
    }
    let checked =
        capacity_check::check_capacity(considered.snapshot, considered.rules, demand, class, &node.labels);
    match checked {
        Sufficiency::Enough(object) => format!("would be provisioned with {}", object.key),
        Sufficiency::Unchecked(_) => "would be provisioned; capacity is not checked".to_owned(),
        Sufficiency::NotEnough => "no capacity object that this node can access is large enough".to_owned(),
    }
}

/// Lint findings about capacity objects for these StorageClasses, and about the pod's PVCs.
fn findings<'a>(
    snapshot: &Snapshot,
    classes: impl IntoIterator<Item = &'a str>,
    is_own: impl Fn(&ObjectKey) -> bool,
) -> Vec<Finding> {
    let classes: Vec<_> = classes.into_iter().collect();
    let mut findings = lint::lint(snapshot);
    findings.retain(|finding| {
        classes.contains(&finding.class.as_str()) && finding.claim.as_ref().is_none_or(&is_own)
    });
    findings
}
