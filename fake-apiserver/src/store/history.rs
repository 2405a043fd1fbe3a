//! The log of changes, from which watches go on and earlier states are rebuilt.
//!
//! Owns the bound on how much is kept, and of how much the values. Deletions are logged like all else: a watch that starts between a list and a
//! deletion still learns of it.

use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::object::{Object, Objects};
use crate::observe::{Change, Event};
use imbl::OrdMap;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

/// One change of one object.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) key: Arc<str>,
    pub(crate) change: Change,
    pub(crate) revision: u64,
    /// The new state; for a deletion the last state, at the revision of the deletion.
    object: State,
    /// The state before.
    old: Option<State>,
    /// The state before, at the revision of this change: what watches see of an object that leaves their selector.
    left: OnceLock<Arc<Object>>,
}

/// A change with the states before and after it, for those who look at both again and again.
pub(crate) struct Transition<'l> {
    pub(crate) logged: &'l Logged,
    /// The new state; for a deletion the last state, at the revision of the deletion.
    pub(crate) object: Arc<Object>,
    /// The state before.
    pub(crate) old: Option<Arc<Object>>,
}

/// One state of an object in the log; in the place of it may come the same as bytes alone.
#[derive(Debug)]
struct State(Mutex<Arc<Object>>);

/// How many of the newest changes keep the values of superseded states. Watches that begin anew go on from one of them; from an older one
/// they cost parsing it again.
const PARSED: usize = 2048;

/// Bytes of a superseded state above which its value is dropped at once.
const PARSED_BYTES_EACH: usize = 32 * 1024;
/// Bytes of JSON that the logged changes may have together. kube-apiserver keeps far less: about 1,000 events per resource in its watch
/// cache, and what etcd has not compacted.
const BYTES_MAX: usize = 512 << 20;

/// A revision that is no longer in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone {
    pub(crate) asked: u64,
    /// The oldest revision from which one can go on.
    pub(crate) oldest: u64,
}

/// Changes of one resource by revision. Cloning is cheap.
pub(crate) type Log = OrdMap<u64, Arc<Logged>>;

/// The logs of all resources, bounded together.
pub(crate) struct History {
    logs: Vec<(Log, u64)>,
    /// Every logged change, oldest first: revision, resource and bytes.
    order: VecDeque<(u64, usize, usize)>,
    limit: usize,
    bytes: usize,
    bytes_max: usize,
}

