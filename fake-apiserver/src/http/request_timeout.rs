//! The timeout of a request, given by its `timeout` parameter.
//!
//! Owns the parsing of the parameter. Does not apply the timeout.

use crate::machinery::duration;
use crate::machinery::status::Status;
use std::time::Duration;

/// Parses the `timeout` parameter of a request; the result is at most `most`.
pub(super) fn parse(text: &str, most: Duration) -> Result<Duration, Status> {
    if text.is_empty() {
        return Ok(most);
    }
    let requested = duration::parse(text).map_err(|why| {
        Status::bad_request(format!("invalid timeout specified in the request URL - {why}"))
    })?;
    Ok(requested
        .filter(|requested| !requested.is_zero())
        .unwrap_or(most)
        .min(most))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn durations_are_parsed_as_go_does() {
        for (text, milliseconds) in [
            ("", 60_000),
            ("0", 60_000),
            ("0s", 60_000),
            ("-1s", 60_000),
            ("-9223372036854775808ns", 60_000),
            ("1.5s", 1_500),
            ("+.5s", 500),
            ("1.s", 1_000),
            ("3\u{b5}s5s", 5_000),
            ("1h30m", 60_000),
            ("9223372036854775807ns", 60_000),
            ("0.0000000000000000000000009h5ms", 5),
        ] {
            let found = parse(text, MINUTE).expect(text);
            assert_eq!(found.as_millis(), milliseconds, "{text}");
        }
    }

    #[test]
    fn invalid_durations_get_the_error_of_go() {
        for (text, why) in [
            ("abc", r#"time: invalid duration "abc""#),
            ("-", r#"time: invalid duration "-""#),
            (".", r#"time: invalid duration ".""#),
            ("5", r#"time: missing unit in duration "5""#),
            ("1s2", r#"time: missing unit in duration "1s2""#),
            ("1e3s", r#"time: unknown unit "e" in duration "1e3s""#),
            ("\"\u{e9}\u{1}", r#"time: invalid duration "\"\xc3\xa9\x01""#),
            (
                "9223372036854775808ns",
                r#"time: invalid duration "9223372036854775808ns""#,
            ),
            ("99999999999999h", r#"time: invalid duration "99999999999999h""#),
        ] {
            let refused = parse(text, MINUTE).expect_err(text);
            assert_eq!(
                refused.message,
                format!("invalid timeout specified in the request URL - {why}")
            );
        }
    }

    proptest! {
        #[test]
        fn no_timeout_parameter_exceeds_the_limit(text in "[-+]?([0-9.]{0,25}(ns|us|\u{b5}s|ms|s|m|h|\\PC)){0,3}") {
            if let Ok(time) = parse(&text, MINUTE) {
                prop_assert!(time <= MINUTE && !time.is_zero());
            }
        }
    }
}
