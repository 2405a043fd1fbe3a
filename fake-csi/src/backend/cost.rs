//! Owns how many raw bytes of a pool a volume byte costs, depending on class parameters, as exact ratios. Does not know pools or volumes.

use std::collections::BTreeMap;

/// Raw storage that volumes of a class with a certain parameter cost: `numerator / denominator` raw bytes per volume byte.
///
/// Example: for the parameter `kind: mirrored` and 2 / 1, each byte of a volume whose class has `kind: mirrored` costs two raw bytes.
/// If several factors apply to a class, they are multiplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostFactor {
    /// Name of the class parameter, such as `kind`.
    pub parameter: String,
    /// Value of the class parameter for which the factor applies.
    pub value: String,
    /// Number of raw bytes per `denominator` volume bytes; not 0.
    pub numerator: u64,
    /// Number of volume bytes per `numerator` raw bytes; not 0.
    pub denominator: u64,
}

/// Ratio of raw bytes of a pool to volume bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cost {
    numerator: u128,
    denominator: u128,
}

impl Cost {
    /// The product of all cost factors that apply to a class with these parameters.
    pub(super) fn of(factors: &[CostFactor], parameters: &BTreeMap<String, String>) -> Cost {
        let applies = |factor: &&CostFactor| parameters.get(&factor.parameter) == Some(&factor.value);
        let one = Cost {
            numerator: 1,
            denominator: 1,
        };
        factors.iter().filter(applies).fold(one, Cost::multiplied_by)
    }

    /// Multiplies the ratio by a cost factor, and reduces the fraction to avoid overflow.
    fn multiplied_by(self, factor: &CostFactor) -> Cost {
        let numerator = self.numerator.saturating_mul(u128::from(factor.numerator));
        let denominator = self.denominator.saturating_mul(u128::from(factor.denominator));
        let divisor = greatest_common_divisor(numerator, denominator);
        Cost {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// Maximum volume bytes that `raw` bytes of a pool can hold, rounded down.
    pub(super) fn volume_bytes(self, raw: u64) -> u64 {
        let bytes = u128::from(raw).saturating_mul(self.denominator) / self.numerator;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Raw bytes of a pool that a volume of `bytes` costs, rounded up; `None` if they exceed `u64`.
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
