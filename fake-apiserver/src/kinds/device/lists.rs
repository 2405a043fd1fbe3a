//! Lists and maps that have a most, and entries that are there once.

use crate::machinery::faults::Faults;
use crate::machinery::json::list;
use serde_json::Value;
use std::collections::HashSet;

/// Judges each entry of a list. One that is too long is not looked into.
pub(super) fn each<'v>(
    value: &'v Value,
    most: usize,
    at: &str,
    faults: &mut Faults,
    mut rule: impl FnMut(&'v Value, &str, &mut Faults),
) {
    let all = list(value);
    if all.len() > most {
        faults.too_many(at, all.len(), most);
        return;
    }
    for (i, one) in all.iter().enumerate() {
        rule(one, &format!("{at}[{i}]"), faults);
    }
}

/// The same for entries that have a key each, by which no two are the same.
pub(super) fn set<'v>(
    value: &'v Value,
    most: usize,
    key: impl Fn(&'v Value) -> &'v str,
    at: &str,
    faults: &mut Faults,
    rule: impl FnMut(&'v Value, &str, &mut Faults),
) {
    each(value, most, at, faults, rule);
    let all = list(value);
    let mut seen = HashSet::new();
    for (i, one) in all.iter().enumerate().take_while(|_| all.len() <= most) {
        if !seen.insert(key(one)) {
            faults.duplicate(format!("{at}[{i}]"), key(one));
        }
    }
}
