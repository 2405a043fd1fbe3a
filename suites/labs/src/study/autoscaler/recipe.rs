//! Configuration by the administrator, as listed in the KEP: the only source of information on storage for the autoscaler.

use std::borrow::Cow;

use capacity_types::Labels;
use regex::Regex;

#[derive(Clone, Debug, Default)]
pub(super) struct Recipe {
    /// Rewrite rules, applied to each label of a template node, written as `key=value`.
    pub(super) rewrites: Vec<Rewrite>,
    /// Labels of the template node of an empty group, by the group's name.
    pub(super) pool_labels: Vec<(String, Labels)>,
    /// Capacity objects for template segments.
    pub(super) objects: Vec<Object>,
    /// Condition for a new node to count as ready.
    pub(super) readiness: Readiness,
}

/// A search pattern and its replacement.
#[derive(Clone, Debug)]
pub(super) struct Rewrite {
    pub(super) search: Regex,
    pub(super) replacement: String,
}

/// A manually created capacity object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// Storage class.
    pub(super) class: String,
    /// The labels of `nodeTopology`.
    pub(super) segment: Labels,
    /// Capacity in bytes.
    pub(super) bytes: u64,
}

/// Condition for a new node to count as ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Readiness {
    /// The kubelet reports Ready.
    #[default]
    Kubelet,
    /// At least one capacity object matches the node.
    AnyObject,
    /// For each class with an object for the template node, an object also matches the node.
    Counterparts,
}

impl Recipe {
    /// The labels of a template node, rewritten from the labels of an existing node.
    pub(super) fn rewrite_labels(&self, labels: &Labels) -> Labels {
        labels
            .iter()
            .map(|(key, value)| self.rewrite(key, value))
            .collect()
    }

    fn rewrite(&self, key: &str, value: &str) -> (String, String) {
        let mut label = format!("{key}={value}");
        for Rewrite { search, replacement } in &self.rewrites {
            if let Cow::Owned(replaced) = search.replace(&label, replacement) {
                label = replaced;
            }
        }
        let (key, value) = label.split_once('=').unwrap_or((&label, ""));
        (key.to_owned(), value.to_owned())
    }

    /// The labels in the pool's configuration for a group.
    pub(super) fn of_pool(&self, group: &str) -> Option<&Labels> {
        let found = self.pool_labels.iter().find(|(name, _)| name == group);
        found.map(|(_, labels)| labels)
    }
}
