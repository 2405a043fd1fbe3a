//! The labels of a node, with fingerprints that let the capacity index look them up without comparing texts.
//!
//! A fingerprint stands for a text but does not prove it: two texts may share one. A caller that finds something
//! by fingerprint still has to compare the texts.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use capacity_types::Labels;

/// The labels of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLabels {
    labels: Labels,
    /// For each label, in no particular order.
    prints: Box<[Print]>,
}

/// A label as the index knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Print {
    key: u64,
    label: u64,
}

impl NodeLabels {
    /// The fingerprint of the label with this key, if the node has it.
    pub(crate) fn print(&self, key: u64) -> Option<u64> {
        let found = self.prints.iter().find(|print| print.key == key)?;
        Some(found.label)
    }

    /// One fingerprint for the labels with these keys together, if the node has them all.
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

/// Adds one more label to a fingerprint of several. The order counts.
pub(crate) fn join(joined: u64, label: u64) -> u64 {
    joined.rotate_left(23).wrapping_add(label)
}
