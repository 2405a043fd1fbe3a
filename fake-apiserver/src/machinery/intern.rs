//! Names that live as long as the program: those of resources that come and go at run time.
//!
//! They are few and short, and compared everywhere. The same name is kept once, however often it comes again.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::LazyLock;

static NAMES: LazyLock<Mutex<HashSet<&'static str>>> = LazyLock::new(Mutex::default);
static LISTS: LazyLock<Mutex<HashSet<&'static [&'static str]>>> = LazyLock::new(Mutex::default);

/// A name that stays.
pub(crate) fn name(text: &str) -> &'static str {
    let mut names = NAMES.lock();
    if let Some(known) = names.get(text) {
        return known;
    }
    let kept: &'static str = Box::leak(text.into());
    names.insert(kept);
    kept
}

/// A list of names that stays.
pub(crate) fn names(texts: &[&str]) -> &'static [&'static str] {
    let wanted: Vec<&'static str> = texts.iter().map(|text| name(text)).collect();
    let mut lists = LISTS.lock();
    if let Some(known) = lists.get(wanted.as_slice()) {
        return known;
    }
    let kept: &'static [&'static str] = wanted.leak();
    lists.insert(kept);
    kept
}
