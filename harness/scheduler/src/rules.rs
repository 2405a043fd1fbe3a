//! Settings of a scheduling decision.

use std::collections::BTreeSet;

use capacity_types::Arithmetic;

use crate::message::Wording;
use crate::shape::Shape;
use crate::taint_wording::TaintWording;

/// Settings of a scheduling decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How quantities are converted to integers, and how products above 2^63 behave.
    pub arithmetic: Arithmetic,
    /// The scoring function. `None` if `StorageCapacityScoring` (KEP-4049) is off.
    pub shape: Option<Shape>,
    /// The scheduler's feature gate `CSIStorageCapacity` is off: capacity is checked for no pod.
    pub skips_capacity_check: bool,
    /// Releases 1.19 and 1.20: `maximumVolumeSize` does not exist, so requests are compared with `capacity` alone.
    pub ignores_maximum_volume_size: bool,
    /// Whether several PVCs of one class share one pool in scores.
    pub pooling: Pooling,
    /// Only static bindings are scored (KEP-1845, `VolumeCapacityPriority`).
    pub static_only: bool,
    /// Turning off a driver's `storageCapacity` requeues no pod, as upstream since queueing hints.
    pub ignores_driver_updates: bool,
    /// The wording of messages.
    pub wording: Wording,
    /// The wording of an untolerated taint.
    pub taint_wording: TaintWording,
    /// Which of several sufficient capacity objects is recorded and scored.
    pub choice: Choice,
    /// Resources that only an extender checks (`ignoredByScheduler`).
    pub ignored_resources: BTreeSet<String>,
    /// How a node is chosen among those of equal score.
    pub ties: Ties,
    /// How messages list reasons.
    pub message_style: MessageStyle,
}

/// How a node is chosen among those of equal score. No specification defines it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// Random, as kube-scheduler does for single pods.
    #[default]
    Random,
    /// The first node, so that equal pods get the same node, as in the batches of kube-scheduler 1.36.
    First,
    /// The last node.
    Last,
}

/// How messages list reasons. KEP-1472 quotes the reason but does not define the text around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageStyle {
    /// Each reason with its number of nodes, as kube-scheduler does.
    #[default]
    Counted,
    /// Each reason once, without node counts.
    Plain,
}

/// Which of several sufficient capacity objects is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The one with the largest `maximumVolumeSize` (else `capacity`), then the first by namespace and name.
    #[default]
    Largest,
    /// An arbitrary one, as upstream, where Go's map order decides. Equal salts select the same object.
    Any(u64),
}

/// How several PVCs of one class count in scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// The PVCs share one pool, whose capacity counts once, as in kube-scheduler.
    #[default]
    Once,
    /// Each has its own pool: capacities are added up, as in the text of KEP-4049 (`+=`).
    Each,
}
