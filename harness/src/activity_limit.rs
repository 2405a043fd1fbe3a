//! Limits the activity of each client of the API server and the driver within one case. Does not know what a case expects.
//!
//! The journal is stored in memory and checked fact by fact, so a program in an endless loop would occupy the harness forever. A program
//! that exceeds a limit has failed, whatever the case tests.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::journal::{CallFact, Observation, ProcessEvent, ProcessFact, RefusalFact};
use crate::plan::Plan;
use crate::scenario::Role;

/// Client name of a request without a valid token.
const ANONYMOUS: &str = "system:anonymous";

/// Maximum number of object changes by one client in a case without objects and actions.
const WRITES: u64 = 300;
/// Added to [`WRITES`] for each CSIStorageCapacity object, each other object and each action of the case. A correct program changes each
/// object a few times at most, whatever faults are injected.
const WRITES_PER_OBJECT: u64 = 20;

/// Maximum number of requests, watch events, CSI calls, injected faults and changes of [`UNLIMITED`] resources of one client.
const EVENTS: u64 = 100_000;
/// Added to [`EVENTS`] for each CSIStorageCapacity object, each other object and each action of the case.
const EVENTS_PER_OBJECT: u64 = 1_000;

/// Maximum total size of one client's facts, in approximate bytes. A limit on their number is not enough, because a Kubernetes API server
/// accepts objects larger than 1 MiB.
const BYTES: u64 = 64 << 20;
/// Added to [`BYTES`] for each CSIStorageCapacity object, each other object and each action of the case.
const BYTES_PER_OBJECT: u64 = 64 << 10;

/// Resources that correct programs change during the whole case: programs renew Leases, retry PVCs without capacity, and create Events.
/// [`WRITES`] does not limit these changes.
const UNLIMITED: [&str; 3] = ["events", "leases", "persistentvolumeclaims"];

/// Activity limits that apply to each client, and the activity of each client so far.
#[derive(Debug)]
pub(crate) struct ActivityLimit {
    writes: u64,
    events: u64,
    bytes: u64,
    clients: HashMap<Arc<str>, ClientActivity>,
}

#[derive(Debug, Default)]
struct ClientActivity {
    writes: u64,
    events: u64,
    bytes: u64,
    has_flooded: bool,
}

impl ActivityLimit {
    /// Activity limits for the case of a plan. The limits grow with the number of objects and actions in the case.
    pub(crate) fn of(plan: &Plan) -> Self {
        let capacity_objects = plan.driver_nodes.len() * plan.class_parameters.len();
        let actions: usize = plan.steps.iter().map(|step| step.actions.len()).sum();
        Self::for_objects((capacity_objects + plan.objects.len() + actions) as u64)
    }

    /// Activity limits for a case with this total number of CSIStorageCapacity objects, other objects and actions.
    pub(crate) fn for_objects(objects: u64) -> Self {
        ActivityLimit {
            writes: WRITES + WRITES_PER_OBJECT * objects,
            events: EVENTS + EVENTS_PER_OBJECT * objects,
            bytes: BYTES + BYTES_PER_OBJECT * objects,
            clients: HashMap::new(),
        }
    }

    /// Filters a fact before the journal records it. Returns the fact while its client is below the limits, a `Flooded` fact for the first
    /// fact beyond a limit, and `None` for every later fact of the client.
    pub(crate) fn admit(&mut self, what: Observation) -> Option<Observation> {
        let Some((client, role)) = client_of_fact(&what) else {
            return Some(what);
        };
        let tally = self.clients.entry(Arc::clone(&client)).or_default();
        if tally.has_flooded {
            return None;
        }
        let (count, limit, of) = match &what {
            Observation::Commit(commit) if !UNLIMITED.contains(&&*commit.resource) => {
                (&mut tally.writes, self.writes, "changes of objects")
            }
            _ => (&mut tally.events, self.events, "requests, watch events and calls"),
        };
        *count += 1;
        tally.bytes += fact_bytes(&what);
        let (limit, of) = match *count > limit {
            true => (limit, of),
            false if tally.bytes > self.bytes => (self.bytes >> 20, "MiB of objects, requests and calls"),
            false => return Some(what),
        };
        tally.has_flooded = true;
        let event = ProcessEvent::Flooded(format!("more than {limit} {of}"));
        role.map(|role| Observation::Process(ProcessFact { client, role, event }))
    }
}

