//! Shortens texts and lists for messages.

/// The first `max` names, and the number of further ones.
pub(crate) fn first_names(names: &[&str], max: usize) -> String {
    let first = names[..names.len().min(max)].join(", ");
    match names.len().saturating_sub(max) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The first 40 characters of a text.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
