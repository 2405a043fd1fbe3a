//! Identity of list entries: by merge key, or by value.
//!
//! Owns an index that makes lookups in long lists fast.

use serde_json::Value;
use std::collections::HashMap;

/// The identity of an entry. All structs without the merge key share one.
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

/// Index of a list's entries by identity; the first of several equal ones counts.
pub(super) struct Positions<'a>(HashMap<Name<'a>, usize>);

impl<'a> Positions<'a> {
    pub(super) fn of(list: &'a [Value], key: Option<&str>) -> Self {
        let mut positions = HashMap::with_capacity(list.len());
        for (at, item) in list.iter().enumerate() {
            positions.entry(Name::of(item, key)).or_insert(at);
        }
        Self(positions)
    }

    pub(super) fn get(&self, item: &Value, key: Option<&str>) -> Option<usize> {
        self.0.get(&Name::of(item, key)).copied()
    }
}
