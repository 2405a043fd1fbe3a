//! How a case is run: what a user may choose that the case does not say.

use std::time::Duration;

use crate::defect::Defect;
use crate::journal::RETRY_INTERVAL_MAX;

/// How to run.
#[derive(Debug, Clone, Copy)]
pub struct RunOptions {
    /// The publisher's poll interval.
    pub refresh: Duration,
    /// The longest time that a system waits after an error before it tries again.
    pub retry_interval_max: Duration,
    /// Multiplies every bound.
    pub patience: f64,
    /// A deliberate defect of the surroundings, for testing cases.
    pub defect: Option<Defect>,
    /// Of a run in simulated time ([`crate::simulate`]), what all random choices follow from; none: a run in real time.
    pub seed: Option<u64>,
    /// Systems may do as much as they like. A case that says otherwise has no need of it; a measurement that is large on purpose has.
    pub boundless: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            refresh: Duration::from_millis(100),
            retry_interval_max: RETRY_INTERVAL_MAX,
            patience: 1.0,
            defect: None,
            seed: None,
            boundless: false,
        }
    }
}