/// Approximate size of a commit, request or CSI call in bytes. 0 for other facts, of which only the number is limited.
fn fact_bytes(what: &Observation) -> u64 {
    let bytes = match what {
        Observation::Commit(commit) => length(&commit.object),
        Observation::Request(request) => {
            let texts = [&request.name, &request.namespace, &request.message];
            request.resource.len() + texts.into_iter().flatten().map(String::len).sum::<usize>()
        }
        Observation::Call(call) => call
            .parameters
            .iter()
            .map(|(name, value)| name.len() + value.len())
            .sum(),
        _ => 0,
    };
    bytes as u64
}

/// Approximate length of a value as JSON, in bytes.
fn length(value: &Value) -> usize {
    /// Bytes added for each JSON value, for quotes, separators, numbers and literals.
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

/// Name and role of the client that caused a fact. A request without a token may come from any program, so [`ANONYMOUS`] is limited but
/// has no role.
fn client_of_fact(what: &Observation) -> Option<(Arc<str>, Option<Role>)> {
    let client = match what {
        Observation::Request(request) => Arc::clone(&request.client),
        Observation::Commit(commit) => Arc::clone(&commit.client),
        Observation::Delivery(delivery) => Arc::clone(&delivery.client),
        Observation::Fault(fault) => Arc::clone(fault.client.as_ref()?),
        // A `CallFact` does not name its client. Publishers make most CSI calls, so the publisher of the node counts as the client.
        Observation::Call(CallFact { node, .. }) | Observation::Refused(RefusalFact { node, .. }) => {
            Role::Publisher.client_name(node.as_deref()).into()
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

    fn request(client: &str) -> Observation {
        Observation::Request(RequestFact {
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

    fn change_of(resource: &str) -> Observation {
        Observation::Commit(CommitFact {
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
    fn changes_of_claims_are_not_limited_and_changes_of_capacity_objects_are() {
        for (resource, is_unlimited) in [("persistentvolumeclaims", true), ("csistoragecapacities", false)] {
            let mut activity = ActivityLimit::for_objects(0);
            let admitted = (0..=WRITES).filter_map(|_| activity.admit(change_of(resource)));
            let all_changes = admitted
                .last()
                .is_some_and(|last| matches!(last, Observation::Commit(_)));
            assert_eq!(all_changes, is_unlimited, "{resource}");
        }
    }

    #[test]
    fn flood_is_reported_once_and_other_clients_are_not_limited() {
        let mut activity = ActivityLimit::for_objects(0);
        for _ in 0..EVENTS {
            assert!(matches!(
                activity.admit(request("publisher@n1")),
                Some(Observation::Request(_))
            ));
        }
        let Some(Observation::Process(flood)) = activity.admit(request("publisher@n1")) else {
            panic!("no flood was reported");
        };
        assert_eq!((&*flood.client, flood.role), ("publisher@n1", Role::Publisher));
        assert!(matches!(flood.event, ProcessEvent::Flooded(_)));
        assert!(activity.admit(request("publisher@n1")).is_none());
        for client in ["publisher@n2", "scheduler", "harness"] {
            assert!(matches!(
                activity.admit(request(client)),
                Some(Observation::Request(_))
            ));
        }
        for _ in 0..=EVENTS {
            assert!(activity.admit(request("harness")).is_some());
        }
        // Requests without a token are limited, but the journal records no `Flooded` fact, because their role is unknown.
        let anonymous = (0..=EVENTS).filter_map(|_| activity.admit(request(ANONYMOUS)));
        assert_eq!(anonymous.count() as u64, EVENTS);
    }

    #[test]
    fn few_large_objects_exceed_the_size_limit() {
        let mut activity = ActivityLimit::for_objects(0);
        let mut large = || {
            let Observation::Commit(mut commit) = change_of("leases") else {
                unreachable!()
            };
            commit.object = Arc::new("x".repeat(1 << 20).into());
            activity.admit(Observation::Commit(commit))
        };
        let admitted: Vec<Observation> = std::iter::repeat_with(&mut large).take(70).flatten().collect();
        let Some(Observation::Process(flood)) = admitted.last() else {
            panic!("no flood was reported");
        };
        let ProcessEvent::Flooded(text) = &flood.event else {
            panic!("{flood:?}")
        };
        assert_eq!(text, "more than 64 MiB of objects, requests and calls");
        assert_eq!(admitted.len(), 64);
    }
}
