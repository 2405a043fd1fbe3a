//! The settings that change scheduling decisions: arithmetic, scoring, and the emulated behaviour of a release.

use std::collections::BTreeSet;

use capacity_types::ByteConversion;

use crate::message::TaintWording;
use crate::message::Wording;
use crate::shape::Shape;

/// The settings that change scheduling decisions; [`Options::rules`](crate::Options::rules) creates them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How quantities are converted to integers, and whether products above 2^63 overflow.
    pub arithmetic: ByteConversion,
    /// The scoring function (utilisation to score). `None` if both feature gates for scoring are off (KEP-4049, KEP-1845).
    pub shape: Option<Shape>,
    /// The scheduler's feature gate `CSIStorageCapacity` is disabled, so capacity is not checked for any pod.
    pub skips_capacity_check: bool,
    /// Releases 1.19 and 1.20: `maximumVolumeSize` does not exist, so requests are compared with `capacity` alone.
    pub ignores_maximum_volume_size: bool,
    /// How scores count the capacity of a class that several PVCs use.
    pub pooling: Pooling,
    /// Scores only static bindings (KEP-1845, `VolumeCapacityPriority`).
    pub static_only: bool,
    /// No pod is requeued when `storageCapacity` of a driver is set to false, as in upstream releases with queueing hints.
    pub ignores_driver_updates: bool,
    /// The wording of messages.
    pub wording: Wording,
    /// The wording of an untolerated taint.
    pub taint_wording: TaintWording,
    /// Which of several sufficient capacity objects is recorded and scored.
    pub choice: Choice,
    /// Resources that only an extender checks (`ignoredByScheduler`).
    pub ignored_resources: BTreeSet<String>,
    /// How a node is chosen among nodes of equal score.
    pub ties: Ties,
    /// How messages list rejection reasons.
    pub message_style: MessageStyle,
}

/// How a node is chosen among nodes of equal score, which no specification defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// At random, as kube-scheduler does for single pods.
    #[default]
    Random,
    /// The first node of equal score, so that equal pods get the same node, as in the batches of kube-scheduler 1.36.
    First,
    /// The last node of equal score.
    Last,
}

/// How messages list rejection reasons. KEP-1472 quotes a reason but does not define the text around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageStyle {
    /// Each reason with its number of nodes, as in kube-scheduler.
    #[default]
    Counted,
    /// Each reason once, without node counts.
    Plain,
}

/// Which of several sufficient capacity objects is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The object with the largest `maximumVolumeSize` (else `capacity`); of equal ones, the first by namespace and name.
    #[default]
    Largest,
    /// An arbitrary object, as upstream, where the map order of Go decides. Equal salts select the same object.
    Any(u64),
}

/// How several PVCs of one class count in scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// The capacity of the class counts once, as in kube-scheduler.
    #[default]
    Once,
    /// The capacity of the class counts once for each PVC, as in the text of KEP-4049 (`+=`).
    Each,
}
