//! Which replicas of a publisher hold the Lease.

use std::sync::Arc;

/// The replicas that hold the Lease, or did when everything was last quiet or since; the last one is last.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaders(Vec<Arc<str>>);

impl Leaders {
    /// A replica takes or renews the Lease.
    pub(super) fn led(&mut self, client: Arc<str>) {
        self.0.retain(|leader| *leader != client);
        self.0.push(client);
    }

    /// Everything is quiet: who has lost the Lease knows that.
    pub(super) fn settle(&mut self) {
        let last = self.0.len().saturating_sub(1);
        self.0.drain(..last);
    }

    pub(super) fn contains(&self, client: &Arc<str>) -> bool {
        self.0.contains(client)
    }
}
