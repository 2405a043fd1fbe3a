//! Client names of the harness in the journal, and file names derived from client names. The client name of a program under test begins
//! with its role.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Client name of requests and calls that the harness makes.
pub const HARNESS: &str = "harness";

/// Client names of the harness and its controllers, whose writes are the same in every run of a case.
pub(crate) const HARNESS_CLIENTS: [&str; 2] = [HARNESS, "controllers"];

/// Maximum length in bytes of a client name within a file name: file systems limit file names to 255 bytes, and suffixes are appended.
const STEM_LIMIT: usize = 200;

/// Converts a client name to a file name without suffix. Long names are shortened and get a hash: a node name may have 253 characters.
pub(crate) fn file_stem(client: &str) -> Cow<'_, str> {
    if client.len() <= STEM_LIMIT {
        return client.into();
    }
    let mut hash = DefaultHasher::new();
    client.hash(&mut hash);
    let digits = format!("-{:016x}", hash.finish());
    let prefix_length = client.floor_char_boundary(STEM_LIMIT - digits.len());
    format!("{}{digits}", &client[..prefix_length]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_stems_are_short_and_unique() {
        assert_eq!(file_stem("publisher@n1"), "publisher@n1");
        let long = |end: &str| format!("publisher@{}{end}", "n".repeat(253));
        let (one, other) = (long("a"), long("b"));
        assert_eq!(file_stem(&one).len(), STEM_LIMIT);
        assert_ne!(file_stem(&one), file_stem(&other));
    }
}
