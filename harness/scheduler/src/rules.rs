//! The settings that a placement decision depends on.

use std::collections::BTreeSet;

use capacity_types::Arithmetic;

use crate::message::Form;
use crate::shape::Shape;
use crate::taint_words::TaintWords;

/// The rules of a decision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How quantities become numbers, and what their products do above 2^63.
    pub arithmetic: Arithmetic,
    /// The scoring function, when `StorageCapacityScoring` (KEP-4049) is on.
    pub shape: Option<Shape>,
    /// The gate `CSIStorageCapacity` of the scheduler is off: capacity is not checked for any pod.
    pub without_capacity: bool,
    /// Releases 1.19 and 1.20: `maximumVolumeSize` does not exist, so requests are compared with `capacity` alone.
    pub without_maximum: bool,
    /// What several claims of one class draw on when they are scored.
    pub pooling: Pooling,
    /// Only static bindings are scored (KEP-1845, `VolumeCapacityPriority`).
    pub static_only: bool,
    /// A driver that stops tracking capacity wakes no pod, as upstream since its queueing hints.
    pub sleeps_through_flag: bool,
    /// How refusals are worded.
    pub form: Form,
    /// How refusals word a taint.
    pub taint_words: TaintWords,
    /// Which of several sufficient objects is recorded, and scored.
    pub choice: Choice,
    /// Resources that are not looked at, since an extender does.
    pub ignored_resources: BTreeSet<String>,
    /// How one of several nodes of equal score is chosen.
    pub ties: Ties,
    /// How a refusal lists its reasons.
    pub refusals: Refusals,
}

/// How one of several nodes of equal score is chosen, which no document says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ties {
    /// At random, as kube-scheduler does for single pods.
    #[default]
    Random,
    /// The first one, so that equal pods get the same node, as with the batches of kube-scheduler 1.36.
    First,
    /// The last one.
    Last,
}

/// How a refusal lists its reasons. KEP-1472 quotes the reason itself and says nothing of the text around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Refusals {
    /// With the number of nodes for each reason, as kube-scheduler does.
    #[default]
    Counted,
    /// Each reason once, without numbers.
    Plain,
}

/// Which of several sufficient capacity objects is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The one with the largest limit, then the first by namespace and name.
    #[default]
    Largest,
    /// Any, as upstream, where the order of a hash map decides: the same salt gives the same choice.
    Any(u64),
}

/// What several claims of one class draw on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// One pool: its capacity counts once, as in kube-scheduler.
    #[default]
    Once,
    /// A pool each: capacities are added up, as the text of KEP-4049 has it (`+=`).
    Each,
}
