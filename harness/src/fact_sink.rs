//! Receives observations from the API server and the driver and appends them to the journal, within the activity limits.
//!
//! Also acts on facts immediately: kills a client to which a fault rule with `kill` applies before the client can do anything more, and
//! sends each change to the controllers. Checks no expectations.

use std::sync::Arc;

use fake_apiserver::AppliedFault;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use crate::activity_limit::ActivityLimit;
use crate::journal::{CommitFact, Journal, Observation, ProcessEvent, ProcessFact};
use crate::killer::Killer;

/// A channel that receives object changes in order.
pub(crate) type Commits = mpsc::UnboundedReceiver<CommitFact>;

/// Appends facts to the journal. All clones share one state.
#[derive(Clone)]
pub struct FactSink(Arc<Shared>);

struct Shared {
    journal: Journal,
    killer: Killer,
    state: Mutex<State>,
}

struct State {
    /// Activity limits of the clients; `None` for a cluster without a verdict.
    activity: Option<ActivityLimit>,
    senders: Vec<mpsc::UnboundedSender<CommitFact>>,
}

impl FactSink {
    /// A sink with the activity limits of a case; `None`: without limits, for a cluster without a verdict.
    pub(crate) fn new(journal: Journal, killer: Killer, activity: Option<ActivityLimit>) -> Self {
        FactSink(Arc::new(Shared {
            journal,
            killer,
            state: Mutex::new(State {
                activity,
                senders: Vec::new(),
            }),
        }))
    }

    /// A sink without activity limits. Fault rules kill no clients.
    pub fn into_journal(journal: Journal) -> Self {
        FactSink::new(journal, Killer::default(), None)
    }

    /// Removes the activity limits, after the verdict on the cluster was computed.
    pub(crate) fn lift_limit(&self) {
        self.0.state.lock().activity = None;
    }

    /// Subscribes to object changes from now on.
    pub(crate) fn commits(&self) -> Commits {
        let (sender, receiver) = mpsc::unbounded_channel();
        self.0.state.lock().senders.push(sender);
        receiver
    }

    /// Appends one observation. Must be quick, because the caller still holds the lock under which the observed event happened.
    pub fn record(&self, what: Observation) {
        let mut state = self.0.state.lock();
        if let Observation::Commit(commit) = &what {
            state.senders.retain(|sender| sender.send(commit.clone()).is_ok());
        }
        let what = match &mut state.activity {
            Some(activity) => activity.admit(what),
            None => Some(what),
        };
        if let Some(what) = what {
            // A program above its activity limit is killed: otherwise it would fill the memory of the API server before the case ends.
            if let Observation::Process(process) = &what
                && matches!(process.event, ProcessEvent::Flooded(_))
            {
                self.0.killer.kill(&process.client);
            }
            // The fact is appended while `state` is locked, so that facts are in the order in which the limits counted them.
            self.0.journal.append(what);
        }
    }

    /// Records that a fault rule applied to a client. If the rule has `kill`, the client is killed before the fault takes effect.
    pub fn fault(&self, fault: AppliedFault) {
        let killed = self.0.killer.kill_for(fault.rule.0, fault.client.as_ref());
        self.record(Observation::Fault(fault));
        if let Some((client, role)) = killed {
            self.record(Observation::Process(ProcessFact {
                client,
                role,
                event: ProcessEvent::Killed,
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::Value;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::journal::Change;

    fn commit(number: u64) -> Observation {
        Observation::Commit(CommitFact {
            client: "publisher".into(),
            change: Change::Added,
            resource: "csistoragecapacities".into(),
            namespace: None,
            name: number.to_string(),
            revision: number,
            object: Arc::new(Value::Null),
        })
    }

    #[test]
    fn receivers_get_every_change_even_beyond_the_activity_limit() {
        let journal = Journal::default();
        let activity = ActivityLimit::for_objects(0);
        let killer = Killer::default();
        let killed = killer.register(&"publisher".into(), &CancellationToken::new());
        let sink = FactSink::new(journal.clone(), killer, Some(activity));
        sink.record(commit(0));
        let mut receiver = sink.commits();
        for number in 1..=400 {
            sink.record(commit(number));
        }
        for number in 1..=400 {
            assert_eq!(receiver.try_recv().unwrap().revision, number);
        }
        let facts = journal.since(0);
        assert_eq!(facts.len(), 301);
        assert!(killed.is_cancelled());
        let flood = &facts[300].what;
        assert!(
            matches!(flood, Observation::Process(process) if matches!(process.event, ProcessEvent::Flooded(_))),
            "{flood:?}"
        );
        sink.lift_limit();
        sink.record(commit(401));
        assert_eq!(journal.len(), 302);
    }
}
