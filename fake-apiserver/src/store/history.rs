//! The log of changes, used to resume watches and to rebuild earlier states.
//!
//! Owns the limits of retained changes and of their parsed values. Deletions are logged too: a watch that starts after a deletion, from the
//! revision of an earlier list, still sees the event.

use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::object::{Object, Objects};
use crate::observe::{Change, Event};
use imbl::OrdMap;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

#[derive(Debug)]
pub(crate) struct LoggedChange {
    pub(crate) key: Arc<str>,
    pub(crate) change: Change,
    pub(crate) revision: u64,
    /// The new state; for a deletion, the last state with the revision of the deletion as resourceVersion.
    object: LoggedState,
    /// The previous state; `None` if the object was created.
    old: Option<LoggedState>,
    /// The previous state with the revision of this change, for the DELETED event of a watch whose selector no longer matches the object.
    left: OnceLock<Arc<Object>>,
}

/// A change with the states before and after the change. Reading it takes no lock.
pub(crate) struct Transition<'l> {
    pub(crate) logged: &'l LoggedChange,
    /// The new state; for a deletion, the last state with the revision of the deletion as resourceVersion.
    pub(crate) object: Arc<Object>,
    /// The previous state; `None` if the object was created.
    pub(crate) old: Option<Arc<Object>>,
}

/// One state of an object in the log. To save memory, the parsed JSON value of a state can be dropped.
#[derive(Debug)]
struct LoggedState(Mutex<Arc<Object>>);

/// Number of newest changes whose superseded states retain their parsed values. New watches usually resume within these changes; resuming
/// from an older change parses the objects again.
const PARSED: usize = 2048;

/// Size in bytes above which a superseded state drops its parsed value at once.
const PARSED_BYTES_EACH: usize = 32 * 1024;
/// Limit of the total JSON bytes of logged changes. kube-apiserver retains far less: about 1,000 events per resource in its watch cache,
/// and the revisions that etcd has not compacted.
const BYTES_MAX: usize = 512 << 20;

/// Error: the requested revision is no longer in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Compacted {
    pub(crate) requested: u64,
    /// The oldest revision from which a watch can resume.
    pub(crate) oldest: u64,
}

/// Changes of one resource by revision. Cloning is cheap.
pub(crate) type Log = OrdMap<u64, Arc<LoggedChange>>;

/// The logs of all resources, with common limits of the number and size of changes.
pub(crate) struct History {
    logs: Vec<(Log, u64)>,
    /// Every logged change, oldest first: revision, resource and bytes.
    order: VecDeque<(u64, usize, usize)>,
    limit: usize,
    bytes: usize,
    bytes_max: usize,
}

impl LoggedChange {
    pub(super) fn new(
        key: Arc<str>,
        change: Change,
        revision: u64,
        object: Arc<Object>,
        old: Option<Arc<Object>>,
    ) -> Self {
        Self {
            key,
            change,
            revision,
            object: LoggedState::of(object),
            old: old.map(LoggedState::of),
            left: OnceLock::new(),
        }
    }

    /// The new state; for a deletion, the last state with the revision of the deletion as resourceVersion.
    pub(crate) fn object(&self) -> Arc<Object> {
        self.object.get()
    }

    /// The previous state; `None` if the object was created.
    pub(crate) fn previous_object(&self) -> Option<Arc<Object>> {
        self.old.as_ref().map(LoggedState::get)
    }

    pub(crate) fn transition(&self) -> Transition<'_> {
        Transition {
            logged: self,
            object: self.object(),
            old: self.previous_object(),
        }
    }

    /// The previous state with the new revision, for the DELETED event of a watch whose selector no longer matches the object.
    pub(crate) fn object_leaving_selector(&self) -> Arc<Object> {
        let old = || self.previous_object().unwrap_or_else(|| self.object());
        self.left
            .get_or_init(|| at_revision(&old(), self.revision))
            .clone()
    }

    pub(super) fn commit_event(&self, kind: &Kind, client: &Arc<str>) -> Event {
        let object = self.object();
        let (namespace, name) = namespace_and_name(object.value());
        Event::Commit {
            client: client.clone(),
            change: self.change,
            group: kind.group,
            resource: kind.plural,
            namespace,
            name,
            revision: self.revision,
            object: object.shared_value(),
        }
    }
}

impl LoggedState {
    fn of(object: Arc<Object>) -> Self {
        LoggedState(Mutex::new(object))
    }

    fn get(&self) -> Arc<Object> {
        self.0.lock().clone()
    }

    /// Drops the cached parsed value, and returns the object, which then has only its serialized form.
    fn unparse(&self) -> Arc<Object> {
        let mut cached = self.0.lock();
        *cached = cached.serialized_only();
        cached.clone()
    }
}

impl History {
    pub(super) fn new(resources: usize, limit: usize) -> Self {
        Self {
            logs: vec![(Log::new(), 0); resources],
            order: VecDeque::new(),
            limit,
            bytes: 0,
            bytes_max: BYTES_MAX,
        }
    }

    /// Adds an empty log for a new custom resource.
    pub(super) fn add_log(&mut self) {
        self.logs.push((Log::new(), 0));
    }

