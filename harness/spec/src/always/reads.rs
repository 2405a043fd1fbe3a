//! What clients have read of the capacity objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::request::Request;

/// How often a client has listed and watched.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    lists: u32,
    watches: u32,
}

/// What clients have read of the capacity objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    by_client: BTreeMap<Arc<str>, Tally>,
    /// How often something has gone wrong after which anybody may have to read anew.
    excuses: u32,
}

impl Reads {
    /// A client begins to run.
    pub(super) fn began(&mut self, client: &str) {
        self.by_client.remove(client);
    }

    /// Something has gone wrong after which anybody may have to read anew.
    pub(super) fn disturbed(&mut self) {
        self.excuses += 1;
    }

    /// Takes a request in. Whether it is a list that nothing made necessary: each is followed by a watch, and only the end of a watch
    /// leads to another list.
    pub(super) fn is_needless(&mut self, request: &Request) -> bool {
        let tally = self.by_client.entry(request.client.clone()).or_default();
        match request.verb.as_str() {
            "watch" => tally.watches += 1,
            "list" if request.is_answered => tally.lists += 1,
            _ => return false,
        }
        tally.lists > tally.watches + 1 + self.excuses
    }
}
