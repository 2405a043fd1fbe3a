//! Waits until the programs under test have received all watch events and until they are idle.
//!
//! A watch event counts as delivered when it is written to its connection. Whether the client has processed the event cannot be observed,
//! so a short delay follows; the delay is repeated if the harness itself was delayed.

use std::time::Duration;

use super::Cluster;
use crate::journal::Observation;

/// Maximum wait for CSI calls and requests in flight. A call that takes longer may hang forever.
const IN_FLIGHT_TIMEOUT: Duration = Duration::from_millis(200);

impl Cluster {
    /// Waits until the cluster is idle ([`Cluster::wait_until_idle`]), but at most `TIMEOUT`.
    pub(crate) async fn wait_until_quiet(&self, patience: f64) {
        /// Distributed publishers may correctly retry a PVC forever if there is no capacity, so the cluster may never be idle.
        const TIMEOUT: Duration = Duration::from_secs(10);
        let _ = tokio::time::timeout(TIMEOUT.mul_f64(patience), self.wait_until_idle()).await;
    }

    /// Waits until no request or call is in flight and the journal has not grown for a moment.
    async fn wait_until_idle(&self) {
        /// Time for a program on a busy host to react to the last watch event.
        const SETTLE_IN_MEMORY: Duration = Duration::from_millis(40);
        /// Longer than `SETTLE_IN_MEMORY`: a real API server delivers watch events later, and the proxy does not know which events are
        /// pending. Shorter than the usual poll interval.
        const SETTLE_BEHIND_PROXY: Duration = Duration::from_millis(80);
        let settle = match self.api.is_real() {
            true => SETTLE_BEHIND_PROXY,
            false => SETTLE_IN_MEMORY,
        };
        loop {
            self.api.quiet().await;
            let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, self.driver.wait_until_idle()).await;
            if let Some(external) = &self.external {
                let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, external.quiet()).await;
            }
            let is_activity =
                |what: &Observation| what.is_activity() && !(self.api.is_real() && is_failed_request(what));
            if self.is_inactive_for(settle, is_activity).await {
                return;
            }
        }
    }

    /// Waits until the programs that watch the resources changed by the harness have received the events and reacted. Events of different
    /// watches are not ordered, so an action that depends on another resource must wait.
    pub(super) async fn wait_until_delivered(&self) {
        const IN_PROCESS: Duration = Duration::from_millis(10);
        const OUT_OF_PROCESS: Duration = Duration::from_millis(40);
        /// Timeout, because a program may never become idle.
        const TIMEOUT: Duration = Duration::from_secs(1);
        let settle = match self.api.is_real() || self.fleet.has_children() {
            true => OUT_OF_PROCESS,
            false => IN_PROCESS,
        };
        let start = self.journal.now();
        while self.journal.now() - start < TIMEOUT {
            // A client that does not read its watch keeps the request in flight, hence the timeout.
            let _ = tokio::time::timeout(IN_FLIGHT_TIMEOUT, self.api.quiet()).await;
            let is_activity = |what: &Observation| {
                matches!(
                    what,
                    Observation::Request(_) | Observation::Commit(_) | Observation::Delivery(_)
                )
            };
            if self.is_inactive_for(settle, is_activity).await {
                return;
            }
        }
    }

    /// Sleeps; returns whether no activity was recorded meanwhile. False if this task was delayed, because programs may be delayed too.
    async fn is_inactive_for(&self, settle: Duration, is_activity: impl Fn(&Observation) -> bool) -> bool {
        let (from, began) = (self.journal.len(), self.journal.now());
        tokio::time::sleep(settle).await;
        let is_starved = self.journal.now() - began > settle * 2;
        !is_starved
            && !self
                .journal
                .since(from)
                .iter()
                .any(|fact| is_activity(&fact.what))
    }
}

/// Whether a fact is a failed request. On a real API server, failed requests do not count as activity: a program that retries during a
/// fault would otherwise prevent idleness forever.
fn is_failed_request(what: &Observation) -> bool {
    matches!(what, Observation::Request(request) if request.code >= 400)
}
