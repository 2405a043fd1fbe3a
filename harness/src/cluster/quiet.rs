//! Waits until the systems have observed what happened, and until they are idle.
//!
//! A watch event counts as delivered when it is handed to its connection. The client's processing is not observable, so the client gets a
//! short delay, repeated if the harness itself was delayed.

use std::time::Duration;

use super::Cluster;
use crate::journal::What;

/// A call or request that takes longer hangs; waiting for it would never end.
const HANGS: Duration = Duration::from_millis(200);

impl Cluster {
    /// Waits until nothing is in flight and nothing has changed for a moment, or until a timeout.
    pub(crate) async fn quiet(&self, patience: f64) {
        /// Publishers that hand a claim without capacity to each other continue forever, correctly; they are judged as they are.
        const LONG_ENOUGH: Duration = Duration::from_secs(10);
        let _ = tokio::time::timeout(LONG_ENOUGH.mul_f64(patience), self.still()).await;
    }

    /// Waits until nothing is in flight and nothing has changed for a moment.
    async fn still(&self) {
        /// Enough for a program on a busy host to react to what it has just observed.
        const SETTLE_IN_MEMORY: Duration = Duration::from_millis(40);
        /// Events of a real server take longer, and pending ones are unknown. Still shorter than the usual poll interval.
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
            // If this task was delayed, other tasks may still be.
            let is_starved = self.journal.now() - began > settle * 2;
            let moves = |what: &What| what.is_motion() && !(self.api.is_real() && is_refusal(what));
            if !is_starved && !self.journal.since(from).iter().any(|fact| moves(&fact.what)) {
                return;
            }
        }
    }

    /// Waits until the watchers of the harness's writes have observed them and reacted. Events of different watches are not ordered, so an
    /// action that depends on another resource must not be executed before.
    pub(super) async fn delivered(&self) {
        const IN_PROCESS: Duration = Duration::from_millis(10);
        const ELSEWHERE: Duration = Duration::from_millis(40);
        /// A system may continue forever.
        const LONG_ENOUGH: Duration = Duration::from_secs(1);
        let moment = match self.api.is_real() || self.fleet.has_children() {
            true => ELSEWHERE,
            false => IN_PROCESS,
        };
        let start = self.journal.now();
        while self.journal.now() - start < LONG_ENOUGH {
            // A watcher that does not read would block the case.
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

/// Whether a fact is a request that failed. Retries during a fault change nothing; behind a proxy they would prevent idleness forever.
fn is_refusal(what: &What) -> bool {
    matches!(what, What::Request(request) if request.code >= 400)
}
