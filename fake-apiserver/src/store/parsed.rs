//! Which objects are kept parsed as well as in bytes: the ones that were written last.
//!
//! Owns the order and the bound. A value takes five times the bytes that it is made of; without a bound a server of many
//! objects would be full of values that nobody looks at.

use super::owners::Spot;
use crate::object::Object;
use std::collections::BTreeMap;

/// The objects whose values are kept, by the revisions that wrote them.
pub(super) struct Parsed {
    spots: BTreeMap<u64, (Spot, usize)>,
    bytes: usize,
    limit: usize,
}

impl Parsed {
    /// For values of so many bytes of JSON.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            spots: BTreeMap::new(),
            bytes: 0,
            limit,
        }
    }

    pub(super) fn wrote(&mut self, spot: Spot, object: &Object) {
        let bytes = object.bytes().len();
        self.bytes += bytes;
        self.spots.insert(object.revision, (spot, bytes));
    }

    /// Takes an object out that is not the newest state any more.
    pub(super) fn superseded(&mut self, object: &Object) {
        if let Some((_, bytes)) = self.spots.remove(&object.revision) {
            self.bytes -= bytes;
        }
    }

    /// The object that was written first, where there are more than may be.
    pub(super) fn excess(&mut self) -> Option<Spot> {
        if self.bytes <= self.limit {
            return None;
        }
        let (_, (spot, bytes)) = self.spots.pop_first()?;
        self.bytes -= bytes;
        Some(spot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_objects_are_kept_parsed() {
        let object = |revision| Object::new(json!({"kind": "A", "apiVersion": "v1"}), revision);
        let size = object(1).bytes().len();
        let mut parsed = Parsed::new(2 * size);
        let spot = |name: &str| (0, name.into());
        for (revision, name) in [(1, "a"), (2, "b"), (3, "c")] {
            parsed.wrote(spot(name), &object(revision));
        }
        assert_eq!(parsed.excess(), Some(spot("a")));
        assert_eq!(parsed.excess(), None);
        parsed.superseded(&object(2));
        parsed.wrote(spot("b"), &object(4));
        parsed.wrote(spot("d"), &object(5));
        assert_eq!(parsed.excess(), Some(spot("c")), "b has been written since");
        parsed.superseded(&object(1));
        assert_eq!(parsed.excess(), None, "a had gone before");
    }
}
