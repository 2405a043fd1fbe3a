//! What a cluster takes and nobody acts upon: objects whose controllers do not run here.
//!
//! Knows which kinds those are. Does not know what makes the cluster, nor who is told.

use std::collections::VecDeque;

use crate::journal::{Change, Journal, What};

/// Kinds of which controllers make pods, by resource.
const KINDS: [(&str, &str); 7] = [
    ("cronjobs", "CronJob"),
    ("daemonsets", "DaemonSet"),
    ("deployments", "Deployment"),
    ("jobs", "Job"),
    ("replicasets", "ReplicaSet"),
    ("replicationcontrollers", "ReplicationController"),
    ("statefulsets", "StatefulSet"),
];

/// The kinds of which no controller runs here.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(_, kind)| *kind)
}

/// Says of a new object that nothing will come of it, if so.
pub fn sentence(resource: &str, namespace: Option<&str>, name: &str) -> Option<String> {
    let (_, kind) = KINDS.iter().find(|(plural, _)| *plural == resource)?;
    let namespace = namespace.unwrap_or_default();
    Some(format!(
        "{kind} {namespace}/{name} was created, and makes no pods: no {kind} controller runs here; create its pods yourself"
    ))
}

/// The objects that a journal tells of, one after the other.
pub struct Unattended {
    journal: Journal,
    /// The fact to be read next.
    next: u64,
    waiting: VecDeque<String>,
}

impl Unattended {
    /// From now on.
    pub(crate) fn of(journal: Journal) -> Self {
        Unattended {
            next: journal.len(),
            journal,
            waiting: VecDeque::new(),
        }
    }

    /// Waits for the next object that nobody acts upon, and says so.
    pub async fn next(&mut self) -> String {
        loop {
            if let Some(sentence) = self.waiting.pop_front() {
                return sentence;
            }
            self.journal.grown(self.next).await;
            for fact in self.journal.since(self.next) {
                self.next = fact.seq + 1;
                if let What::Commit(commit) = &fact.what
                    && commit.change == Change::Added
                {
                    let said = sentence(&commit.resource, commit.namespace.as_deref(), &commit.name);
                    self.waiting.extend(said);
                }
            }
        }
    }
}
