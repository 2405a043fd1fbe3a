//! API objects for which a cluster runs no controller. Users get a note about such objects.
//!
//! Knows the kinds of such objects. Does not know which client created an object, nor how the note is displayed.

use crate::fact_sink::Commits;
use crate::journal::Change;

/// Kinds whose controllers create pods, by plural resource name.
const KINDS: [(&str, &str); 7] = [
    ("cronjobs", "CronJob"),
    ("daemonsets", "DaemonSet"),
    ("deployments", "Deployment"),
    ("jobs", "Job"),
    ("replicasets", "ReplicaSet"),
    ("replicationcontrollers", "ReplicationController"),
    ("statefulsets", "StatefulSet"),
];

/// Kinds of API objects for which no controller runs in the cluster.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|(_, kind)| *kind)
}

/// A note to the user that no controller reconciles a new object; `None` if the object needs no controller.
fn note(resource: &str, namespace: Option<&str>, name: &str) -> Option<String> {
    let (_, kind) = KINDS.iter().find(|(plural, _)| *plural == resource)?;
    let namespace = namespace.unwrap_or_default();
    Some(format!(
        "{kind} {namespace}/{name} was created, but no {kind} controller runs in this cluster; create its pods yourself"
    ))
}

/// Receives the API objects that are created in a cluster.
pub struct Unattended(Commits);

impl Unattended {
    pub(crate) fn of(commits: Commits) -> Self {
        Unattended(commits)
    }

    /// Waits for the next API object that no controller reconciles, and returns a note. Never returns after the cluster has ended.
    pub async fn next(&mut self) -> String {
        while let Some(commit) = self.0.recv().await {
            let is_new = commit.change == Change::Added;
            let note = note(&commit.resource, commit.namespace.as_deref(), &commit.name);
            if let Some(note) = note.filter(|_| is_new) {
                return note;
            }
        }
        std::future::pending().await
    }
}
