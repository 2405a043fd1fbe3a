//! The exponential backoff that publisher and scheduler use.

use std::time::Duration;

/// Delays between attempts of a failing operation: `start` after the first failure, doubled after each further one, at most `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExponentialBackoff {
    /// Delay after the first failure of the operation.
    pub start: Duration,
    /// Maximum delay between two attempts.
    pub max: Duration,
}

impl ExponentialBackoff {
    /// Delay after this number of consecutive failures, which is at least 1.
    pub fn delay(self, failures: u32) -> Duration {
        let factor = 1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX);
        self.start.saturating_mul(factor).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert, proptest};

    use super::*;

    proptest! {
        #[test]
        fn delays_never_shrink_and_never_exceed_the_maximum(failures in 1..100u32) {
            let backoff = ExponentialBackoff { start: Duration::from_millis(3), max: Duration::from_secs(300) };
            prop_assert!(backoff.delay(failures) <= backoff.delay(failures + 1));
            prop_assert!(backoff.delay(failures) >= backoff.start && backoff.delay(failures) <= backoff.max);
        }
    }
}
