//! Why a node is not feasible, and the rule that placing the pod there violates.

use std::fmt;

use crate::rules::{self, Rule};

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// `spec.unschedulable`.
    Unschedulable,
    /// The pod does not tolerate the node's taint with this key.
    Tainted(String),
    /// `nodeSelector` or node affinity does not match.
    NotSelected,
    /// The node's volume limit of this driver is reached.
    TooManyVolumes(String),
    /// The PersistentVolume of this PVC does not exist.
    VolumeMissing(String),
    /// The PersistentVolume of this PVC is not accessible from the node.
    VolumeElsewhere(String),
    /// Another node is selected for this PVC.
    SelectedElsewhere(String),
    /// No PersistentVolume matches this PVC, and its class has no provisioner.
    NoProvisioner(String),
    /// No PersistentVolume matches this PVC, and its class excludes the node.
    NotAllowed(String),
    /// No capacity object is large enough for this PVC.
    NotEnoughCapacity(String),
    /// No devices are reserved for the pod on the node.
    NotReserved,
    /// This extender rejects the node.
    Extender(String),
    /// This extender fails and is not ignorable.
    ExtenderFails(String),
}

impl Reason {
    /// The rule that placing the pod there violates.
    pub fn rule(&self) -> &'static Rule {
        match self {
            Reason::Unschedulable | Reason::Tainted(_) | Reason::NotSelected | Reason::TooManyVolumes(_) => {
                rules::NO_NODE
            }
            Reason::VolumeMissing(_)
            | Reason::VolumeElsewhere(_)
            | Reason::SelectedElsewhere(_)
            | Reason::NoProvisioner(_)
            | Reason::NotAllowed(_) => rules::NO_VOLUME,
            Reason::NotEnoughCapacity(_) => rules::NO_CAPACITY,
            Reason::NotReserved => rules::NOT_RESERVED,
            Reason::Extender(_) | Reason::ExtenderFails(_) => rules::NOT_EXTENDED,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Unschedulable => write!(f, "the node is unschedulable"),
            Reason::Tainted(key) => write!(f, "the pod does not tolerate its taint {key}"),
            Reason::NotSelected => write!(f, "the pod's node selector or affinity does not match"),
            Reason::TooManyVolumes(driver) => write!(f, "the node has reached its volume limit of {driver}"),
            Reason::VolumeMissing(claim) => write!(f, "the volume of claim {claim} does not exist"),
            Reason::VolumeElsewhere(claim) => {
                write!(f, "the node has no access to the volume of claim {claim}")
            }
            Reason::SelectedElsewhere(claim) => write!(f, "another node is selected for claim {claim}"),
            Reason::NoProvisioner(claim) => write!(f, "no provisioner is running for claim {claim}"),
            Reason::NotAllowed(claim) => {
                write!(f, "the class of claim {claim} does not allow the node's topology")
            }
            Reason::NotEnoughCapacity(claim) => {
                write!(f, "no capacity object has enough capacity for claim {claim}")
            }
            Reason::NotReserved => write!(f, "nothing is reserved for the pod on the node"),
            Reason::Extender(name) => write!(f, "extender {name} rejects the node"),
            Reason::ExtenderFails(name) => write!(f, "extender {name} fails, and is not ignorable"),
        }
    }
}
