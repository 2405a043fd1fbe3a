//! Configuration of the autoscaler by the administrator, as listed in the KEP: the autoscaler's only information on storage.

use std::borrow::Cow;

use capacity_types::Labels;
use regex::Regex;

#[derive(Clone, Debug, Default)]
pub(super) struct Recipe {
    /// Rewrite rules, applied to each label of a template node, written as `key=value`.
    pub(super) rewrites: Vec<Rewrite>,
    /// Labels of the template node of an empty node group, by the name of the group.
    pub(super) pool_labels: Vec<(String, Labels)>,
    /// Manually created capacity objects for the segments of template nodes.
    pub(super) objects: Vec<Object>,
    pub(super) readiness: Readiness,
}

/// A rewrite rule for labels: a search pattern and its replacement.
#[derive(Clone, Debug)]
pub(super) struct Rewrite {
    pub(super) search: Regex,
    pub(super) replacement: String,
}

/// A manually created capacity object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    pub(super) class: String,
    /// The labels of `nodeTopology`.
    pub(super) segment: Labels,
    /// Published capacity in bytes.
    pub(super) bytes: u64,
}

/// Condition for a new node to count as ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Readiness {
    /// The kubelet reports Ready.
    #[default]
    Kubelet,
    /// A new node is ready when at least one capacity object matches it.
    AnyObject,
    /// A new node is ready when, for each class with an object for the template node, a capacity object matches the new node.
    Counterparts,
}

impl Recipe {
    /// Rewrites the labels of an existing node to the labels of a template node.
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

    /// The labels that the pool configuration contains for the node group.
    pub(super) fn of_pool(&self, group: &str) -> Option<&Labels> {
        let found = self.pool_labels.iter().find(|(name, _)| name == group);
        found.map(|(_, labels)| labels)
    }
}
