//! Why a node is not feasible, and which rule is violated if the pod runs there nevertheless.

use std::fmt;

use crate::rules::{self, Rule};

/// Why a node is not feasible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// `spec.unschedulable` of the node is true.
    Unschedulable,
    /// The pod does not tolerate the taint with this key.
    Tainted(String),
    /// The pod's `nodeSelector` or node affinity does not match the node.
    NotSelected,
    /// The node has reached its volume limit for this driver.
    TooManyVolumes(String),
    /// The PersistentVolume of this PVC does not exist.
    VolumeMissing(String),
    /// The PersistentVolume of this PVC is not accessible from the node.
    VolumeElsewhere(String),
    /// The selected-node annotation of this PVC names another node.
    SelectedElsewhere(String),
    /// No PersistentVolume matches this PVC, and its StorageClass has no provisioner.
    NoProvisioner(String),
    /// No PersistentVolume matches this PVC, and `allowedTopologies` of its StorageClass exclude the node.
    NotAllowed(String),
    /// No CSIStorageCapacity object is large enough for this PVC.
    NotEnoughCapacity(String),
    /// No device on the node is reserved for the pod.
    NotReserved,
    /// This extender filters the node out.
    Extender(String),
    /// Calls of this extender fail, and it is not ignorable.
    ExtenderFails(String),
}

impl Reason {
    /// The rule that is violated if the pod runs on the node.
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
            Reason::Tainted(key) => write!(f, "the pod does not tolerate the node's taint {key}"),
            Reason::NotSelected => write!(f, "the pod's node selector or affinity does not match the node"),
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
            Reason::NotReserved => write!(f, "no device on the node is reserved for the pod"),
            Reason::Extender(name) => write!(f, "extender {name} rejects the node"),
            Reason::ExtenderFails(name) => write!(f, "extender {name} fails, and is not ignorable"),
        }
    }
}
