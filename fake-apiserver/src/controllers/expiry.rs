//! Deletes Event objects whose lifetime has passed.

use super::follow_up::run_queued_work;
use crate::store::Txn;
use crate::verbs::call::Target;
use crate::verbs::remove;

/// Runs time-based compaction and deletes expired Event objects. Called at the start of every request.
pub(crate) fn expire(txn: &mut Txn<'_>) {
    txn.compact();
    while let Some((kind, key)) = txn.next_expired() {
        if let Some(object) = txn.get(&kind, &key) {
            remove::remove_garbage(txn, &Target::of(&kind, object.value()), &object, None);
        }
    }
    run_queued_work(txn);
}
