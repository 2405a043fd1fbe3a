//! Converts API commits into changes of the specification's cluster state. Does not know which client made a commit.

use capacity_spec::world::Change;

use crate::journal::{Change as Committed, CommitFact};

/// The change of the specification's cluster state. None if the specification does not use the resource.
pub(crate) fn change(commit: &CommitFact) -> Option<Change> {
    let namespace = commit.namespace.as_deref().unwrap_or_default();
    match commit.change {
        Committed::Deleted => Change::removed(&commit.resource, namespace, &commit.name),
        // Cannot fail: the API server accepts only objects that can be parsed.
        Committed::Added | Committed::Modified => {
            Change::set(&commit.resource, &*commit.object).ok().flatten()
        }
    }
}
