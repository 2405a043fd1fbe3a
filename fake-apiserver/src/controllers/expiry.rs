//! The end of what is kept for a while only: events.

use super::follow_up::follow_up;
use crate::store::Txn;
use crate::verbs::call::Target;
use crate::verbs::remove;

/// Removes the objects whose time has come. The next request does so, whichever it is.
pub(crate) fn expire(txn: &mut Txn<'_>) {
    txn.compact();
    while let Some((kind, key)) = txn.next_expired() {
        if let Some(object) = txn.get(&kind, &key) {
            remove::collect(txn, &Target::of(&kind, object.value()), &object, None);
        }
    }
    follow_up(txn);
}
