//! `Warning` headers: remarks that an answer carries beside its content.

use hyper::header::{HeaderName, HeaderValue, WARNING};
use std::collections::HashSet;

/// Characters that all warnings of an answer may have, and each of them where they have more.
const WARNINGS_MAX: usize = 4 * 1024;
const WARNING_MAX: usize = 256;
/// Warnings, as headers.
pub(super) fn headers(warnings: &[String]) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let quoted = |text: &String| {
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        HeaderValue::try_from(format!("299 - \"{escaped}\"")).ok()
    };
    let mut seen = HashSet::new();
    let warnings: Vec<&String> = warnings.iter().filter(|text| seen.insert(*text)).collect();
    let total: usize = warnings.iter().map(|text| text.chars().count()).sum();
    // Where there are many long ones, each is cut, and those beyond the bound are left out.
    let most = if total > WARNINGS_MAX {
        WARNING_MAX
    } else {
        usize::MAX
    };
    let mut written = 0;
    let told: Vec<_> = warnings
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
    told.into_iter()
}
