//! What identifies the entries of a merging list: their key, or they themselves.
//!
//! Owns the index that keeps long lists from being gone through once for each of their entries.

use serde_json::Value;
use std::collections::HashMap;

/// The name of an entry. A struct without its key has one as well, which it shares with others like it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Name<'a> {
    Key(Option<&'a Value>),
    Whole(&'a Value),
}

impl<'a> Name<'a> {
    pub(super) fn of(item: &'a Value, key: Option<&str>) -> Self {
        match key {
            Some(key) if item.is_object() => Self::Key(item.get(key)),
            _ => Self::Whole(item),
        }
    }
}

/// Where the entries of a list are; of those that share a name, the first counts.
pub(super) struct Places<'a>(HashMap<Name<'a>, usize>);

impl<'a> Places<'a> {
    pub(super) fn of(list: &'a [Value], key: Option<&str>) -> Self {
        let mut places = HashMap::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            places.entry(Name::of(item, key)).or_insert(at);
        }
        Self(places)
    }

    pub(super) fn get(&self, item: &Value, key: Option<&str>) -> Option<usize> {
        self.0.get(&Name::of(item, key)).copied()
    }
}
