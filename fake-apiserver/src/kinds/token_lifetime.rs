//! How long a token may be good for, wherever one is asked for.
//!
//! Owns the bounds and their words. Does not know who asks.

use crate::machinery::faults::Faults;
use std::ops::RangeInclusive;

/// Seconds unless somebody says otherwise.
pub(crate) const USUAL_SECONDS: i64 = 3600;

/// Seconds that may be asked for.
pub(crate) const SECONDS: RangeInclusive<i64> = 600..=1 << 32;

/// Finds the fault of a wish for so many seconds.
pub(crate) fn check(field: &str, seconds: i64, faults: &mut Faults) {
    if seconds < *SECONDS.start() {
        faults.invalid(field, seconds, "may not specify a duration less than 10 minutes");
    } else if seconds > *SECONDS.end() {
        let text = "may not specify a duration larger than 2^32 seconds";
        faults.invalid(field, seconds, text);
    }
}
