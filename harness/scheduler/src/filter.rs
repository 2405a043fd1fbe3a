//! Can a pod's volumes be had on a node (VolumeBinding's Filter)?
//!
//! Pure: from a snapshot to a plan or to refusals that carry what they are about. What a node is refused for besides
//! storage is decided elsewhere, and so is which of several feasible nodes wins.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::capacity_check::{self, Sufficiency};
use crate::claims::PodClaims;
use crate::defect::Defect;
use crate::objects::{Capacity, Claim, Class, Node, ObjectKey, Volume};
use crate::rules::Rules;
use crate::snapshot::Snapshot;
use crate::static_match;

/// Provisioner of classes whose volumes only people make.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// How the delayed claims of a pod get their volumes on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumePlan {
    /// Existing volumes to bind.
    pub bindings: Vec<Binding>,
    /// Claims to provision there.
    pub provisions: Vec<Provision>,
}

impl VolumePlan {
    /// Whether nothing is left to bind or provision.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && self.provisions.is_empty()
    }
}

/// An existing volume chosen for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The claim.
    pub claim: Arc<Claim>,
    /// Its volume.
    pub volume: Arc<Volume>,
}

/// A claim to be provisioned on the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// The claim.
    pub claim: Arc<Claim>,
    /// The capacity object that let it pass; none if capacity was not checked.
    pub capacity: Option<Arc<Capacity>>,
}

/// The storage-related reasons for which a node is refused, in the order in which they are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The volume of a bound claim is not accessible from the node.
    NodeConflict {
        /// The bound claim.
        claim: ObjectKey,
        /// Its volume.
        volume: String,
    },
    /// A delayed claim can neither be bound nor provisioned there.
    BindConflict {
        /// The claim.
        claim: ObjectKey,
        /// What stands in the way.
        cause: BindConflict,
    },
    /// No accessible capacity object is large enough for a claim.
    NotEnoughSpace {
        /// The claim.
        claim: ObjectKey,
        /// Its class.
        class: String,
        /// The requested bytes.
        request: i128,
    },
    /// The volume of a bound claim does not exist.
    VolumeMissing {
        /// The bound claim.
        claim: ObjectKey,
        /// The volume that it names.
        volume: String,
    },
}

/// Why a claim cannot be had on a node, capacity apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindConflict {
    /// An earlier attempt selected this other node.
    OtherNodeSelected(String),
    /// No volume suits, and the class has no provisioner.
    NoProvisioner,
    /// The class does not allow provisioning for the node.
    TopologyNotAllowed,
}

/// The filter cannot decide: a delayed claim's class vanished in between. Aborts the attempt.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("storageclass.storage.k8s.io \"{class}\" not found")]
pub struct FilterError {
    /// The class that was looked up.
    pub class: String,
}

impl Refusal {
    /// The reason in kube-scheduler's words.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NodeConflict { .. } => "node(s) didn't match PersistentVolume's node affinity",
            Self::BindConflict { .. } => "node(s) didn't find available persistent volumes to bind",
            Self::NotEnoughSpace { .. } => "node(s) did not have enough free storage",
            Self::VolumeMissing { .. } => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
        }
    }
}

/// Decides about one node: a plan, or one or two refusals (bound and delayed claims are judged independently).
pub fn check_node(
    snapshot: &Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    node: &Node,
) -> Result<Result<VolumePlan, Vec<Refusal>>, FilterError> {
    let bound = check_bound(snapshot, claims, node);
    let delayed = check_delayed(snapshot, rules, claims, node)?;
    Ok(match (bound, delayed) {
        (None, Ok(plan)) => Ok(plan),
        (None, Err(refusal)) => Err(vec![refusal]),
        (Some(refusal), Ok(_)) => Err(vec![refusal]),
        // A missing volume is reported last, an unreachable one first.
        (Some(bound @ Refusal::VolumeMissing { .. }), Err(delayed)) => Err(vec![delayed, bound]),
        (Some(bound), Err(delayed)) => Err(vec![bound, delayed]),
    })
}

