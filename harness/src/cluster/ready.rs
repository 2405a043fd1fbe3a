//! Readiness of child processes, derived from their requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fake_apiserver::{AppliedFault, Verb};

use super::Cluster;
use crate::journal::{Observation, ProcessEvent, ProcessFact, RequestFact, START_TIMEOUT};
use crate::scenario::Role;

/// Maximum wait between the start of a program and the next action.
const STARTED_TIMEOUT: Duration = Duration::from_secs(2);

impl Cluster {
    /// Waits until every child process has sent a list, watch or Lease request, has exited, or was killed because of an activity limit. On
    /// timeout, records `NotReady` for the remaining processes.
    pub(crate) async fn wait_until_ready(&self, patience: f64) {
        let waiting: Vec<(Arc<str>, Role)> = self
            .fleet
            .children()
            // A driver need not send API requests; `driver.rs` waits for its Probe response.
            .filter(|(_, role)| *role != Role::Driver)
            .map(|(client, role)| (client.clone(), role))
            .collect();
        let names = waiting.iter().map(|(client, _)| client.clone()).collect();
        let left =
            tokio::time::timeout(START_TIMEOUT.mul_f64(patience), self.wait_for_clients(names, 0)).await;
        if left.is_ok() {
            return;
        }
        for (client, role) in waiting {
            if !self.is_ready(&client) {
                let event =
                    ProcessEvent::NotReady(self.describe_activity(&client, START_TIMEOUT.mul_f64(patience)));
                self.journal
                    .append(Observation::Process(ProcessFact { client, role, event }));
            }
        }
    }

    /// Waits until the programs that were started after fact `from` have sent a first request, for at most [`STARTED_TIMEOUT`]. Ignores a
    /// timeout, because a fault of the case may delay the request.
    pub(crate) async fn wait_until_started(&self, from: u64) {
        let facts = self.journal.since(from);
        let started = facts.iter().filter_map(|fact| match &fact.what {
            // A driver need not send requests to the API server, so it is not waited for.
            Observation::Process(process) if process.role != Role::Driver => Some(process.client.clone()),
            _ => None,
        });
        let _ = tokio::time::timeout(STARTED_TIMEOUT, self.wait_for_clients(started.collect(), from)).await;
        self.wait_until_delivered().await;
    }

    async fn wait_for_clients(&self, mut waiting: BTreeSet<Arc<str>>, from: u64) {
        let mut next = from;
        loop {
            for fact in self.journal.since(next) {
                next = fact.seq + 1;
                let ready_client = match &fact.what {
                    Observation::Request(request) if is_readiness_request(request) => &request.client,
                    // A request to which a fault rule applies may get no response, so the fault fact counts as well.
                    Observation::Fault(AppliedFault {
                        client: Some(client), ..
                    }) => client,
                    Observation::Process(process) if has_ended(process) => &process.client,
                    _ => continue,
                };
                waiting.remove(ready_client);
            }
            if waiting.is_empty() {
                return;
            }
            self.journal.wait_for_len_above(next).await;
        }
    }

    fn is_ready(&self, client: &str) -> bool {
        self.journal.since(0).iter().any(|fact| match &fact.what {
            Observation::Request(request) => *request.client == *client && is_readiness_request(request),
            Observation::Process(process) => *process.client == *client && has_ended(process),
            _ => false,
        })
    }

    /// Describes the requests and calls of a program that is not ready, for a `NotReady` fact.
    fn describe_activity(&self, client: &str, limit: Duration) -> String {
        let facts = self.journal.since(0);
        let requests = facts
            .iter()
            .filter(|fact| matches!(&fact.what, Observation::Request(request) if *request.client == *client));
        let calls = facts
            .iter()
            .filter(|fact| matches!(fact.what, Observation::Call(_)));
        let refused = facts
            .iter()
            .filter(|fact| matches!(fact.what, Observation::Refused(_)));
        let refused = match refused.count() {
            0 => String::new(),
            count => format!("; the driver's socket refused {count} connections or requests"),
        };
        format!(
            "the program sent no list or watch request within {limit:?}; {} other requests to the API server, and {} \
             CSI calls of all clients{refused}",
            requests.count(),
            calls.count()
        )
    }
}

/// Whether a request shows that its program is ready. Lease requests count: a candidate that waits for the Lease sends nothing else.
fn is_readiness_request(request: &RequestFact) -> bool {
    matches!(request.verb, Verb::List | Verb::Watch) || request.resource == "leases"
}

fn has_ended(process: &ProcessFact) -> bool {
    matches!(process.event, ProcessEvent::Exited(_) | ProcessEvent::Flooded(_))
}
