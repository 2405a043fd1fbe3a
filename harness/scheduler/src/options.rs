//! The settings of a running scheduler, and the check that turns them into rules.
//!
//! Does not know where they come from: flags, or a harness.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use capacity_types::Arithmetic;
use k8s_openapi::jiff::Timestamp;

use crate::extender::Extender;
use crate::metrics::Metrics;
use crate::release::Release;
use crate::rules::{Choice, Pooling, Refusals, Rules, Ties};
use crate::shape::{Shape, ShapeError, ShapePoint};
use crate::transport::Transport;

/// How to run. [`Options::default`] is what kube-scheduler does by default.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pods with this `spec.schedulerName` are ours; it is also the events' reporting controller.
    pub scheduler_name: String,
    /// How long a pod stays away after its first failed attempt; doubles with each further one.
    pub initial_backoff: Duration,
    /// The longest that a pod stays away after a failed attempt.
    pub max_backoff: Duration,
    /// An unschedulable pod is retried after this time even if nothing happened.
    pub unschedulable_flush: Duration,
    /// How long to wait for a pod's claims to be bound. With zero, provisioning is still requested.
    pub bind_timeout: Duration,
    /// The feature gate `CSIStorageCapacity` (KEP-1472) as the scheduler has it; locked to true from 1.24 on.
    pub capacity: bool,
    /// The feature gate `StorageCapacityScoring` (KEP-4049).
    pub scoring: bool,
    /// `VolumeBindingArgs.shape`; only with scoring. None or no points mean the default shape.
    pub shape: Option<Vec<ShapePoint>>,
    /// The feature gate `VolumeCapacityPriority` (KEP-1845, 1.21 to 1.32): only static bindings are scored. Its default
    /// shape prefers the tightest fit.
    pub priority: bool,
    /// The Kubernetes release that is emulated: the figure that decides, and how refusals are worded.
    pub release: Release,
    /// The deviations of kube-scheduler that are reproduced.
    pub deviations: BTreeSet<Deviation>,
    /// What several claims of one class draw on when they are scored.
    pub pooling: Pooling,
    /// Seeds the choice among nodes of equal score; random if none is given.
    pub seed: Option<u64>,
    /// How one of several nodes of equal score is chosen.
    pub ties: Ties,
    /// How a refusal lists its reasons.
    pub refusals: Refusals,
    /// The extenders, in the order of the calls.
    pub extenders: Vec<Extender>,
    /// How requests reach the extenders; unset: by HTTP over TCP.
    pub transport: Option<Arc<dyn Transport>>,
    /// What is counted; others who have it can serve it.
    pub metrics: Metrics,
    /// The time of day for what is written with one. Two events of a pod need two times: it is part of their names.
    pub clock: fn() -> Timestamp,
}

/// What kube-scheduler does otherwise than it should, in the way of the release that is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// A driver that stops tracking capacity wakes no pod: they wait for the flush, some minutes.
    Flag,
    /// Quantities above 2^63 bytes overflow (from 1.37 on: are capped), and utilisation overflows above some 81.9Pi.
    Arithmetic,
    /// Of several sufficient objects any is recorded, and scored.
    Choice,
}

/// Every deviation with its name on the command line.
const DEVIATIONS: [(&str, Deviation); 3] = [
    ("flag", Deviation::Flag),
    ("arithmetic", Deviation::Arithmetic),
    ("choice", Deviation::Choice),
];

/// The name given is not in the table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deviation {name:?} is unknown: choose flag, arithmetic or choice")]
pub struct UnknownDeviation {
    name: String,
}

impl fmt::Display for Deviation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = DEVIATIONS.iter().find(|(_, deviation)| deviation == self);
        f.write_str(found.map_or("", |(name, _)| name))
    }
}

impl FromStr for Deviation {
    type Err = UnknownDeviation;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = DEVIATIONS.iter().find(|(known, _)| *known == name);
        found
            .map(|(_, deviation)| *deviation)
            .ok_or_else(|| UnknownDeviation {
                name: name.to_owned(),
            })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scheduler_name: "default-scheduler".to_owned(),
            initial_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_secs(10),
            unschedulable_flush: Duration::from_secs(300),
            bind_timeout: Duration::from_secs(600),
            capacity: true,
            scoring: false,
            shape: None,
            priority: false,
            release: Release::DEFAULT,
            deviations: BTreeSet::new(),
            pooling: Pooling::Once,
            seed: None,
            ties: Ties::default(),
            refusals: Refusals::default(),
            extenders: Vec::new(),
            transport: None,
            metrics: Metrics::default(),
            clock: Timestamp::now,
        }
    }
}

