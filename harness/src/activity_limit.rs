//! How much one system under test may do in one case. Knows facts, and nothing of what a case wants.
//!
//! A journal is kept in memory and judged fact by fact, so a system that does without end what it may do at all would keep the
//! harness busy for ever. Beyond the limits it has failed, whatever the case is about.

use std::collections::HashMap;
use std::sync::Arc;

use crate::journal::{ProcessEvent, ProcessFact, What};
use crate::scenario::Role;

/// Changes of objects by one client. The largest case needs some dozens.
const WRITES: u64 = 5_000;

/// Requests, watch events and calls of one client, and faults that it met.
const EVENTS: u64 = 100_000;

/// What each client has done so far.
#[derive(Debug, Default)]
pub(crate) struct ActivityLimit {
    clients: HashMap<Arc<str>, Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    writes: u64,
    events: u64,
}

impl ActivityLimit {
    /// What is to be written down instead of something that was observed: that itself, for once that there is too much, and then
    /// nothing.
    pub(crate) fn admit(&mut self, what: What) -> Option<What> {
        let Some((client, role)) = actor(&what) else {
            return Some(what);
        };
        let tally = self.clients.entry(Arc::clone(&client)).or_default();
        let (count, limit, of) = match what {
            What::Commit(_) => (&mut tally.writes, WRITES, "changes of objects"),
            _ => (&mut tally.events, EVENTS, "requests, watch events and calls"),
        };
        *count += 1;
        if *count <= limit {
            return Some(what);
        }
        let event = ProcessEvent::Flooded(format!("more than {limit} {of}"));
        (*count == limit + 1).then_some(What::Process(ProcessFact { client, role, event }))
    }
}

/// The system under test that did it.
fn actor(what: &What) -> Option<(Arc<str>, Role)> {
    let client = match what {
        What::Request(request) => Arc::clone(&request.client),
        What::Commit(commit) => Arc::clone(&commit.client),
        What::Delivery(delivery) => Arc::clone(&delivery.client),
        What::Fault(fault) => Arc::clone(fault.client.as_ref()?),
        // Only publishers call the driver.
        What::Call(call) => Role::Publisher.client(call.node.as_deref()).into(),
        _ => return None,
    };
    let role = Role::of_client(&client)?;
    Some((client, role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::RequestFact;

    fn request(client: &str) -> What {
        What::Request(RequestFact {
            client: client.into(),
            verb: "get".to_owned(),
            resource: "nodes".to_owned(),
            version: None,
            namespace: None,
            name: None,
            code: 200,
            message: None,
            revision: None,
            injected: false,
        })
    }

    #[test]
    fn too_much_is_told_once_and_then_nothing_and_others_are_not_meant() {
        let mut activity = ActivityLimit::default();
        for _ in 0..EVENTS {
            assert!(matches!(
                activity.admit(request("publisher@n1")),
                Some(What::Request(_))
            ));
        }
        let Some(What::Process(told)) = activity.admit(request("publisher@n1")) else {
            panic!("nothing was told");
        };
        assert_eq!((&*told.client, told.role), ("publisher@n1", Role::Publisher));
        assert!(matches!(told.event, ProcessEvent::Flooded(_)));
        assert!(activity.admit(request("publisher@n1")).is_none());
        for client in ["publisher@n2", "scheduler", "harness"] {
            assert!(matches!(activity.admit(request(client)), Some(What::Request(_))));
        }
        for _ in 0..=EVENTS {
            assert!(activity.admit(request("harness")).is_some());
        }
    }
}
