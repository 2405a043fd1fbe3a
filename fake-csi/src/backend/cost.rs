//! Owns how many raw bytes a volume byte costs, depending on class parameters, as exact ratios. Does not know pools or volumes.

use std::collections::BTreeMap;

/// Raw storage that volumes cost if their class has a certain parameter: `numerator / denominator` raw bytes per volume byte.
///
/// Example: with parameter `kind`, value `mirrored` and 2 / 1, each byte of a volume whose class has `kind: mirrored` costs two raw bytes.
/// If several factors apply to a class, they are multiplied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostFactor {
    /// Name of the class parameter.
    pub parameter: String,
    /// Value of the class parameter for which the factor applies.
    pub value: String,
    /// Raw bytes per `denominator` volume bytes; not 0.
    pub numerator: u64,
    /// Volume bytes per `numerator` raw bytes; not 0.
    pub denominator: u64,
}

/// Ratio of raw bytes to volume bytes.
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

    /// Multiplies and reduces the fraction, to avoid overflow.
    fn times(self, factor: &CostFactor) -> Cost {
        let numerator = self.numerator.saturating_mul(u128::from(factor.numerator));
        let denominator = self.denominator.saturating_mul(u128::from(factor.denominator));
        let divisor = greatest_common_divisor(numerator, denominator);
        Cost {
            numerator: numerator / divisor,
            denominator: denominator / divisor,
        }
    }

    /// Maximum volume bytes that fit into `raw` bytes, rounded down.
    pub(super) fn volume_bytes(self, raw: u64) -> u64 {
        let bytes = u128::from(raw).saturating_mul(self.denominator) / self.numerator;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Raw bytes of a volume of `bytes`, rounded up; `None` if they exceed `u64`.
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
