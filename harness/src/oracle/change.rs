//! What a commit of the API server changes in the world of the specification. Knows nothing of who wrote it.

use capacity_spec::world::Change;

use crate::journal::{Change as Committed, CommitFact};

/// The change; none: no rule speaks of such objects.
pub(crate) fn change(commit: &CommitFact) -> Option<Change> {
    let namespace = commit.namespace.as_deref().unwrap_or_default();
    match commit.change {
        Committed::Deleted => Change::removed(&commit.resource, namespace, &commit.name),
        // The API server takes no others.
        Committed::Added | Committed::Modified => {
            Change::set(&commit.resource, &*commit.object).ok().flatten()
        }
    }
}
