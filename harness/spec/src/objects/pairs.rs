//! Something for each class and segment.

use std::collections::BTreeMap;

use capacity_types::Segment;

/// Values by class and segment.
pub(crate) struct Pairs<'c, T>(BTreeMap<&'c str, BTreeMap<Segment, T>>);

impl<'c, T: Default> Pairs<'c, T> {
    pub(crate) fn new() -> Self {
        Pairs(BTreeMap::new())
    }

    /// The value for a class and a segment, made where there is none.
    pub(crate) fn entry(&mut self, class: &'c str, segment: Segment) -> &mut T {
        self.0.entry(class).or_default().entry(segment).or_default()
    }

    pub(crate) fn get(&self, class: &str, segment: &Segment) -> Option<&T> {
        self.0.get(class)?.get(segment)
    }
}
