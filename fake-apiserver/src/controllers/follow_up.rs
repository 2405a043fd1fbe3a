//! Controller work that results from the changes of a transaction.

use super::namespaces;
use crate::store::{ControllerWork, Txn};

/// Runs the controllers for the changes of a transaction, within the transaction.
pub(crate) fn run_queued_work(txn: &mut Txn<'_>) {
    while let Some(work) = txn.next_work() {
        match work {
            ControllerWork::NamespaceCreated(name) => namespaces::add_account(txn, &name),
            ControllerWork::NamespaceEnding(name) => namespaces::delete_content(txn, &name),
            ControllerWork::Deleted { namespace } => namespaces::finish_if_terminating(txn, &namespace),
            ControllerWork::Reconcile {
                controller,
                kind,
                key,
                is_deleted,
            } => controller.reconcile(txn, &kind, &key, is_deleted),
        }
    }
}
