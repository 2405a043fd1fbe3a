//! Names of clients: those of the harness's own in the journal, and how any of them is part of the name of a file. Names of systems under
//! test begin with their role.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Client name of the harness itself.
pub const HARNESS: &str = "harness";

/// Client names of the harness and of what it plays, whose writes are the same in all runs.
pub(crate) const OURS: [&str; 2] = [HARNESS, "controllers"];

/// Bytes of a name that are used in the name of a file, which file systems limit to 255 bytes with all that is added.
const STEM_LIMIT: usize = 200;

/// The beginning of the name of a client's files: its name, or, as names of nodes may have 253 letters, what tells it apart.
pub(crate) fn file_stem(client: &str) -> Cow<'_, str> {
    if client.len() <= STEM_LIMIT {
        return client.into();
    }
    let mut hash = DefaultHasher::new();
    client.hash(&mut hash);
    let digits = format!("-{:016x}", hash.finish());
    let kept = client.floor_char_boundary(STEM_LIMIT - digits.len());
    format!("{}{digits}", &client[..kept]).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_clients_have_short_names_that_differ() {
        assert_eq!(file_stem("publisher@n1"), "publisher@n1");
        let long = |end: &str| format!("publisher@{}{end}", "n".repeat(253));
        let (one, other) = (long("a"), long("b"));
        assert_eq!(file_stem(&one).len(), STEM_LIMIT);
        assert_ne!(file_stem(&one), file_stem(&other));
    }
}
