//! Waits until the systems have observed what happened, and until they are idle.
//!
//! A watch event counts as delivered when it is written to its connection. The client's processing is not observable, so a short delay
//! follows, repeated if the harness itself was delayed.

use std::time::Duration;

use super::Cluster;
use crate::journal::What;

/// Maximum wait for calls and requests in flight: a longer one may hang forever.
const IN_FLIGHT_TIMEOUT: Duration = Duration::from_millis(200);

impl Cluster {
    /// Waits until nothing is in flight and nothing has changed for a moment, or until a timeout.
    pub(crate) async fn quiet(&self, patience: f64) {
        /// Distributed publishers may retry a claim without capacity forever, which is correct: the verdict then does not wait for idleness.
        const TIMEOUT: Duration = Duration::from_secs(10);
        let _ = tokio::time::timeout(TIMEOUT.mul_f64(patience), self.wait_until_idle()).await;
    }

    /// Waits until nothing is in flight and nothing has changed for a moment.
    async fn wait_until_idle(&self) {
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
            let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, self.driver.quiet()).await;
            if let Some(external) = &self.external {
                let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, external.quiet()).await;
            }
            let (from, began) = (self.journal.len(), self.journal.now());
            tokio::time::sleep(settle).await;
            // If this task was delayed, other tasks may still be.
            let is_starved = self.journal.now() - began > settle * 2;
            let is_activity =
                |what: &What| what.is_activity() && !(self.api.is_real() && is_failed_request(what));
            if !is_starved
                && !self
                    .journal
                    .since(from)
                    .iter()
                    .any(|fact| is_activity(&fact.what))
            {
                return;
            }
        }
    }

    /// Waits until the watchers of the harness's writes have observed them and reacted. Events of different watches are not ordered, so an
    /// action that depends on another resource must not be executed before.
    pub(super) async fn wait_until_delivered(&self) {
        const IN_PROCESS: Duration = Duration::from_millis(10);
        const OUT_OF_PROCESS: Duration = Duration::from_millis(40);
        /// A system may never become idle.
        const TIMEOUT: Duration = Duration::from_secs(1);
        let settle = match self.api.is_real() || self.fleet.has_children() {
            true => OUT_OF_PROCESS,
            false => IN_PROCESS,
        };
        let start = self.journal.now();
        while self.journal.now() - start < TIMEOUT {
            // A watcher that does not read would block the case.
            let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, self.api.quiet()).await;
            let (from, began) = (self.journal.len(), self.journal.now());
            tokio::time::sleep(settle).await;
            let is_starved = self.journal.now() - began > settle * 2;
            let is_activity =
                |what: &What| matches!(what, What::Request(_) | What::Commit(_) | What::Delivery(_));
            if !is_starved
                && !self
                    .journal
                    .since(from)
                    .iter()
                    .any(|fact| is_activity(&fact.what))
            {
                return;
            }
        }
    }
}

/// Whether a fact is a request that failed. Retries during a fault change nothing; behind a proxy they would prevent idleness forever.
fn is_failed_request(what: &What) -> bool {
    matches!(what, What::Request(request) if request.code >= 400)
}
