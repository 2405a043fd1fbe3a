//! The Filter of the plugin VolumeBinding: whether a pod can get its volumes on a node.
//!
//! Pure functions that return a plan, or the rejection reasons with the affected PVCs.

use std::collections::BTreeSet;
use std::sync::Arc;

use capacity_types::ByteConversion;
use capacity_types::quantity::format_bytes;

use crate::capacity_check::{self, Sufficiency};
use crate::claims::{DelayedClaim, PodClaims};
use crate::objects::{Capacity, Claim, Class, Node, ObjectKey, Volume};
use crate::rules::Rules;
use crate::snapshot::Snapshot;

const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// How the unbound PVCs of a pod get their volumes on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumePlan {
    /// PersistentVolumes to bind statically.
    pub bindings: Vec<Binding>,
    /// PVCs to provision on the node.
    pub provisions: Vec<Provision>,
}

impl VolumePlan {
    /// Whether all PVCs of the pod are bound already.
    pub fn is_empty(&self) -> bool {
        self.bindings.is_empty() && self.provisions.is_empty()
    }
}

/// A PersistentVolume chosen for a PVC.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The PVC to bind.
    pub claim: Arc<Claim>,
    /// The PersistentVolume to bind the PVC to.
    pub volume: Arc<Volume>,
}

/// A PVC to be provisioned on the node.
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// The PVC to provision.
    pub claim: Arc<Claim>,
    /// The capacity object that is sufficient for the request. `None` if capacity was not checked.
    pub capacity: Option<Arc<Capacity>>,
}

/// kube-scheduler's reason for a node without enough storage capacity.
pub const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";

/// Why VolumeBinding rejects a node. The variants are in the order in which the reasons are reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConflictReason {
    /// The PersistentVolume of a bound PVC is not accessible from the node.
    NodeConflict {
        /// The bound PVC.
        claim: ObjectKey,
        /// The PersistentVolume to which the PVC is bound.
        volume: String,
    },
    /// An unbound PVC can be neither bound nor provisioned on the node.
    BindConflict {
        /// The unbound PVC.
        claim: ObjectKey,
        /// Why the PVC can be neither bound nor provisioned.
        cause: BindConflict,
    },
    /// No accessible capacity object is large enough for a PVC.
    NotEnoughSpace {
        /// The PVC, with its class and requested size.
        claim: Arc<Claim>,
    },
    /// The PersistentVolume of a bound PVC does not exist.
    VolumeNotFound {
        /// The bound PVC.
        claim: ObjectKey,
        /// The PersistentVolume name in `spec.volumeName` of the PVC.
        volume: String,
    },
}

/// Why a PVC cannot get a volume on a node, apart from capacity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BindConflict {
    /// An earlier attempt selected another node for the PVC.
    #[error("the claim's selected-node annotation is {0} until the provisioner removes it")]
    OtherNodeSelected(String),
    /// No PersistentVolume matches, and the class has no provisioner.
    #[error("no PersistentVolume matches, and the class has no provisioner")]
    NoProvisioner,
    /// `allowedTopologies` of the class excludes the node.
    #[error("allowedTopologies of the class does not allow this node")]
    TopologyNotAllowed,
}

impl ConflictReason {
    /// Describes the affected PVC, with class and size.
    pub fn describe(&self) -> String {
        match self {
            Self::NotEnoughSpace { claim } => {
                let size = claim
                    .request
                    .map(|request| format_bytes(request.bytes(ByteConversion::Exact)));
                format!(
                    "{} of class {}, {}",
                    claim.key,
                    claim.class,
                    size.unwrap_or_default()
                )
            }
            Self::NodeConflict { claim, volume } | Self::VolumeNotFound { claim, volume } => {
                format!("{claim}, bound to {volume}")
            }
            Self::BindConflict { claim, cause } => format!("{claim}: {cause}"),
        }
    }

    /// The rejection reason in kube-scheduler's wording.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NodeConflict { .. } => "node(s) didn't match PersistentVolume's node affinity",
            Self::BindConflict { .. } => "node(s) didn't find available persistent volumes to bind",
            Self::NotEnoughSpace { .. } => NOT_ENOUGH_SPACE,
            Self::VolumeNotFound { .. } => {
                "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
            }
        }
    }
}

