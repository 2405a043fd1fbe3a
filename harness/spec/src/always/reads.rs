//! Lists and watches of CSIStorageCapacity objects by clients.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::request::Request;

#[derive(Clone, Copy, Debug, Default)]
struct ReadCounts {
    lists: u32,
    watches: u32,
}

/// Counts the lists and watches of CSIStorageCapacity objects, by client.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    by_client: BTreeMap<Arc<str>, ReadCounts>,
    /// Number of failed requests and watches so far. After each failure, any client may have to list again.
    failures: u32,
}

impl Reads {
    /// Resets the list and watch counters of a client that starts.
    pub(super) fn client_restarted(&mut self, client: &str) {
        self.by_client.remove(client);
    }

    /// Records a failed request or watch, after which any client may have to list again.
    pub(super) fn request_failed(&mut self) {
        self.failures += 1;
    }

    /// Records a request. Returns whether the request is an unnecessary list. A client lists once and then watches; only the end of a watch
    /// requires another list.
    pub(super) fn is_unnecessary(&mut self, request: &Request) -> bool {
        let tally = self.by_client.entry(request.client.clone()).or_default();
        match request.verb.as_str() {
            "watch" => tally.watches += 1,
            "list" if request.is_successful => tally.lists += 1,
            _ => return false,
        }
        tally.lists > tally.watches + 1 + self.failures
    }
}