    pub(super) fn push(&mut self, table_index: usize, logged: Arc<LoggedChange>) {
        let bytes = logged.object().bytes().len();
        self.order.push_back((logged.revision, table_index, bytes));
        self.bytes += bytes;
        self.logs[table_index].0.insert(logged.revision, logged);
        while self.order.len() > self.limit || self.bytes > self.bytes_max {
            let Some((revision, table_index, bytes)) = self.order.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            let (log, compacted) = &mut self.logs[table_index];
            log.remove(&revision);
            *compacted = revision.max(*compacted);
        }
        self.unparse_superseded();
    }

    /// All retained changes, oldest first, each with the table index of its resource.
    pub(super) fn into_changes(self) -> Vec<(usize, Arc<LoggedChange>)> {
        let logged = |(revision, table_index, _): (u64, usize, usize)| {
            Some((table_index, self.logs[table_index].0.get(&revision)?.clone()))
        };
        self.order.into_iter().filter_map(logged).collect()
    }

    /// Called after each push, when one change leaves the `PARSED` newest changes: drops the parsed value of the state before that change.
    fn unparse_superseded(&self) {
        let Some(at) = self.order.len().checked_sub(PARSED + 1) else {
            return;
        };
        let (revision, table_index, _) = self.order[at];
        if let Some(logged) = self.logs[table_index].0.get(&revision) {
            self.unparse(table_index, logged);
        }
    }

    /// Drops the parsed value of the state before a change if that state is large. Called after the watches have seen the change.
    pub(super) fn unparse_large(&self, table_index: usize, logged: &LoggedChange) {
        if logged
            .previous_object()
            .is_some_and(|old| old.bytes().len() > PARSED_BYTES_EACH)
        {
            self.unparse(table_index, logged);
        }
    }

    fn unparse(&self, table_index: usize, logged: &LoggedChange) {
        if let Some(old) = &logged.old {
            self.share_with_store(table_index, &old.unparse());
        }
        if logged.change == Change::Deleted {
            logged.object.unparse();
        }
    }

    /// Replaces the logged state with the revision of `object` by `object`, so that log and store share memory.
    pub(super) fn share_with_store(&self, table_index: usize, object: &Arc<Object>) {
        if let Some(logged) = self.logs[table_index].0.get(&object.revision) {
            *logged.object.0.lock() = object.clone();
        }
    }

    /// Removes the changes of a resource up to and including a revision.
    pub(super) fn compact(&mut self, table_index: usize, revision: u64) {
        self.order
            .retain(|(at, of, _)| *of != table_index || *at > revision);
        self.bytes = self.order.iter().map(|(.., bytes)| bytes).sum();
        let (log, compacted) = &mut self.logs[table_index];
        *log = log
            .range(revision + 1..)
            .map(|(at, logged)| (*at, logged.clone()))
            .collect();
        *compacted = revision.max(*compacted);
    }

    /// The log of a resource. Fails if changes after `revision` were removed from it.
    pub(super) fn log_since(&self, table_index: usize, revision: u64) -> Result<Log, Compacted> {
        let (log, compacted) = &self.logs[table_index];
        if revision < *compacted {
            return Err(Compacted {
                requested: revision,
                oldest: *compacted,
            });
        }
        Ok(log.clone())
    }

    /// Reverts all changes after `revision` in `objects`, the current objects of the resource.
    pub(super) fn revert_changes_after(
        &self,
        table_index: usize,
        revision: u64,
        objects: &mut Objects,
    ) -> Result<(), Compacted> {
        let log = self.log_since(table_index, revision)?;
        for (_, logged) in log.range(revision + 1..).rev() {
            match &logged.old {
                Some(old) => drop(objects.insert(logged.key.clone(), old.get())),
                None => drop(objects.remove(&logged.key)),
            }
        }
        Ok(())
    }
}

pub(super) fn at_revision(object: &Object, revision: u64) -> Arc<Object> {
    let mut value = object.value().clone();
    metadata::set(&mut value, "resourceVersion", Some(revision.to_string().into()));
    object.replace_value(value, revision)
}

pub(super) fn namespace_and_name(object: &Value) -> (Option<Arc<str>>, Arc<str>) {
    let namespace = metadata::text(object, "namespace");
    (
        (!namespace.is_empty()).then(|| namespace.into()),
        metadata::text(object, "name").into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_log_is_limited_by_bytes_as_well() {
        let object = |revision| Object::new(json!({"kind": "K", "apiVersion": "v1"}), revision);
        let mut history = History::new(1, 100);
        history.bytes_max = 2 * object(1).bytes().len();
        for revision in 1..=4 {
            let logged = LoggedChange::new("a".into(), Change::Modified, revision, object(revision), None);
            history.push(0, Arc::new(logged));
        }
        assert_eq!(
            history
                .log_since(0, 1)
                .map(|_| ())
                .map_err(|compacted| compacted.oldest),
            Err(2)
        );
        assert_eq!(history.log_since(0, 2).map(|log| log.len()).ok(), Some(2));
        history.compact(0, 3);
        assert_eq!(history.bytes, object(4).bytes().len());
    }
}
