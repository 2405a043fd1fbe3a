//! Configuration by the administrator, as the KEP lists it. The autoscaler's only source of information on storage.

use std::borrow::Cow;

use capacity_types::Labels;
use regex::Regex;

/// The configuration.
#[derive(Clone, Debug, Default)]
pub(super) struct Recipe {
    /// Applied to each label of a template node, written as `key=value`.
    pub(super) rewrites: Vec<Rewrite>,
    /// Labels of the template node of an empty group, by the group's name.
    pub(super) pool_labels: Vec<(String, Labels)>,
    /// Capacity objects for template segments.
    pub(super) objects: Vec<Object>,
    /// When a new node counts as ready.
    pub(super) readiness: Readiness,
}

/// A search and its replacement.
#[derive(Clone, Debug)]
pub(super) struct Rewrite {
    /// The search pattern.
    pub(super) search: Regex,
    /// The replacement.
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

/// When a new node counts as ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Readiness {
    /// When its kubelet reports Ready.
    #[default]
    Kubelet,
    /// When one capacity object matches it.
    AnyObject,
    /// When every object for the template node has a counterpart for it.
    Counterparts,
}

impl Recipe {
    /// The labels of a template node, from those of a real one.
    pub(super) fn rewritten(&self, labels: &Labels) -> Labels {
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
