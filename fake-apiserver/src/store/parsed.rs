//! Limits how many objects are cached in parsed form: the ones written last.
//!
//! Owns the order and the limit. A parsed value takes five times the memory of its bytes; without a limit, a server with many objects would
//! use most of its memory for values that are not read.

use super::owners::ObjectId;
use crate::object::Object;
use std::collections::BTreeMap;

/// The objects whose parsed value is cached, by the revision of their last write.
pub(super) struct ParsedCache {
    objects: BTreeMap<u64, (ObjectId, usize)>,
    bytes: usize,
    limit: usize,
}

impl ParsedCache {
    /// Creates the cache; `limit` is in bytes of JSON.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            objects: BTreeMap::new(),
            bytes: 0,
            limit,
        }
    }

    pub(super) fn record_write(&mut self, object_id: ObjectId, object: &Object) {
        let bytes = object.bytes().len();
        self.bytes += bytes;
        self.objects.insert(object.revision, (object_id, bytes));
    }

    /// Removes the previous state of an object from the cache, after the object was written or deleted.
    pub(super) fn remove_previous(&mut self, object: &Object) {
        if let Some((_, bytes)) = self.objects.remove(&object.revision) {
            self.bytes -= bytes;
        }
    }

    /// Removes the object written longest ago and returns it; `None` if the cache is within its limit.
    pub(super) fn evict_oldest(&mut self) -> Option<ObjectId> {
        if self.bytes <= self.limit {
            return None;
        }
        let (_, (object_id, bytes)) = self.objects.pop_first()?;
        self.bytes -= bytes;
        Some(object_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_objects_stay_parsed() {
        let object = |revision| Object::new(json!({"kind": "A", "apiVersion": "v1"}), revision);
        let size = object(1).bytes().len();
        let mut parsed = ParsedCache::new(2 * size);
        let object_id = |name: &str| (0, name.into());
        for (revision, name) in [(1, "a"), (2, "b"), (3, "c")] {
            parsed.record_write(object_id(name), &object(revision));
        }
        assert_eq!(parsed.evict_oldest(), Some(object_id("a")));
        assert_eq!(parsed.evict_oldest(), None);
        parsed.remove_previous(&object(2));
        parsed.record_write(object_id("b"), &object(4));
        parsed.record_write(object_id("d"), &object(5));
        assert_eq!(parsed.evict_oldest(), Some(object_id("c")), "b was written again");
        parsed.remove_previous(&object(1));
        assert_eq!(parsed.evict_oldest(), None, "a was evicted before");
    }
}
