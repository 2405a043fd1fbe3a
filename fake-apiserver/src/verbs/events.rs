//! The end of events: they are kept for a while only.

use super::delete;
use crate::call::{Part, Target};
use crate::kinds::EVENT;
use crate::meta;
use crate::store::Txn;

/// Removes the events whose time has come. The next request does so, whichever it is.
pub(super) fn expire(txn: &mut Txn<'_>) {
    while let Some(key) = txn.next_expired() {
        let Some(event) = txn.get(EVENT, &key) else {
            continue;
        };
        let target = Target {
            kind: EVENT,
            namespace: Some(meta::text(&event.value, "namespace").to_owned()),
            name: Some(meta::text(&event.value, "name").to_owned()),
            part: Part::Main,
        };
        delete::collect(txn, &target, &event, None);
    }
}
