//! Random choices from a seed, equal on every machine.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

#[derive(Debug)]
pub(super) struct SeededRng(Xoshiro256PlusPlus);

impl SeededRng {
    pub(super) fn of(seed: u64) -> Self {
        SeededRng(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A random number from 0 to `end - 1`.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.0.random_range(0..end)
    }

    /// A random number from `least` to `most`, inclusive.
    pub(super) fn between(&mut self, least: u32, most: u32) -> u32 {
        self.0.random_range(least..=most)
    }

    /// True with probability 1/`times`.
    pub(super) fn one_in(&mut self, times: u32) -> bool {
        self.below(times) == 0
    }

    /// A random item of a non-empty list.
    pub(super) fn pick<'l, T>(&mut self, list: &'l [T]) -> &'l T {
        let end = u32::try_from(list.len()).unwrap_or(u32::MAX);
        &list[self.below(end) as usize]
    }

    /// A random item; `None` if the iterator is empty.
    pub(super) fn pick_from_iter<T>(&mut self, of: impl IntoIterator<Item = T>) -> Option<T> {
        let mut list: Vec<T> = of.into_iter().collect();
        if list.is_empty() {
            return None;
        }
        let end = u32::try_from(list.len()).unwrap_or(u32::MAX);
        Some(list.swap_remove(self.below(end) as usize))
    }

    /// A random index, with probability proportional to its weight.
    pub(super) fn weighted(&mut self, weights: impl Iterator<Item = u32> + Clone) -> usize {
        let mut rest = self.below(weights.clone().sum());
        let mut index = 0;
        for weight in weights {
            if rest < weight {
                return index;
            }
            rest -= weight;
            index += 1;
        }
        index
    }
}
