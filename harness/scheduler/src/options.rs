//! Settings of a running scheduler, their validation, and their conversion to rules.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use capacity_types::ByteConversion;
use k8s_openapi::jiff::Timestamp;

use crate::extender::Extender;
use crate::metrics::Metrics;
use crate::release::Release;
use crate::rules::{Choice, MessageStyle, Pooling, Rules, Ties};
use crate::shape::{Shape, ShapeError, ShapePoint};
use crate::transport::Transport;

/// Settings of a scheduler. [`Options::default`] has kube-scheduler's defaults.
#[derive(Clone, Debug)]
pub struct Options {
    /// Schedule pods with this `spec.schedulerName`. Also the `reportingController` of Events.
    pub scheduler_name: String,
    /// Backoff after the first failed attempt of a pod; doubles with each further attempt.
    pub initial_backoff: Duration,
    /// Maximum backoff after a failed attempt of a pod.
    pub max_backoff: Duration,
    /// Time after which an unschedulable pod is retried although no event requeued it.
    pub unschedulable_flush: Duration,
    /// Timeout for binding a pod's PVCs. With a timeout of zero, provisioning is still requested.
    pub bind_timeout: Duration,
    /// The scheduler's feature gate `CSIStorageCapacity` (KEP-1472), which is locked to true since 1.24.
    pub capacity: bool,
    /// The feature gate `StorageCapacityScoring` (KEP-4049).
    pub scoring: bool,
    /// `VolumeBindingArgs.shape`; requires the feature gate for scoring. `None` or empty: the default shape.
    pub shape: Option<Vec<ShapePoint>>,
    /// The feature gate `VolumeCapacityPriority` (KEP-1845, 1.21 to 1.32): scores only static bindings. Its default shape prefers the
    /// PersistentVolume that leaves the least space unused.
    pub priority: bool,
    /// The Kubernetes release to emulate: which capacity field is compared, and the wording of messages.
    pub release: Release,
    /// The bugs of kube-scheduler to reproduce.
    pub deviations: BTreeSet<Deviation>,
    /// How scores count the capacity of a class that several PVCs use.
    pub pooling: Pooling,
    /// Seed for the choice among nodes of equal score. `None`: random.
    pub seed: Option<u64>,
    /// How a node is chosen among nodes of equal score.
    pub ties: Ties,
    /// How messages list rejection reasons.
    pub message_style: MessageStyle,
    /// Extenders in call order.
    pub extenders: Vec<Extender>,
    /// Transport for extender requests. `None`: HTTP over TCP.
    pub transport: Option<Arc<dyn Transport>>,
    /// The metrics of the scheduler. The caller can serve a clone of them.
    pub metrics: Metrics,
    /// Wall clock for timestamps. Event names contain the time, so the clock must return different times for two Events about the same pod.
    pub clock: fn() -> Timestamp,
}

/// A bug of kube-scheduler in the emulated release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Deviation {
    /// When a driver stops tracking capacity, no pod is requeued: unschedulable pods are retried only minutes later, at the flush.
    Flag,
    /// Quantities above 2^63 bytes overflow (since 1.37 they are capped), and utilisation overflows above about 81.9Pi.
    Arithmetic,
    /// If several capacity objects are sufficient, an arbitrary one is recorded and scored.
    Choice,
}

/// The deviations (bugs of kube-scheduler to reproduce) by their names in flags.
const DEVIATIONS: [(&str, Deviation); 3] = [
    ("flag", Deviation::Flag),
    ("arithmetic", Deviation::Arithmetic),
    ("choice", Deviation::Choice),
];

/// The text of a flag names no deviation (bug of kube-scheduler to reproduce).
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
            message_style: MessageStyle::default(),
            extenders: Vec::new(),
            transport: None,
            metrics: Metrics::default(),
            clock: Timestamp::now,
        }
    }
}

/// Why options of the scheduler are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionsError {
    /// A shape is set although the feature gate is disabled, which is an error even if the shape is empty (KEP-4049). The wording is
    /// kube-scheduler's.
    #[error(
        "shape: Invalid value: unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
    )]
    ShapeWithoutScoring,
    /// The points of the shape are invalid.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The scheduler name is empty, so no pod can refer to it.
    #[error("the scheduler name is empty: set it to the spec.schedulerName of the pods")]
    NoName,
    /// The initial backoff exceeds the maximum.
    #[error(
        "initial back-off {initial:?} exceeds maximum back-off {max:?}: lower the initial or raise the maximum back-off"
    )]
    Backoff {
        /// The configured initial backoff.
        initial: Duration,
        /// The configured maximum backoff.
        max: Duration,
    },
}

impl Options {
    /// Validates the options and returns the rules for decisions.
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
                release.upstream_arithmetic()
            } else {
                ByteConversion::Exact
            },
            shape: scores.then(|| self.effective_shape()).transpose()?,
            skips_capacity_check: !self.capacity,
            ignores_maximum_volume_size: !release.has_maximum(),
            pooling: self.pooling,
            ignored_resources: self
                .extenders
                .iter()
                .flat_map(|extender| extender.ignored_resources.iter().cloned())
                .collect(),
            ties: self.ties,
            message_style: self.message_style,
            static_only: !self.scoring,
            ignores_driver_updates: has(Deviation::Flag),
            wording: release.wording(),
            taint_wording: release.taint_wording(),
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
    fn a_shape_requires_the_feature_gate() {
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
    fn volume_capacity_priority_scores_static_bindings_and_prefers_the_tightest_fit() {
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
            "StorageCapacityScoring wins over VolumeCapacityPriority"
        );
    }

    #[test]
    fn deviation_names_round_trip() {
        for (name, deviation) in DEVIATIONS {
            assert_eq!(name.parse(), Ok(deviation));
            assert_eq!(deviation.to_string(), name);
        }
        assert!("all".parse::<Deviation>().is_err());
    }

    #[test]
    fn contradictory_options_are_errors() {
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
