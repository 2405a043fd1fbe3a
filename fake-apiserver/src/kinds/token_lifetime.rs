//! The lifetime of service account tokens in token requests, projected volumes and CSI drivers.
//!
//! Owns the limits of the lifetime and the error messages.

use crate::machinery::error_list::ErrorList;
use std::ops::RangeInclusive;

/// Lifetime of a token in seconds, if the token request or volume specifies none.
pub(crate) const USUAL_SECONDS: i64 = 3600;

/// The valid lifetimes of a token, in seconds.
pub(crate) const SECONDS: RangeInclusive<i64> = 600..=1 << 32;

pub(crate) fn validate_lifetime(field: &str, seconds: i64, errors: &mut ErrorList) {
    if seconds < *SECONDS.start() {
        errors.invalid(field, seconds, "may not specify a duration less than 10 minutes");
    } else if seconds > *SECONDS.end() {
        let text = "may not specify a duration larger than 2^32 seconds";
        errors.invalid(field, seconds, text);
    }
}
