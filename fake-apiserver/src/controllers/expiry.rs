//! The end of events: they are kept for a while only.

use super::follow_up::follow_up;
use crate::kinds::EVENT;
use crate::store::Txn;
use crate::verbs::call::Target;
use crate::verbs::remove;

/// Removes the events whose time has come. The next request does so, whichever it is.
pub(crate) fn expire(txn: &mut Txn<'_>) {
    while let Some(key) = txn.next_expired() {
        if let Some(event) = txn.get(EVENT, &key) {
            remove::collect(txn, &Target::of(EVENT, &event.value), &event, None);
        }
    }
    follow_up(txn);
}
