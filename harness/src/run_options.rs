//! Options of a run that the user chooses independently of the case.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::defect::Defect;
use crate::journal::{Fact, RETRY_INTERVAL_MAX};

/// Options of a run, independent of the case that runs.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Interval at which the publisher polls GetCapacity.
    pub refresh: Duration,
    /// Maximum back-off of a program after an error.
    pub retry_interval_max: Duration,
    /// Factor for every timeout.
    pub patience: f64,
    /// Defect that is injected into the API server or the driver, to test the cases.
    pub defect: Option<Defect>,
    /// Seed of all random choices in simulated time ([`crate::simulate`]); `None`: the case runs in real time.
    pub seed: Option<u64>,
    /// Receives all facts of a large measurement. With an observer, programs have no activity limits, and the journal drops old facts,
    /// so that the explanation of a failure may be incomplete.
    pub observer: Option<Observer>,
}

/// A function that is called with each fact of a run, in order.
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
