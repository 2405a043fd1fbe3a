//! Readiness of child processes, derived from their own requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{AppliedFault, Verb};

use super::Cluster;
use crate::journal::{ProcessEvent, ProcessFact, RequestFact, START_TIMEOUT, What};
use crate::scenario::Role;

/// Maximum wait for a started program before the next action.
const UP: Duration = Duration::from_secs(2);

impl Cluster {
    /// Waits until every child process has sent a list, watch or Lease request, has exited, or was killed for a flood. The others are
    /// recorded as `NotReady`.
    pub(crate) async fn ready(&self, patience: f64) {
        let waiting: Vec<(Arc<str>, Role)> = self
            .fleet
            .children()
            // A driver lists nothing, and is waited for separately.
            .filter(|(_, role)| *role != Role::Driver)
            .map(|(client, role)| (client.clone(), role))
            .collect();
        let names = waiting.iter().map(|(client, _)| client.clone()).collect();
        let left = tokio::time::timeout(START_TIMEOUT.mul_f64(patience), self.all_seen(names, 0)).await;
        if left.is_ok() {
            return;
        }
        for (client, role) in waiting {
            if !self.has_asked(&client) {
                let event = ProcessEvent::NotReady(self.instead(&client, START_TIMEOUT.mul_f64(patience)));
                self.journal
                    .append(What::Process(ProcessFact { client, role, event }));
            }
        }
    }

    /// Waits shortly until the systems that were started after a fact have read the cluster state. A slower one may have its reasons in the
    /// case; [`Cluster::ready`] is what judges.
    pub(crate) async fn up(&self, from: u64) {
        let facts = self.journal.since(from);
        let started = facts.iter().filter_map(|fact| match &fact.what {
            // A driver sends no request to the API server.
            What::Process(process) if process.role != Role::Driver => Some(process.client.clone()),
            _ => None,
        });
        let _ = tokio::time::timeout(UP, self.all_seen(started.collect(), from)).await;
        self.delivered().await;
    }

    async fn all_seen(&self, mut waiting: BTreeSet<Arc<str>>, from: u64) {
        let mut next = from;
        loop {
            for fact in self.journal.since(next) {
                next = fact.seq + 1;
                let seen = match &fact.what {
                    What::Request(request) if is_look(request) => &request.client,
                    // A request that meets a fault may never be answered.
                    What::Fault(AppliedFault {
                        client: Some(client), ..
                    }) => client,
                    What::Process(process) if has_ended(process) => &process.client,
                    _ => continue,
                };
                waiting.remove(seen);
            }
            if waiting.is_empty() {
                return;
            }
            self.journal.grown(next).await;
        }
    }

    fn has_asked(&self, client: &str) -> bool {
        self.journal.since(0).iter().any(|fact| match &fact.what {
            What::Request(request) => *request.client == *client && is_look(request),
            What::Process(process) => *process.client == *client && has_ended(process),
            _ => false,
        })
    }

    /// What the program did instead of a request, as text.
    fn instead(&self, client: &str, limit: Duration) -> String {
        let facts = self.journal.since(0);
        let requests = facts
            .iter()
            .filter(|fact| matches!(&fact.what, What::Request(request) if *request.client == *client));
        let calls = facts.iter().filter(|fact| matches!(fact.what, What::Call(_)));
        let refused = facts.iter().filter(|fact| matches!(fact.what, What::Refused(_)));
        let refused = match refused.count() {
            0 => String::new(),
            count => format!(" and {count} that its socket refused"),
        };
        format!(
            "it listed and watched nothing within {limit:?}; until then {} other requests to the API server, and {} calls \
             of the driver from all clients{refused}",
            requests.count(),
            calls.count()
        )
    }
}

/// A candidate that waits for the Lease sends no other requests.
fn is_look(request: &RequestFact) -> bool {
    matches!(request.verb, Verb::List | Verb::Watch) || request.resource == "leases"
}

fn has_ended(process: &ProcessFact) -> bool {
    matches!(process.event, ProcessEvent::Exited(_) | ProcessEvent::Flooded(_))
}