/// Why options cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// KEP-4049: a shape without the gate is a configuration error, even an empty one. The wording is kube-scheduler's.
    #[error(
        "shape: Invalid value: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
    )]
    ShapeWithoutScoring,
    /// The points are no shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// No pod can name such a scheduler.
    #[error("scheduler name is empty: set it to what pods name in spec.schedulerName")]
    NoName,
    /// The bounds contradict each other.
    #[error(
        "initial back-off {initial:?} exceeds maximum back-off {max:?}: lower the first or raise the second"
    )]
    Backoff {
        /// The initial back-off.
        initial: Duration,
        /// The maximum back-off.
        max: Duration,
    },
}

impl Options {
    /// Checks the options and gives the rules for decisions.
    pub fn rules(&self) -> Result<Rules, OptionsError> {
        if self.scheduler_name.is_empty() {
            return Err(OptionsError::NoName);
        }
        if self.initial_backoff > self.max_backoff {
            return Err(OptionsError::Backoff {
                initial: self.initial_backoff,
                max: self.max_backoff,
            });
        }
        if self.shape.is_some() && !self.scoring && !self.priority {
            return Err(OptionsError::ShapeWithoutScoring);
        }
        let release = self.release;
        let has = |deviation| self.deviations.contains(&deviation);
        let scores = self.scoring || self.priority;
        Ok(Rules {
            arithmetic: if has(Deviation::Arithmetic) {
                release.deviant_arithmetic()
            } else {
                Arithmetic::Exact
            },
            shape: scores.then(|| self.effective_shape()).transpose()?,
            without_capacity: !self.capacity,
            without_maximum: !release.has_maximum(),
            pooling: self.pooling,
            ignored_resources: self
                .extenders
                .iter()
                .flat_map(|extender| extender.ignored_resources.iter().cloned())
                .collect(),
            ties: self.ties,
            refusals: self.refusals,
            static_only: !self.scoring,
            sleeps_through_flag: has(Deviation::Flag),
            form: release.form(),
            taint_words: release.taint_words(),
            choice: if has(Deviation::Choice) {
                Choice::Any(0)
            } else {
                Choice::Largest
            },
        })
    }

    fn effective_shape(&self) -> Result<Shape, ShapeError> {
        match self.shape.as_deref().unwrap_or_default() {
            [] if !self.scoring => Ok(Shape::least_free()),
            points => Shape::new(points),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_needs_the_gate() {
        let without_gate = Options {
            shape: Some(Vec::new()),
            ..Options::default()
        };
        assert_eq!(without_gate.rules(), Err(OptionsError::ShapeWithoutScoring));
        let with_gate = Options {
            scoring: true,
            ..without_gate
        };
        assert_eq!(with_gate.rules().unwrap().shape, Some(Shape::most_free()));
        assert_eq!(Options::default().rules().unwrap().shape, None);
    }

    #[test]
    fn the_old_gate_scores_static_bindings_and_prefers_the_tightest_fit() {
        let old = Options {
            priority: true,
            ..Options::default()
        };
        let rules = old.rules().unwrap();
        assert!(rules.static_only);
        assert_eq!(rules.shape, Some(Shape::least_free()));
        let both = Options { scoring: true, ..old };
        assert!(
            !both.rules().unwrap().static_only,
            "the new gate replaces the old one"
        );
    }

    #[test]
    fn deviations_have_names() {
        for (name, deviation) in DEVIATIONS {
            assert_eq!(name.parse(), Ok(deviation));
            assert_eq!(deviation.to_string(), name);
        }
        assert!("all".parse::<Deviation>().is_err());
    }

    #[test]
    fn contradictions_are_refused() {
        let backoff = Options {
            initial_backoff: Duration::from_secs(11),
            ..Options::default()
        };
        assert!(matches!(backoff.rules(), Err(OptionsError::Backoff { .. })));
        let nameless = Options {
            scheduler_name: String::new(),
            ..Options::default()
        };
        assert_eq!(nameless.rules(), Err(OptionsError::NoName));
    }
}
