//! What a control plane does beside answering requests: it makes what a cluster starts with, ends namespaces and events,
//! collects garbage and keeps aggregated roles.
//!
//! Plays the parts of the controller manager without which nothing would ever go. Works through the write paths of
//! `verbs`; does not know requests.

mod bootstrap;
mod expiry;
mod garbage;
mod namespaces;
mod roles;

pub(crate) use bootstrap::create as bootstrap;
pub(crate) use expiry::expire;
pub(crate) use garbage::collect as collect_garbage;
pub(crate) use roles::settle as aggregate_roles;

use crate::store::{FollowUp, Txn};

/// The field manager of what the controller manager writes in a real cluster.
const CONTROLLERS: &str = "kube-controller-manager";

/// Does what the changes of a transaction have left to the controllers, under the same lock.
pub(crate) fn follow_up(txn: &mut Txn<'_>) {
    while let Some(owed) = txn.next_owed() {
        match owed {
            FollowUp::NamespaceCreated(name) => namespaces::add_account(txn, &name),
            FollowUp::NamespaceEnding(name) => namespaces::empty(txn, &name),
            FollowUp::Gone { namespace } => namespaces::settle(txn, &namespace),
        }
    }
}
