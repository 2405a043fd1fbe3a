//! Converts API commits into changes of the specification's cluster state. Does not know the client.

use capacity_spec::world::Change;

use crate::journal::{Change as Committed, CommitFact};

/// The change of a commit. None if the specification does not use objects of the resource.
pub(crate) fn change(commit: &CommitFact) -> Option<Change> {
    let namespace = commit.namespace.as_deref().unwrap_or_default();
    match commit.change {
        Committed::Deleted => Change::removed(&commit.resource, namespace, &commit.name),
        // Infallible: the API server accepts readable objects only.
        Committed::Added | Committed::Modified => {
            Change::set(&commit.resource, &*commit.object).ok().flatten()
        }
    }
}
