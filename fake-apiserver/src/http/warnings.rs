//! `Warning` headers of a response.

use hyper::header::{HeaderName, HeaderValue, WARNING};
use std::collections::HashSet;

/// Maximum total length of the warnings in a response, in characters. Beyond this total, each warning is truncated.
const WARNINGS_MAX: usize = 4 * 1024;
const WARNING_MAX: usize = 256;
pub(super) fn headers(warnings: &[String]) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let quoted = |text: &String| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        HeaderValue::try_from(format!("299 - \"{escaped}\"")).ok()
    };
    let mut seen = HashSet::new();
    let warnings: Vec<&String> = warnings.iter().filter(|text| seen.insert(*text)).collect();
    let total: usize = warnings.iter().map(|text| text.chars().count()).sum();
    // If the total is too large, each warning is truncated, and warnings beyond the total are omitted.
    let most = if total > WARNINGS_MAX {
        WARNING_MAX
    } else {
        usize::MAX
    };
    let mut written = 0;
    let headers: Vec<_> = warnings
        .into_iter()
        .map(|text| text.chars().take(most).collect::<String>())
        .take_while(|text| {
            let fits = written < WARNINGS_MAX;
            written += text.chars().count();
            fits
        })
        .filter_map(|text| quoted(&text))
        .map(|value| (WARNING, value))
        .collect();
    headers.into_iter()
}
