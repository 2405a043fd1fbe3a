//! The replicas of a publisher that hold the Lease.

use std::sync::Arc;

/// Client names of the replicas that have held the Lease since the last quiescence. The most recent holder is last.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaders(Vec<Arc<str>>);

impl Leaders {
    pub(super) fn lease_held(&mut self, client: Arc<str>) {
        self.0.retain(|leader| *leader != client);
        self.0.push(client);
    }

    /// Called at quiescence, when each replica that lost the Lease has noticed the loss.
    pub(super) fn on_quiescence(&mut self) {
        let last = self.0.len().saturating_sub(1);
        self.0.drain(..last);
    }

    pub(super) fn contains(&self, client: &Arc<str>) -> bool {
        self.0.contains(client)
    }
}
