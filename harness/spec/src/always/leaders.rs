//! Replicas of a publisher that hold the Lease.

use std::sync::Arc;

/// The replicas that held the Lease at or after the last quiescence. The most recent one is last.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaders(Vec<Arc<str>>);

impl Leaders {
    /// A replica acquires or renews the Lease.
    pub(super) fn lease_held(&mut self, client: Arc<str>) {
        self.0.retain(|leader| *leader != client);
        self.0.push(client);
    }

    /// At quiescence each replica that lost the Lease has observed the loss.
    pub(super) fn settle(&mut self) {
        let last = self.0.len().saturating_sub(1);
        self.0.drain(..last);
    }

    pub(super) fn contains(&self, client: &Arc<str>) -> bool {
        self.0.contains(client)
    }
}
