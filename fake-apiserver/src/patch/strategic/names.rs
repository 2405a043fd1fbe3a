//! Identity of list entries: by merge key, or by value.
//!
//! Owns an index of list entries, so that lookups in long lists are fast.

use serde_json::Value;
use std::collections::HashMap;

/// The identity of a list entry. All structs without the merge key have the same identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EntryIdentity<'a> {
    Key(Option<&'a Value>),
    Whole(&'a Value),
}

impl<'a> EntryIdentity<'a> {
    pub(super) fn of(item: &'a Value, key: Option<&str>) -> Self {
        match key {
            Some(key) if item.is_object() => Self::Key(item.get(key)),
            _ => Self::Whole(item),
        }
    }
}

/// The positions of the entries of a list by identity; for several entries with the same identity, the position of the first.
pub(super) struct Positions<'a>(HashMap<EntryIdentity<'a>, usize>);

impl<'a> Positions<'a> {
    pub(super) fn of(list: &'a [Value], key: Option<&str>) -> Self {
        let mut positions = HashMap::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            positions.entry(EntryIdentity::of(item, key)).or_insert(at);
        }
        Self(positions)
    }

    pub(super) fn get(&self, item: &Value, key: Option<&str>) -> Option<usize> {
        self.0.get(&EntryIdentity::of(item, key)).copied()
    }
}
