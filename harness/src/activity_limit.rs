//! How much one system under test may do in one case. Knows facts, and nothing of what a case wants.
//!
//! A journal is kept in memory and judged fact by fact, so a system that does without end what it may do at all would keep the
//! harness busy for ever. Beyond the limits it has failed, whatever the case is about.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::journal::{CallFact, ProcessEvent, ProcessFact, RefusalFact, What};
use crate::plan::Plan;
use crate::scenario::Role;

/// The client of a request without a valid token.
const ANONYMOUS: &str = "system:anonymous";

/// Changes of objects by one client, in a cluster where nothing is and nothing happens.
const WRITES: u64 = 300;
/// So many more for each thing that there is or that happens. Programs in good health change each a few times at most, whatever breaks
/// around them.
const WRITES_OF_EACH: u64 = 20;

/// Requests, watch events and calls of one client, faults that it met, and what it changes as time goes by.
const EVENTS: u64 = 100_000;
/// So many more for each thing.
const EVENTS_OF_EACH: u64 = 1_000;

/// Bytes of all that, about: a Kubernetes API server accepts objects of more than a mebibyte.
const BYTES: u64 = 64 << 20;
/// So many more for each thing.
const BYTES_OF_EACH: u64 = 64 << 10;

/// What changes as long as a case lasts, whoever is in good health: a lease is renewed, a claim for which there is no room is tried
/// again, and both are told in events.
const ENDLESS: [&str; 3] = ["events", "leases", "persistentvolumeclaims"];

/// How much each client may do, and what it has done so far.
#[derive(Debug)]
pub(crate) struct ActivityLimit {
    writes: u64,
    events: u64,
    bytes: u64,
    clients: HashMap<Arc<str>, Tally>,
}

#[derive(Debug, Default)]
struct Tally {
    writes: u64,
    events: u64,
    bytes: u64,
    has_flooded: bool,
}

impl ActivityLimit {
    /// For a case.
    pub(crate) fn of(plan: &Plan) -> Self {
        let figures = plan.driver_nodes.len() * plan.class_parameters.len();
        let actions: usize = plan.steps.iter().map(|step| step.actions.len()).sum();
        Self::for_things((figures + plan.objects.len() + actions) as u64)
    }

    /// For so many figures, objects and actions.
    pub(crate) fn for_things(things: u64) -> Self {
        ActivityLimit {
            writes: WRITES + WRITES_OF_EACH * things,
            events: EVENTS + EVENTS_OF_EACH * things,
            bytes: BYTES + BYTES_OF_EACH * things,
            clients: HashMap::new(),
        }
    }

    /// What is to be written down instead of something that was observed: that itself, for once that there is too much, and then
    /// nothing.
    pub(crate) fn admit(&mut self, what: What) -> Option<What> {
        let Some((client, role)) = actor(&what) else {
            return Some(what);
        };
        let tally = self.clients.entry(Arc::clone(&client)).or_default();
        if tally.has_flooded {
            return None;
        }
        let (count, limit, of) = match &what {
            What::Commit(commit) if !ENDLESS.contains(&&*commit.resource) => {
                (&mut tally.writes, self.writes, "changes of objects")
            }
            _ => (&mut tally.events, self.events, "requests, watch events and calls"),
        };
        *count += 1;
        tally.bytes += size(&what);
        let (limit, of) = match *count > limit {
            true => (limit, of),
            false if tally.bytes > self.bytes => (self.bytes >> 20, "MiB of objects, requests and calls"),
            false => return Some(what),
        };
        tally.has_flooded = true;
        let event = ProcessEvent::Flooded(format!("more than {limit} {of}"));
        role.map(|role| What::Process(ProcessFact { client, role, event }))
    }
}

/// About the length of what a fact carries; the number of those that carry little is limited.
fn size(what: &What) -> u64 {
    let bytes = match what {
        What::Commit(commit) => length(&commit.object),
        What::Request(request) => {
            let texts = [&request.name, &request.namespace, &request.message];
            request.resource.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
        }
        What::Call(call) => call
            .parameters
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum(),
        _ => 0,
    };
    bytes as u64
}

/// The length of a value as JSON, roughly.
fn length(value: &Value) -> usize {
    /// Of quotes, separators, numbers and the like.
    const REST: usize = 4;
    REST + match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(length).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(name, value)| name.len() + length(value))
            .sum(),
        _ => 0,
    }
}

/// The system under test that did it. A client without a token may be any of them, so it has a limit and no role.
fn actor(what: &What) -> Option<(Arc<str>, Option<Role>)> {
    let client = match what {
        What::Request(request) => Arc::clone(&request.client),
        What::Commit(commit) => Arc::clone(&commit.client),
        What::Delivery(delivery) => Arc::clone(&delivery.client),
        What::Fault(fault) => Arc::clone(fault.client.as_ref()?),
        // Only publishers call the driver.
        What::Call(CallFact { node, .. }) | What::Refused(RefusalFact { node, .. }) => {
            Role::Publisher.client(node.as_deref()).into()
        }
        _ => return None,
    };
    let role = Role::of_client(&client);
    (role.is_some() || *client == *ANONYMOUS).then_some((client, role))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Change, CommitFact, RequestFact};

    fn request(client: &str) -> What {
        What::Request(RequestFact {
            client: client.into(),
            verb: fake_apiserver::Verb::Get,
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

    fn change_of(resource: &str) -> What {
        What::Commit(CommitFact {
            client: "publisher@n1".into(),
            change: Change::Modified,
            resource: resource.into(),
            namespace: None,
            name: "n".to_owned(),
            revision: 1,
            object: Arc::new(Value::Null),
        })
    }

    #[test]
    fn a_claim_is_tried_as_long_as_a_case_lasts_and_objects_are_not() {
        for (resource, is_endless) in [("persistentvolumeclaims", true), ("csistoragecapacities", false)] {
            let mut activity = ActivityLimit::for_things(0);
            let admitted = (0..=WRITES).filter_map(|_| activity.admit(change_of(resource)));
            let all_changes = admitted
                .last()
                .is_some_and(|last| matches!(last, What::Commit(_)));
            assert_eq!(all_changes, is_endless, "{resource}");
        }
    }

    #[test]
    fn too_much_is_told_once_and_then_nothing_and_others_are_not_meant() {
        let mut activity = ActivityLimit::for_things(0);
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
        // A request without a token is limited, and no system is blamed for it.
        let anonymous = (0..=EVENTS).filter_map(|_| activity.admit(request(ANONYMOUS)));
        assert_eq!(anonymous.count() as u64, EVENTS);
    }

    #[test]
    fn few_large_objects_are_a_flood() {
        let mut activity = ActivityLimit::for_things(0);
        let mut large = || {
            let What::Commit(mut commit) = change_of("leases") else {
                unreachable!()
            };
            commit.object = Arc::new("x".repeat(1 << 20).into());
            activity.admit(What::Commit(commit))
        };
        let admitted: Vec<What> = std::iter::repeat_with(&mut large).take(70).flatten().collect();
        let Some(What::Process(told)) = admitted.last() else {
            panic!("no flood was reported");
        };
        let ProcessEvent::Flooded(text) = &told.event else {
            panic!("{told:?}")
        };
        assert_eq!(text, "more than 64 MiB of objects, requests and calls");
        assert_eq!(admitted.len(), 64);
    }
}
