//! Things that are for nodes with certain labels, arranged so that a node finds its own without looking at all of them.

use std::collections::BTreeMap;

use capacity_types::Labels;

/// A label with its value.
pub(super) type Label<'w> = (&'w str, &'w str);

/// Things by one of the labels that they need, the rarest.
pub(super) struct ByLabel<'w, T> {
    labelled: BTreeMap<Label<'w>, Vec<T>>,
    /// Those that need no certain label.
    others: Vec<T>,
}

impl<'w, T> ByLabel<'w, T> {
    /// Of things with the labels that they need.
    pub(super) fn new(things: Vec<(T, Vec<Label<'w>>)>) -> Self {
        let mut counts: BTreeMap<Label<'w>, usize> = BTreeMap::new();
        for label in things.iter().flat_map(|(_, labels)| labels) {
            *counts.entry(*label).or_default() += 1;
        }
        let mut arranged = ByLabel {
            labelled: BTreeMap::new(),
            others: Vec::new(),
        };
        for (thing, labels) in things {
            let rarest = labels.into_iter().min_by_key(|label| counts.get(label).copied());
            match rarest {
                Some(label) => arranged.labelled.entry(label).or_default().push(thing),
                None => arranged.others.push(thing),
            }
        }
        arranged
    }

    /// Those that a node with these labels may be meant by: all that are for it, and some that are not.
    pub(super) fn candidates<'s>(
        &'s self,
        labels: &'s Labels,
    ) -> impl Iterator<Item = &'s T> + use<'s, 'w, T> {
        let found = labels
            .iter()
            .filter_map(|(key, value)| self.labelled.get(&(key.as_str(), value.as_str())));
        found.flatten().chain(&self.others)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_finds_what_needs_its_labels_and_what_needs_none() {
        let east = [("region", "east")];
        let things = vec![
            ("east", east.to_vec()),
            ("rack", vec![("region", "east"), ("rack", "1")]),
            ("west", vec![("region", "west")]),
            ("any", Vec::new()),
        ];
        let arranged = ByLabel::new(things);
        let labels =
            [("region", "east"), ("rack", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let found: Vec<_> = arranged.candidates(&labels.into()).copied().collect();
        assert_eq!(found, ["east", "any"]);
    }
}
