//! Deletes Event objects whose lifetime has passed.

use super::follow_up::follow_up;
use crate::store::Txn;
use crate::verbs::call::Target;
use crate::verbs::remove;

/// Deletes expired Event objects. Called at the start of every request.
pub(crate) fn expire(txn: &mut Txn<'_>) {
    txn.compact();
    while let Some((kind, key)) = txn.next_expired() {
        if let Some(object) = txn.get(&kind, &key) {
            remove::collect(txn, &Target::of(&kind, object.value()), &object, None);
        }
    }
    follow_up(txn);
}
