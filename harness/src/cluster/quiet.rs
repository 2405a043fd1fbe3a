//! Waiting until the systems know what has happened, and until they do nothing more about it.
//!
//! A watch event counts as delivered when it is handed to its connection. What the client at the other end needs to take it in, nobody
//! sees: it gets a moment, measured anew where the harness itself did not get its turn in time.

use std::time::Duration;

use super::Cluster;
use crate::journal::What;

/// A call, or a request, that takes longer hangs: it moves nothing, and would never end.
const HANGS: Duration = Duration::from_millis(200);

impl Cluster {
    /// Waits until nothing is in flight and nothing has moved for a moment, or for long enough.
    pub(crate) async fn quiet(&self, patience: f64) {
        /// Publishers that pass on to each other a claim for which nobody has room go on for ever, and rightly: they are judged as they are.
        const LONG_ENOUGH: Duration = Duration::from_secs(10);
        let _ = tokio::time::timeout(LONG_ENOUGH.mul_f64(patience), self.still()).await;
    }

    /// Waits until nothing is in flight and nothing has moved for a moment.
    async fn still(&self) {
        /// Long enough for a program on a busy machine to answer what it has just heard.
        const SETTLE_IN_MEMORY: Duration = Duration::from_millis(40);
        /// The events of a real server take longer, and it is unknown which are on their way. Still less than the usual poll interval.
        const SETTLE_BEHIND_PROXY: Duration = Duration::from_millis(80);
        let settle = match self.api.is_real() {
            true => SETTLE_BEHIND_PROXY,
            false => SETTLE_IN_MEMORY,
        };
        loop {
            self.api.quiet().await;
            let _ = tokio::time::timeout(HANGS, self.driver.quiet()).await;
            if let Some(external) = &self.external {
                let _ = tokio::time::timeout(HANGS, external.quiet()).await;
            }
            let (from, began) = (self.journal.len(), self.journal.now());
            tokio::time::sleep(settle).await;
            // Where this task had to wait for its turn, others may still be waiting for theirs.
            let is_starved = self.journal.now() - began > settle * 2;
            let moves = |what: &What| what.is_motion() && !(self.api.is_real() && is_refusal(what));
            if !is_starved && !self.journal.since(from).iter().any(|fact| moves(&fact.what)) {
                return;
            }
        }
    }

    /// Waits until the watchers of what the harness wrote know of it, and have done what they do at once. What comes over two watches
    /// comes in no order, so an action that depends on one of another resource must not be taken before.
    pub(super) async fn delivered(&self) {
        const IN_PROCESS: Duration = Duration::from_millis(10);
        const ELSEWHERE: Duration = Duration::from_millis(40);
        /// A system may go on for ever.
        const LONG_ENOUGH: Duration = Duration::from_secs(1);
        let moment = match self.api.is_real() || self.fleet.has_children() {
            true => ELSEWHERE,
            false => IN_PROCESS,
        };
        let start = self.journal.now();
        while self.journal.now() - start < LONG_ENOUGH {
            // A watcher that does not read would keep the case waiting.
            let _ = tokio::time::timeout(HANGS, self.api.quiet()).await;
            let (from, began) = (self.journal.len(), self.journal.now());
            tokio::time::sleep(moment).await;
            let is_starved = self.journal.now() - began > moment * 2;
            let goes_on =
                |what: &What| matches!(what, What::Request(_) | What::Commit(_) | What::Delivery(_));
            if !is_starved && !self.journal.since(from).iter().any(|fact| goes_on(&fact.what)) {
                return;
            }
        }
    }
}

/// Whether a fact is a request that was refused. Who tries again and again while a fault lasts moves nothing by that; behind a proxy it
/// would never be still for long enough.
fn is_refusal(what: &What) -> bool {
    matches!(what, What::Request(request) if request.code >= 400)
}
