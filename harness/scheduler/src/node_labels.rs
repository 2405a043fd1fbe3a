//! Node labels with hashes ("fingerprints") of keys and values, so that the capacity index needs no string comparison.
//!
//! Two different strings may have the same fingerprint, so a caller must compare the strings of what it finds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use capacity_types::Labels;

/// The labels of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLabels {
    labels: Labels,
    /// One entry per label, unordered.
    prints: Box<[Print]>,
}

/// The fingerprints of one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Print {
    key: u64,
    label: u64,
}

impl NodeLabels {
    /// The fingerprint of the label with this key, if the node has that label.
    pub(crate) fn print(&self, key: u64) -> Option<u64> {
        let found = self.prints.iter().find(|print| print.key == key)?;
        Some(found.label)
    }

    /// One fingerprint of all labels with these keys. `None` if the node lacks one of them.
    pub(crate) fn joined(&self, keys: &[u64]) -> Option<u64> {
        keys.iter()
            .try_fold(0, |joined, key| Some(join(joined, self.print(*key)?)))
    }
}

impl From<Labels> for NodeLabels {
    fn from(labels: Labels) -> Self {
        let prints = labels.iter().map(|(key, value)| Print {
            key: print_of(key),
            label: print_of(&(key, value)),
        });
        Self {
            prints: prints.collect(),
            labels,
        }
    }
}

impl Deref for NodeLabels {
    type Target = Labels;

    fn deref(&self) -> &Labels {
        &self.labels
    }
}

/// The fingerprint of a key, or of a key and a value.
pub(crate) fn print_of(text: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Combines the fingerprint of several labels with that of one more. Order matters.
pub(crate) fn join(joined: u64, label: u64) -> u64 {
    joined.rotate_left(23).wrapping_add(label)
}
