//! How a case is run: what a user may choose that the case does not say.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::defect::Defect;
use crate::journal::{Fact, RETRY_INTERVAL_MAX};

/// How to run.
#[derive(Debug, Clone)]
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
    /// For a measurement that is large on purpose: what sees all facts. With it, systems may do as much as they like, and old facts are
    /// dropped, so that a failure is not explained completely.
    pub observer: Option<Observer>,
}

/// Called with each fact of a run, in order.
#[derive(Clone)]
pub struct Observer(pub Arc<dyn Fn(&Fact) + Send + Sync>);

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Observer")
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            refresh: Duration::from_millis(100),
            retry_interval_max: RETRY_INTERVAL_MAX,
            patience: 1.0,
            defect: None,
            seed: None,
            observer: None,
        }
    }
}
