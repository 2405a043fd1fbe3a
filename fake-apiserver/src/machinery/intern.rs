//! Interned names with static lifetime: names of resources that are defined at run time.
//!
//! Names of such resources are few, short and compared often. Each distinct name is stored once and never freed.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::LazyLock;

static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
static LISTS: LazyLock<Mutex<HashSet<&'static [&'static str]>>> = LazyLock::new(Mutex::default);

/// Returns the interned copy of a resource name.
pub fn name(text: &str) -> &'static str {
    let mut names = NAMES.lock();
    if let Some(known) = names.get(text) {
        return known;
    }
    let leaked: &'static str = Box::leak(text.into());
    names.insert(leaked);
    leaked
}

/// Returns the interned copy of a list of resource names.
pub fn names(texts: &[&str]) -> &'static [&'static str] {
    let wanted: Vec<&'static str> = texts.iter().map(|text| name(text)).collect();
    let mut lists = LISTS.lock();
    if let Some(known) = lists.get(wanted.as_slice()) {
        return known;
    }
    let leaked: &'static [&'static str] = wanted.leak();
    lists.insert(leaked);
    leaked
}
