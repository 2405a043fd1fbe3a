//! The publisher's random number generator, which can be seeded for reproducible runs.

use std::{fmt, sync::Arc};

use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

/// A random number generator. Clones share its state. The default generator has a different seed in each process.
#[derive(Clone)]
pub struct SharedRng(Arc<Mutex<StdRng>>);

impl SharedRng {
    /// Creates a generator with this seed.
    pub fn seeded(seed: u64) -> SharedRng {
        SharedRng(Arc::new(Mutex::new(StdRng::seed_from_u64(seed))))
    }

    pub(crate) fn next_u64(&self) -> u64 {
        self.0.lock().random()
    }

    /// A random fraction in 0..1.
    pub(crate) fn fraction(&self) -> f64 {
        self.0.lock().random()
    }

    pub(crate) fn next_below(&self, end: u32) -> u32 {
        self.0.lock().random_range(0..end)
    }
}

impl Default for SharedRng {
    fn default() -> SharedRng {
        SharedRng(Arc::new(Mutex::new(rand::make_rng())))
    }
}

impl fmt::Debug for SharedRng {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRng")
    }
}
