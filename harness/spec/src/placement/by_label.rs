//! An index of items by the node labels that they require, so that the items for a node are found without a full scan.

use std::collections::BTreeMap;

use capacity_types::Labels;

pub(super) type Label<'w> = (&'w str, &'w str);

/// Items, each indexed by one of the labels that it requires: the label that the fewest items require.
pub(super) struct ByLabel<'w, T> {
    labelled: BTreeMap<Label<'w>, Vec<T>>,
    /// Items that require no label.
    others: Vec<T>,
}

impl<'w, T> ByLabel<'w, T> {
    pub(super) fn new(items: Vec<(T, Vec<Label<'w>>)>) -> Self {
        let mut counts: BTreeMap<Label<'w>, usize> = BTreeMap::new();
        for label in items.iter().flat_map(|(_, labels)| labels) {
            *counts.entry(*label).or_default() += 1;
        }
        let mut index = ByLabel {
            labelled: BTreeMap::new(),
            others: Vec::new(),
        };
        for (item, labels) in items {
            let rarest = labels.into_iter().min_by_key(|label| counts.get(label).copied());
            match rarest {
                Some(label) => index.labelled.entry(label).or_default().push(item),
                None => index.others.push(item),
            }
        }
        index
    }

    /// Candidates for a node with these labels: all items whose required labels the node has, and possibly other items.
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
    fn candidates_are_items_that_require_a_node_label_or_none() {
        let east = [("region", "east")];
        let items = vec![
            ("east", east.to_vec()),
            ("rack", vec![("region", "east"), ("rack", "1")]),
            ("west", vec![("region", "west")]),
            ("any", Vec::new()),
        ];
        let index = ByLabel::new(items);
        let labels =
            [("region", "east"), ("rack", "2")].map(|(key, value)| (key.to_owned(), value.to_owned()));
        let found: Vec<_> = index.candidates(&labels.into()).copied().collect();
        assert_eq!(found, ["east", "any"]);
    }
}