fn check_bound(snapshot: &Snapshot, claims: &PodClaims, node: &Node) -> Option<Refusal> {
    claims.bound.iter().find_map(|claim| {
        let name = claim.volume.clone().unwrap_or_default();
        let key = claim.key.clone();
        match snapshot.volume(&name) {
            None => Some(Refusal::VolumeMissing {
                claim: key,
                volume: name,
            }),
            Some(volume) if !volume.admits(&node.labels) => Some(Refusal::NodeConflict {
                claim: key,
                volume: name,
            }),
            Some(_) => None,
        }
    })
}

fn check_delayed(
    snapshot: &Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    node: &Node,
) -> Result<Result<VolumePlan, Refusal>, FilterError> {
    let (selected, mut open): (Vec<_>, Vec<_>) = claims
        .delayed
        .iter()
        .partition(|claim| claim.selected_node.is_some());
    let elsewhere = |claim: &&&Arc<Claim>| claim.selected_node.as_deref() != Some(node.name());
    if let Some(claim) = selected.iter().find(elsewhere) {
        let other = claim.selected_node.clone().unwrap_or_default();
        return Ok(Err(conflict(claim, BindConflict::OtherNodeSelected(other))));
    }
    // Small claims first, so that they do not take the large volumes. The sort keeps equals in the order of the pod.
    open.sort_by_key(|claim| claim.request.map_or(0, |request| request.nanos()));
    let (bindings, unmatched) = if rules.has(Defect::IgnoresVolumes) {
        (Vec::new(), open)
    } else {
        match_volumes(claims, &open, node)
    };
    let mut plan = VolumePlan {
        bindings,
        provisions: Vec::new(),
    };
    for claim in selected.into_iter().chain(unmatched) {
        match check_provision(snapshot, rules, claim, node)? {
            Ok(provision) => plan.provisions.push(provision),
            Err(refusal) => return Ok(Err(refusal)),
        }
    }
    Ok(Ok(plan))
}

fn match_volumes<'a>(
    claims: &PodClaims,
    open: &[&'a Arc<Claim>],
    node: &Node,
) -> (Vec<Binding>, Vec<&'a Arc<Claim>>) {
    let mut taken = BTreeSet::new();
    let mut bindings = Vec::new();
    let mut unmatched = Vec::new();
    for claim in open {
        let volumes = claims.volumes.get(&claim.class).map_or(&[][..], Vec::as_slice);
        let Some(volume) = static_match::find(claim, volumes, &taken, &node.labels) else {
            unmatched.push(*claim);
            continue;
        };
        taken.insert(&volume.key);
        bindings.push(Binding {
            claim: Arc::clone(claim),
            volume: Arc::clone(volume),
        });
    }
    (bindings, unmatched)
}

/// Provisioner, allowed topologies, capacity: the first that fails is the node's reason.
fn check_provision(
    snapshot: &Snapshot,
    rules: &Rules,
    claim: &Arc<Claim>,
    node: &Node,
) -> Result<Result<Provision, Refusal>, FilterError> {
    let Some(class) = snapshot.class(&claim.class) else {
        return Err(FilterError {
            class: claim.class.clone(),
        });
    };
    if !has_provisioner(class) {
        return Ok(Err(conflict(claim, BindConflict::NoProvisioner)));
    }
    if !class.admits(&node.labels) {
        return Ok(Err(conflict(claim, BindConflict::TopologyNotAllowed)));
    }
    let capacity = match capacity_check::check(snapshot, rules, claim, class, &node.labels) {
        Sufficiency::Enough(object) => Some(object),
        Sufficiency::Unchecked(_) => None,
        Sufficiency::NotEnough => {
            return Ok(Err(Refusal::NotEnoughSpace {
                claim: claim.key.clone(),
                class: claim.class.clone(),
                request: claim.request.map_or(0, |request| request.bytes(rules.arithmetic)),
            }));
        }
    };
    Ok(Ok(Provision {
        claim: Arc::clone(claim),
        capacity,
    }))
}

fn has_provisioner(class: &Class) -> bool {
    !matches!(class.provisioner.as_str(), "" | NO_PROVISIONER)
}

fn conflict(claim: &Claim, cause: BindConflict) -> Refusal {
    Refusal::BindConflict {
        claim: claim.key.clone(),
        cause,
    }
}