/// Filters one node: returns a plan, or one or two reasons, because bound and unbound PVCs are checked independently.
pub fn check_node(
    snapshot: &Snapshot,
    rules: &Rules,
    claims: &PodClaims,
    node: &Node,
) -> Result<VolumePlan, Vec<ConflictReason>> {
    let bound = check_bound(snapshot, claims, node);
    let delayed = check_delayed(snapshot, rules, claims, node);
    match (bound, delayed) {
        (None, Ok(plan)) => Ok(plan),
        (None, Err(reason)) => Err(vec![reason]),
        (Some(reason), Ok(_)) => Err(vec![reason]),
        // As upstream, the reason for a missing PersistentVolume is the last, the reason for an inaccessible PersistentVolume the first.
        (Some(bound @ ConflictReason::VolumeNotFound { .. }), Err(delayed)) => Err(vec![delayed, bound]),
        (Some(bound), Err(delayed)) => Err(vec![bound, delayed]),
    }
}

fn check_bound(snapshot: &Snapshot, claims: &PodClaims, node: &Node) -> Option<ConflictReason> {
    claims.bound.iter().find_map(|claim| {
        let name = claim.volume.clone().unwrap_or_default();
        let key = claim.key.clone();
        match snapshot.volume(&name) {
            None => Some(ConflictReason::VolumeNotFound {
                claim: key,
                volume: name,
            }),
            Some(volume) if !volume.admits(&node.labels) => Some(ConflictReason::NodeConflict {
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
) -> Result<VolumePlan, ConflictReason> {
    let selected = |delayed: &DelayedClaim| delayed.claim.selected_node.clone().unwrap_or_default();
    let elsewhere = |delayed: &&DelayedClaim| delayed.claim.selected_node.as_deref() != Some(node.name());
    if let Some(delayed) = claims.to_provision.iter().find(elsewhere) {
        let cause = BindConflict::OtherNodeSelected(selected(delayed));
        return Err(bind_conflict(delayed, cause));
    }
    let (bindings, unmatched) = match_volumes(&claims.to_match, node);
    let mut plan = VolumePlan {
        bindings,
        provisions: Vec::new(),
    };
    for delayed in claims.to_provision.iter().chain(unmatched) {
        plan.provisions
            .push(check_provision(snapshot, rules, delayed, node)?);
    }
    Ok(plan)
}

fn match_volumes<'a>(unbound: &'a [DelayedClaim], node: &Node) -> (Vec<Binding>, Vec<&'a DelayedClaim>) {
    let mut taken = BTreeSet::new();
    let mut bindings = Vec::new();
    let mut unmatched = Vec::new();
    for delayed in unbound {
        let Some(volume) = delayed.matching.choose(&taken, &node.labels) else {
            unmatched.push(delayed);
            continue;
        };
        taken.insert(&volume.key);
        bindings.push(Binding {
            claim: Arc::clone(&delayed.claim),
            volume: Arc::clone(volume),
        });
    }
    (bindings, unmatched)
}

/// Checks provisioner, allowedTopologies and capacity, in this order. The first failed check is the reason for the rejection.
fn check_provision(
    snapshot: &Snapshot,
    rules: &Rules,
    delayed: &DelayedClaim,
    node: &Node,
) -> Result<Provision, ConflictReason> {
    let DelayedClaim {
        claim, class, demand, ..
    } = delayed;
    if !has_provisioner(class) {
        return Err(bind_conflict(delayed, BindConflict::NoProvisioner));
    }
    if !class.admits(&node.labels) {
        return Err(bind_conflict(delayed, BindConflict::TopologyNotAllowed));
    }
    let capacity = match capacity_check::check_capacity(snapshot, rules, demand, class, &node.labels) {
        Sufficiency::Enough(object) => Some(object),
        Sufficiency::Unchecked(_) => None,
        Sufficiency::NotEnough => {
            let claim = Arc::clone(claim);
            return Err(ConflictReason::NotEnoughSpace { claim });
        }
    };
    Ok(Provision {
        claim: Arc::clone(claim),
        capacity,
    })
}

fn has_provisioner(class: &Class) -> bool {
    !matches!(class.provisioner.as_str(), "" | NO_PROVISIONER)
}

fn bind_conflict(delayed: &DelayedClaim, cause: BindConflict) -> ConflictReason {
    ConflictReason::BindConflict {
        claim: delayed.claim.key.clone(),
        cause,
    }
}
