//! The settings of a running scheduler, and the check that turns them into rules.
//!
//! Where they come from (flags, a harness) is not known here.

use std::time::Duration;

use crate::defect::Defect;
use crate::quantity::Arithmetic;
use crate::rules::Rules;
use crate::shape::{Shape, ShapeError, ShapePoint};

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
    /// How long to wait for a pod's claims to be bound. With zero, claims are still asked to be provisioned.
    pub bind_timeout: Duration,
    /// The feature gate `CSIStorageCapacity` (KEP-1472) as the scheduler has it; locked to true from 1.24 on.
    pub capacity: bool,
    /// The feature gate `StorageCapacityScoring` (KEP-4049).
    pub scoring: bool,
    /// `VolumeBindingArgs.shape`; only with scoring. None or no points mean the default shape.
    pub shape: Option<Vec<ShapePoint>>,
    /// How quantities become numbers.
    pub arithmetic: Arithmetic,
    /// Seeds the choice among nodes of equal score; random if none is given.
    pub seed: Option<u64>,
    /// A deliberate defect, for suites that must be seen to fail.
    pub defect: Option<Defect>,
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
            arithmetic: Arithmetic::Exact,
            seed: None,
            defect: None,
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
    /// Nobody could ask for such a scheduler.
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
        if self.shape.is_some() && !self.scoring {
            return Err(OptionsError::ShapeWithoutScoring);
        }
        Ok(Rules {
            arithmetic: self.arithmetic,
            shape: self.scoring.then(|| self.effective_shape()).transpose()?,
            without_capacity: !self.capacity,
            defect: self.defect,
        })
    }

    fn effective_shape(&self) -> Result<Shape, ShapeError> {
        let shape = Shape::new(self.shape.as_deref().unwrap_or_default())?;
        Ok(if self.defect == Some(Defect::PrefersFullest) {
            shape.inverted()
        } else {
            shape
        })
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
    fn the_defect_inverts_every_shape() {
        let point = |utilization, score| ShapePoint { utilization, score };
        let mut options = Options {
            scoring: true,
            defect: Some(Defect::PrefersFullest),
            ..Options::default()
        };
        assert_eq!(options.rules().unwrap().shape, Some(Shape::least_free()));
        options.shape = Some(vec![point(0, 2), point(50, 7)]);
        let inverted = Shape::new(&[point(0, 8), point(50, 3)]).unwrap();
        assert_eq!(options.rules().unwrap().shape, Some(inverted));
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
