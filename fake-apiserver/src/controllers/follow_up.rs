//! Controller work that results from the changes of a transaction.

use super::namespaces;
use crate::store::{FollowUp, Txn};

/// Runs the controllers for the changes of a transaction, within the transaction.
pub(crate) fn follow_up(txn: &mut Txn<'_>) {
    while let Some(work) = txn.next_work() {
        match work {
            FollowUp::NamespaceCreated(name) => namespaces::add_account(txn, &name),
            FollowUp::NamespaceEnding(name) => namespaces::empty(txn, &name),
            FollowUp::Deleted { namespace } => namespaces::settle(txn, &namespace),
            FollowUp::Reconcile {
                controller,
                kind,
                key,
                is_deleted,
            } => controller.reconcile(txn, &kind, &key, is_deleted),
        }
    }
}
