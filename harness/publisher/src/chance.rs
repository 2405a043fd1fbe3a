//! The random choices of a publisher: by chance, or from a seed, so that a run can be repeated. Knows nothing that is chosen.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A source of random numbers. Clones draw from the same source; the default one is different in each process.
#[derive(Clone)]
pub struct Chance(Arc<Mutex<StdRng>>);

impl Chance {
    /// A source that follows from a seed.
    pub fn seeded(seed: u64) -> Chance {
        Chance(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    /// Any number.
    pub(crate) fn number(&self) -> u64 {
        self.0.lock().random()
    }

    /// At least 0 and less than 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.0.lock().random()
    }

    /// Less than that.
    pub(crate) fn below(&self, end: u32) -> u32 {
        self.0.lock().random_range(0..end)
    }
}

impl Default for Chance {
    fn default() -> Chance {
        Chance(Arc::new(Mutex::new(rand::make_rng())))
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}