impl Logged {
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
            object: State::of(object),
            old: old.map(State::of),
            left: OnceLock::new(),
        }
    }

    /// The new state; for a deletion the last state, at the revision of the deletion.
    pub(crate) fn object(&self) -> Arc<Object> {
        self.object.get()
    }

    /// The state before.
    pub(crate) fn old(&self) -> Option<Arc<Object>> {
        self.old.as_ref().map(State::get)
    }

    pub(crate) fn transition(&self) -> Transition<'_> {
        Transition {
            logged: self,
            object: self.object(),
            old: self.old(),
        }
    }

    /// What a watch sees whose selector the object has left: the old content at the new revision.
    pub(crate) fn left(&self) -> Arc<Object> {
        let old = || self.old().unwrap_or_else(|| self.object());
        self.left
            .get_or_init(|| at_revision(&old(), self.revision))
            .clone()
    }

    pub(super) fn committed(&self, kind: &Kind, client: &Arc<str>) -> Event {
        let object = self.object();
        let (namespace, name) = place(object.value());
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

impl State {
    fn of(object: Arc<Object>) -> Self {
        State(Mutex::new(object))
    }

    fn get(&self) -> Arc<Object> {
        self.0.lock().clone()
    }

    /// Keeps no more than bytes, and returns that.
    fn unparse(&self) -> Arc<Object> {
        let mut kept = self.0.lock();
        *kept = kept.unparsed();
        kept.clone()
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

    /// Makes room for another resource.
    pub(super) fn grow(&mut self) {
        self.logs.push((Log::new(), 0));
    }

    pub(super) fn push(&mut self, shelf: usize, logged: Arc<Logged>) {
        let bytes = logged.object().bytes().len();
        self.order.push_back((logged.revision, shelf, bytes));
        self.bytes += bytes;
        self.logs[shelf].0.insert(logged.revision, logged);
        while self.order.len() > self.limit || self.bytes > self.bytes_max {
            let Some((revision, shelf, bytes)) = self.order.pop_front() else {
                return;
            };
            self.bytes -= bytes;
            let (log, compacted) = &mut self.logs[shelf];
            log.remove(&revision);
            *compacted = revision.max(*compacted);
        }
        self.unparse_superseded();
    }

    /// All changes that are kept, oldest first, each with the number of its resource.
    pub(super) fn into_changes(self) -> Vec<(usize, Arc<Logged>)> {
        let logged = |(revision, shelf, _): (u64, usize, usize)| {
            Some((shelf, self.logs[shelf].0.get(&revision)?.clone()))
        };
        self.order.into_iter().filter_map(logged).collect()
    }

    /// Drops the values of what the change has superseded that is no longer one of the newest.
    fn unparse_superseded(&self) {
        let Some(at) = self.order.len().checked_sub(PARSED + 1) else {
            return;
        };
        let (revision, shelf, _) = self.order[at];
        if let Some(logged) = self.logs[shelf].0.get(&revision) {
            self.unparse(shelf, logged);
        }
    }

    /// Drops the value of a large state that a change has superseded. The watches have seen the change.
    pub(super) fn unparse_large(&self, shelf: usize, logged: &Logged) {
        if logged
            .old()
            .is_some_and(|old| old.bytes().len() > PARSED_BYTES_EACH)
        {
            self.unparse(shelf, logged);
        }
    }

    fn unparse(&self, shelf: usize, logged: &Logged) {
        if let Some(old) = &logged.old {
            self.share(shelf, &old.unparse());
        }
        if logged.change == Change::Deleted {
            logged.object.unparse();
        }
    }

    /// Keeps that object in the change that made it, in the place of the same with its value.
    pub(super) fn share(&self, shelf: usize, object: &Arc<Object>) {
        if let Some(made) = self.logs[shelf].0.get(&object.revision) {
            *made.object.0.lock() = object.clone();
        }
    }

    /// Forgets the changes of a resource up to a revision.
    pub(super) fn compact(&mut self, shelf: usize, revision: u64) {
        self.order.retain(|(at, of, _)| *of != shelf || *at > revision);
        self.bytes = self.order.iter().map(|(.., bytes)| bytes).sum();
        let (log, compacted) = &mut self.logs[shelf];
        *log = log
            .range(revision + 1..)
            .map(|(at, logged)| (*at, logged.clone()))
            .collect();
        *compacted = revision.max(*compacted);
    }

    /// The changes after `revision`, or where they can be had from at the earliest.
    pub(super) fn since(&self, shelf: usize, revision: u64) -> Result<Log, Gone> {
        let (log, compacted) = &self.logs[shelf];
        if revision < *compacted {
            return Err(Gone {
                asked: revision,
                oldest: *compacted,
            });
        }
        Ok(log.clone())
    }

    /// Takes back all changes after `revision`.
    pub(super) fn rewind(&self, shelf: usize, revision: u64, objects: &mut Objects) -> Result<(), Gone> {
        let log = self.since(shelf, revision)?;
        for (_, logged) in log.range(revision + 1..).rev() {
            match &logged.old {
                Some(old) => drop(objects.insert(logged.key.clone(), old.get())),
                None => drop(objects.remove(&logged.key)),
            }
        }
        Ok(())
    }
}

/// The same content under another resourceVersion.
pub(super) fn at_revision(object: &Object, revision: u64) -> Arc<Object> {
    let mut value = object.value().clone();
    metadata::set(&mut value, "resourceVersion", Some(revision.to_string().into()));
    object.like(value, revision)
}

/// Namespace and name of an object.
pub(super) fn place(object: &Value) -> (Option<Arc<str>>, Arc<str>) {
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
    fn changes_are_bounded_by_bytes_as_well() {
        let object = |revision| Object::new(json!({"kind": "K", "apiVersion": "v1"}), revision);
        let mut history = History::new(1, 100);
        history.bytes_max = 2 * object(1).bytes().len();
        for revision in 1..=4 {
            let logged = Logged::new("a".into(), Change::Modified, revision, object(revision), None);
            history.push(0, Arc::new(logged));
        }
        assert_eq!(
            history.since(0, 1).map(|_| ()).map_err(|gone| gone.oldest),
            Err(2)
        );
        assert_eq!(history.since(0, 2).map(|log| log.len()).ok(), Some(2));
        history.compact(0, 3);
        assert_eq!(history.bytes, object(4).bytes().len());
    }
}
