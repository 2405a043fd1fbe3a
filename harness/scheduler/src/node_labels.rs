//! Node labels with hashes ("fingerprints") of keys and values, so that the capacity index need not compare strings.
//!
//! Two different strings may have the same fingerprint, so the caller must compare the labels of each object that it finds.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Deref;

use capacity_types::Labels;

/// The labels of a node, with their fingerprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeLabels {
    labels: Labels,
    /// One entry per label, unordered.
    fingerprints: Box<[Fingerprint]>,
}

/// The fingerprints of one label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    key: u64,
    label: u64,
}

impl NodeLabels {
    /// The fingerprint of the label with this key; `None` if the node lacks the label.
    pub(crate) fn fingerprint(&self, key: u64) -> Option<u64> {
        let found = self
            .fingerprints
            .iter()
            .find(|fingerprint| fingerprint.key == key)?;
        Some(found.label)
    }

    /// The combined fingerprint of all labels with these keys; `None` if the node lacks one of them.
    pub(crate) fn combined_fingerprint(&self, keys: &[u64]) -> Option<u64> {
        keys.iter().try_fold(0, |combined, key| {
            Some(combine_fingerprints(combined, self.fingerprint(*key)?))
        })
    }
}

impl From<Labels> for NodeLabels {
    fn from(labels: Labels) -> Self {
        let fingerprints = labels.iter().map(|(key, value)| Fingerprint {
            key: fingerprint_of(key),
            label: fingerprint_of(&(key, value)),
        });
        Self {
            fingerprints: fingerprints.collect(),
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

/// The fingerprint of a label key, or of a key with its value.
pub(crate) fn fingerprint_of(text: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Combines a fingerprint of several labels with that of another label. The order matters.
pub(crate) fn combine_fingerprints(combined: u64, label: u64) -> u64 {
    combined.rotate_left(23).wrapping_add(label)
}
