//! What the scheduler has heard of: it may act on what was, as long as its watches have not told it what is.
//!
//! Knows revisions alone, and nothing of the objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::journal::{Fact, What};
use crate::scenario::Role;

/// The kinds whose changes decide where pods may go.
const DECISIVE: [&str; 5] = [
    "csidrivers",
    "csinodes",
    "csistoragecapacities",
    "nodes",
    "storageclasses",
];

/// The kinds that the scheduler follows, each with the revision that it knows, and the last one that there is.
#[derive(Debug, Default)]
pub(super) struct Heard(BTreeMap<Arc<str>, Known>);

#[derive(Debug, Default)]
struct Known {
    /// None: it has not listed them since it began.
    heard: Option<u64>,
    written: u64,
}

impl Heard {
    /// Takes a fact in.
    pub(super) fn observe(&mut self, fact: &Fact) {
        match &fact.what {
            What::Commit(commit) => self.of(&commit.resource, |known| known.written = commit.revision),
            What::Delivery(delivery) if is_scheduler(&delivery.client) => {
                self.of(&delivery.resource, |known| {
                    known.heard = known.heard.max(Some(delivery.revision));
                });
            }
            What::Request(request) if request.verb == "list" && is_scheduler(&request.client) => {
                if let Some(revision) = request.revision.filter(|_| request.code == 200) {
                    self.of(&request.resource, |known| known.heard = Some(revision));
                }
            }
            What::Process(process) if process.role == Role::Scheduler => {
                self.0.values_mut().for_each(|known| known.heard = None);
            }
            _ => {}
        }
    }

    /// Whether a change is on its way to it. What it does not follow is none of its business.
    pub(super) fn is_behind(&self) -> bool {
        let mut followed = self.0.values();
        followed.any(|known| known.heard.is_some_and(|heard| heard < known.written))
    }

    fn of(&mut self, resource: &str, change: impl FnOnce(&mut Known)) {
        if !DECISIVE.contains(&resource) {
            return;
        }
        match self.0.get_mut(resource) {
            Some(known) => change(known),
            None => change(self.0.entry(resource.into()).or_default()),
        }
    }
}

fn is_scheduler(client: &str) -> bool {
    Role::of_client(client) == Some(Role::Scheduler)
}
