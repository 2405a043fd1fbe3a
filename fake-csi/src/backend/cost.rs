//! What a byte of a volume costs in raw storage, by class parameter: exact ratios. Knows neither pools nor volumes.

use std::collections::BTreeMap;

/// The cost of one byte of a volume, by a class parameter: `numerator / denominator` bytes of raw storage.
///
/// With parameter `kind`, value `mirrored`, 2 / 1, each byte of a volume of such a class takes two raw bytes. If several factors apply to
/// a volume they multiply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostFactor {
    /// Name of the class parameter.
    pub parameter: String,
    /// Value of the class parameter that makes the factor apply.
    pub value: String,
    /// Raw bytes for `denominator` bytes of a volume; not 0.
    pub numerator: u64,
    /// Bytes of a volume for `numerator` raw bytes; not 0.
    pub denominator: u64,
}

/// A ratio of raw bytes to bytes of volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    numerator: u128,
    denominator: u128,
}

impl Cost {
    /// The product of all factors that apply to a class with these parameters.
    pub(super) fn of(factors: &[CostFactor], parameters: &BTreeMap<String, String>) -> Cost {
        let applies = |factor: &&CostFactor| parameters.get(&factor.parameter) == Some(&factor.value);
        let one = Cost {
            numerator: 1,
            denominator: 1,
        };
        factors.iter().filter(applies).fold(one, Cost::times)
    }

    /// Multiplies and cancels, so that the ratio stays as small as it can be.
    fn times(self, factor: &CostFactor) -> Cost {
        let numerator = self.numerator.saturating_mul(u128::from(factor.numerator));
        let denominator = self.denominator.saturating_mul(u128::from(factor.denominator));
        let divisor = greatest_common_divisor(numerator, denominator);
        Cost {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// The most bytes of volume that `raw` bytes can hold, rounded down.
    pub(super) fn volume_bytes(self, raw: u64) -> u64 {
        let bytes = u128::from(raw).saturating_mul(self.denominator) / self.numerator;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// What a volume of `bytes` takes, rounded up; `None` if that is more than any pool can have.
    pub(super) fn raw_bytes(self, bytes: u64) -> Option<u64> {
        let raw = u128::from(bytes)
            .checked_mul(self.numerator)?
            .div_ceil(self.denominator);
        u64::try_from(raw).ok()
    }
}

fn greatest_common_divisor(a: u128, b: u128) -> u128 {
    if b == 0 {
        a.max(1)
    } else {
        greatest_common_divisor(b, a % b)
    }
}
