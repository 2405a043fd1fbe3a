//! How long a token may be valid: in token requests, projected volumes and CSI drivers.
//!
//! Owns the bounds and the texts of their violation.

use crate::machinery::faults::Faults;
use std::ops::RangeInclusive;

/// The default, in seconds.
pub(crate) const USUAL_SECONDS: i64 = 3600;

/// The bounds, in seconds.
pub(crate) const SECONDS: RangeInclusive<i64> = 600..=1 << 32;

/// Reports a lifetime out of bounds.
pub(crate) fn check(field: &str, seconds: i64, faults: &mut Faults) {
    if seconds < *SECONDS.start() {
        faults.invalid(field, seconds, "may not specify a duration less than 10 minutes");
    } else if seconds > *SECONDS.end() {
        let text = "may not specify a duration larger than 2^32 seconds";
        faults.invalid(field, seconds, text);
    }
}
