//! Random choices from a seed, equal on every host.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

#[derive(Clone, Debug)]
pub(crate) struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    pub(crate) fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A random number from 0 to `end - 1`.
    pub(crate) fn random_below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// A random index into a list of this length, which must not be 0.
    pub(crate) fn random_index(&mut self, length: usize) -> usize {
        self.0.random_range(0..length)
    }

    /// True with probability 1/`times`.
    pub(crate) fn true_once_in(&mut self, times: u64) -> bool {
        self.random_below(times) == 0
    }

    /// A random item of a non-empty list.
    pub(crate) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.random_index(list.len())]
    }

    /// The underlying random generator, with which the scheduler chooses among nodes of equal score.
    pub(crate) fn generator(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }
}
