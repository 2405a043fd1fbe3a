//! From how much to how much: sizes of values and costs that are estimated. What is too large for a number is the largest.

use std::ops::{Add, Mul};

/// The least and the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Span {
    pub(super) const NOTHING: Self = Self::exactly(0);
    pub(super) const UNKNOWN: Self = Self {
        min: 0,
        max: u64::MAX,
    };
    /// Of no value yet: what is joined with it stays as it is.
    pub(super) const EMPTY: Self = Self {
        min: u64::MAX,
        max: 0,
    };

    pub(super) const fn exactly(amount: u64) -> Self {
        Self {
            min: amount,
            max: amount,
        }
    }

    pub(super) const fn up_to(max: u64) -> Self {
        Self { min: 0, max }
    }

    /// Each unit counts `factor`; fractions count as one.
    pub(super) fn scaled(self, factor: f64) -> Self {
        Self {
            min: scaled(self.min, factor),
            max: scaled(self.max, factor),
        }
    }

    /// What encloses both.
    pub(super) fn joined(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
        }
    }
}

/// `amount` units of `factor` each; fractions count as one.
pub(super) fn scaled(amount: u64, factor: f64) -> u64 {
    // A number that is too large becomes the largest.
    (amount as f64 * factor).ceil() as u64
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_add(other.min),
            max: self.max.saturating_add(other.max),
        }
    }
}

impl Mul for Span {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self {
            min: self.min.saturating_mul(other.min),
            max: self.max.saturating_mul(other.max),
        }
    }
}
