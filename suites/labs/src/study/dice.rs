//! Random choices that follow from a seed, the same on every machine.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// A source of choices.
#[derive(Clone, Debug)]
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    /// The choices of a seed.
    pub(crate) fn of(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number below another, which is not 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.random_range(0..end)
    }

    /// A place in a list that is not empty.
    pub(crate) fn place(&mut self, length: usize) -> usize {
        self.0.random_range(0..length)
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of several, of which there is at least one.
    pub(crate) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        &list[self.place(list.len())]
    }

    /// What the scheduler breaks ties with.
    pub(crate) fn source(&mut self) -> &mut Xoshiro256PlusPlus {
        &mut self.0
    }
}
