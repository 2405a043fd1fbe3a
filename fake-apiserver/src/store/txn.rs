//! A transaction: exclusive access of one request to the state.
//!
//! Owns the single write path, `commit`: revision, objects, log, watchers and observer, in this order under one lock.
//! Does not validate objects.

use super::follow_up::ControllerWork;
use super::history::{self, Compacted, LoggedChange};
use super::selection::Selection;
use super::watcher::{Inbox, InitialEvents, Start, Watcher};
use super::{Frames, Snapshot, State, Store, size};
use crate::access::auth::{Authenticated, Claim, User};
use crate::access::rbac::{self, Attributes, Decision, PolicyRule};
use crate::admission::AdmissionSession;
use crate::config::options::ServerOptions;
use crate::config::release::Profile;
use crate::kinds::{Api, Kind};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::{Object, namespace_range};
use crate::observe::{Change, Event};
use crate::patch::managed;
use crate::request::Verb;
use crate::schema::Empty;
use parking_lot::{Mutex, MutexGuard};
use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use tokio::time::Instant;

/// Exclusive access of one request to the state. All events are reported to the observer before the transaction ends.
pub(crate) struct Txn<'a> {
    pub(super) store: &'a Store,
    pub(super) state: MutexGuard<'a, State>,
    /// Declared after `state`, so that a dropped transaction releases the lock before it wakes the tasks of watches.
    wakers: WakeOnDrop,
    client: &'a Arc<str>,
    /// The user of the request. None for the server's own writes.
    pub(crate) user: Option<Arc<User>>,
    /// The verb of the request. None for the server's own writes.
    pub(crate) verb: Option<Verb>,
    /// The time of the request, in the format of `metadata` timestamps.
    pub(crate) now: Arc<str>,
    /// Whether the request is a dry run, whose commits only render the object.
    pub(crate) dry_run: bool,
    /// Texts for the `Warning` headers of the response.
    pub(crate) warnings: Vec<String>,
    /// Empty lists and maps in the request body: decoding removes empty values, but some validation rules need to know about them.
    pub(crate) empties: Vec<Empty>,
    /// The admission session of the request. None if no webhook or policy matches.
    pub(crate) admission: Option<Box<AdmissionSession>>,
    /// The random source of a request whose verb may be executed again: all executions must generate equal values.
    pub(super) chance: Option<StdRng>,
    /// Work for the controllers, in the order of the changes.
    work_queue: VecDeque<ControllerWork>,
}

/// Wakers of watches that have events to send; woken on drop.
#[derive(Default)]
struct WakeOnDrop(Vec<Waker>);

impl Drop for WakeOnDrop {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl<'a> Txn<'a> {
    /// Locks the state and starts a transaction at the current time.
    pub(super) fn begin(store: &'a Store, client: &'a Arc<str>) -> Self {
        Self::begin_at(store, client, store.clock.now())
    }

    /// Locks the state and starts a transaction with `now` as the time of the request.
    pub(super) fn begin_at(store: &'a Store, client: &'a Arc<str>, now: Arc<str>) -> Self {
        Self {
            store,
            state: store.state.lock(),
            wakers: WakeOnDrop::default(),
            client,
            user: None,
            verb: None,
            now,
            dry_run: false,
            warnings: Vec::new(),
            empties: Vec::new(),
            admission: None,
            chance: None,
            work_queue: VecDeque::new(),
        }
    }
}

impl Txn<'_> {
    pub(crate) fn options(&self) -> &ServerOptions {
        &self.store.options
    }

    /// The served release and feature gates; constant during a transaction.
    pub(crate) fn profile(&self) -> Profile {
        self.store.profile()
    }

    /// The served resources and release; constant while a verb is executed.
    pub(crate) fn api(&self) -> Api {
        self.store.api()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.revision
    }

    pub(crate) fn authenticate(&self, token: &str, audiences: &[String]) -> Option<Authenticated> {
        let lookup = |kind: &Kind, key: &str| self.get(kind, key);
        self.store
            .authenticator
            .authenticate_token(token, audiences, &lookup)
    }

    pub(crate) fn issue(&self, claim: &Claim) -> String {
        self.store.authenticator.issue(claim)
    }

    pub(crate) fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.store
            .authorizer
            .decide(user, attributes, || self.state.policy_sources())
    }

    /// The RBAC rules that apply to a user in a namespace, and errors found during their evaluation.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> (Vec<PolicyRule>, Option<String>) {
        self.store
            .authorizer
            .rules_for(user, namespace, || self.state.policy_sources())
    }

    pub(crate) fn get(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.state.tables[kind.table_index()].objects.get(key).cloned()
    }

    pub(crate) fn snapshot(&self, kind: &Kind) -> Snapshot {
        let objects = self.state.tables[kind.table_index()].objects.clone();
        Snapshot {
            objects,
            revision: self.state.revision,
        }
    }

    pub(crate) fn snapshot_at(&self, kind: &Kind, revision: u64) -> Result<Snapshot, Compacted> {
        let table_index = kind.table_index();
        let mut objects = self.state.tables[table_index].objects.clone();
        self.state
            .history
            .revert_changes_after(table_index, revision, &mut objects)?;
        Ok(Snapshot { objects, revision })
    }

    /// Runs the time-based compaction.
    pub(crate) fn compact(&mut self) {
        let state = &mut *self.state;
        state.revision = state.compaction.advance(Instant::now(), state.revision);
    }

    pub(crate) fn is_compacted(&self, revision: u64) -> bool {
        self.state.compaction.is_compacted(revision)
    }

    /// Creates or updates an object and sets its resourceVersion. Retains the managedFields of the stored object if the value has none.
    pub(crate) fn put(&mut self, kind: &Kind, key: &str, value: Value) -> Arc<Object> {
        let object = self.render(kind, key, value);
        self.commit_unless_dry_run(kind, key, object)
    }

    /// Like `put`, for client writes: checks the limits of size and depth, and drops managedFields if the object is too large with them.
    pub(crate) fn put_limited(
        &mut self,
        kind: &Kind,
        key: &str,
        value: Value,
    ) -> Result<Arc<Object>, Status> {
        let mut object = self.render(kind, key, value);
        let check = |object: &Object| match self.dry_run {
            true => size::check_depth(object),
            false => size::check_depth(object).and_then(|()| size::check(kind, key, object)),
        };
        if check(&object).is_err() {
            object = Object::new(object.value().clone(), object.revision);
            check(&object)?;
        }
        Ok(self.commit_unless_dry_run(kind, key, object))
    }

    /// The object as `put` stores it: with managedFields and, except in a dry run, a new resourceVersion.
    fn render(&self, kind: &Kind, key: &str, mut value: Value) -> Arc<Object> {
        if value["metadata"].get("managedFields").is_none()
            && let Some(old) = self.get(kind, key)
        {
            managed::set_managed_fields(&mut value, old.managed_fields().to_owned());
        }
        if self.dry_run {
            let revision = metadata::text(&value, "resourceVersion")
                .parse()
                .unwrap_or_default();
            return Object::new(value, revision);
        }
        let revision = self.state.revision + 1;
        metadata::set(&mut value, "resourceVersion", Some(revision.to_string().into()));
        Object::new(value, revision)
    }

    fn commit_unless_dry_run(&mut self, kind: &Kind, key: &str, object: Arc<Object>) -> Arc<Object> {
        if !self.dry_run {
            self.commit(kind, key, Some(object.clone()));
        }
        object
    }

    /// Deletes an object. Watches receive the last state of the object with a new revision.
    pub(crate) fn remove(&mut self, kind: &Kind, key: &str) {
        if !self.dry_run {
            self.commit(kind, key, None);
        }
    }

    /// The single write path: revision, objects, log, watchers, observer, in this order under one lock.
    fn commit(&mut self, kind: &Kind, key: &str, new: Option<Arc<Object>>) {
        let table_index = kind.table_index();
        let key: Arc<str> = key.into();
        let state = &mut *self.state;
        let table = &mut state.tables[table_index];
        let (change, old, shown) = match new {
            Some(new) => {
                let old = table.objects.insert(key.clone(), new.clone());
                (
                    if old.is_some() {
                        Change::Modified
                    } else {
                        Change::Added
                    },
                    old,
                    new,
                )
            }
            None => {
                let Some(old) = table.objects.remove(&key) else {
                    return;
                };
                let last = history::at_revision(&old, state.revision + 1);
                (Change::Deleted, Some(old), last)
            }
        };
        let after = Some(&*shown).filter(|_| change != Change::Deleted);
        if let Some(old) = &old {
            state.parsed.remove_previous(old);
        }
        if let Some(new) = after {
            state.parsed.record_write((table_index, key.clone()), new);
        }
        if kind.in_storage_version().expires {
            let object_id = (table_index, key.clone());
            match after {
                Some(_) => state.expiry.record_write(object_id, Instant::now()),
                None => state.expiry.record_removal(&object_id),
            }
        }
        let catalogue = &self.store.api.read().catalogue;
        state
            .owners
            .update(catalogue, table_index, &key, old.as_deref(), after);
        state.revision += 1;
        let logged = Arc::new(LoggedChange::new(
            key,
            change,
            state.revision,
            shown.clone(),
            old.clone(),
        ));
        state.history.push(table_index, logged.clone());
        self.work_queue
            .extend(ControllerWork::for_change(kind, &logged, &self.store.controllers));
        if kind.configures_admission {
            self.store.registrar.invalidate();
        }
        if rbac::is_role_or_binding(kind) {
            self.store.authorizer.invalidate();
        }
        self.store.committed.notify_waiters();
        let (namespace, name) = (
            metadata::text(shown.value(), "namespace"),
            metadata::text(shown.value(), "name"),
        );
        let (frames, activity) = (Arc::new(Frames::default()), &self.store.activity);
        let (watchers, transition) = (
            table.watchers.watches_of_object(namespace, name),
            logged.transition(),
        );
        self.wakers
            .0
            .extend(watchers.filter_map(|watcher| watcher.enqueue_change(&transition, &frames, activity)));
        if let Some(observer) = &self.store.observer {
            observer.observe(logged.commit_event(&kind.in_storage_version(), self.client));
        }
        let new = Some(shown.value()).filter(|_| change != Change::Deleted);
        self.state.history.unparse_large(table_index, &logged);
        self.state.evict_parsed();
        let old = old.as_deref().map(|old| old.value());
        let watching = self.store.controllers.iter().filter(|it| it.watches(kind));
        watching.for_each(|controller| controller.on_commit(kind, old, new));
        let plugins = self.plugins();
        for plugin in plugins.iter() {
            plugin.on_commit(self, &kind.in_storage_version(), old, new);
        }
    }

    /// Enqueues work for the controllers, which run before the transaction ends.
    pub(crate) fn enqueue_work(&mut self, work: ControllerWork) {
        self.work_queue.push_back(work);
    }

    pub(crate) fn next_work(&mut self) -> Option<ControllerWork> {
        self.work_queue.pop_front()
    }

    /// Opens a watch. The store lock is held, so that no change between the initial and the later events is lost.
    ///
    /// Fails if the log does not reach back far enough. The error contains the id of the watch.
    pub(crate) fn watch(
        &mut self,
        kind: &Kind,
        selection: Selection,
        start: Start,
    ) -> Result<Arc<Watcher>, (u64, Compacted)> {
        let table_index = kind.table_index();
        self.state.watches += 1;
        let (id, now) = (self.state.watches, self.state.revision);
        let (head, after) = match start {
            Start::Now => (InitialEvents::Done, now),
            Start::State => (
                InitialEvents::State {
                    objects: selection.narrow(kind, self.state.tables[table_index].objects.clone()),
                    last: None,
                },
                now,
            ),
            Start::After(revision) => {
                let log = self
                    .state
                    .history
                    .log_since(table_index, revision)
                    .map_err(|compacted| (id, compacted))?;
                (InitialEvents::Backlog { log, last: revision }, now.max(revision))
            }
        };
        let watcher = Arc::new(Watcher {
            id,
            client: self.client.clone(),
            kind: kind.clone(),
            selection,
            after,
            limit: self.store.options.watch_queue,
            inbox: Mutex::new(Inbox::new(head, self.store.activity.begin())),
        });
        self.state.tables[table_index].watchers.add(watcher.clone());
        self.store.apply_faults_to_new_watch(&mut self.state, &watcher);
        Ok(watcher)
    }

    /// The objects of a resource in one namespace or, without a namespace, in all of them.
    pub(crate) fn in_namespace(&self, kind: &Kind, namespace: Option<&str>) -> Vec<Arc<Object>> {
        namespace_range(&self.state.tables[kind.table_index()].objects, namespace)
            .map(|(_, object)| object.clone())
            .collect()
    }

    pub(crate) fn has_content(&self, kind: &Kind, namespace: &str) -> bool {
        let mut objects = namespace_range(&self.state.tables[kind.table_index()].objects, Some(namespace));
        objects.next().is_some()
    }

    /// Releases the lock for a moment during an operation that need not be atomic. State read before this call may have changed.
    pub(crate) fn yield_lock(&mut self) {
        let wakers = std::mem::take(&mut self.wakers);
        MutexGuard::unlocked_fair(&mut self.state, || drop(wakers));
    }

    /// Removes the next object from the garbage collector's queue and returns it.
    pub(crate) fn next_to_collect(&mut self) -> Option<(Kind, Arc<str>)> {
        let api = self.api();
        let (table_index, key) = self.state.owners.next()?;
        Some((api.catalogue.find_by_table_index(table_index)?.clone(), key))
    }

    /// Parks an object: the garbage collector checks it again when the served resources change.
    pub(crate) fn collect_later(&mut self, kind: &Kind, key: &Arc<str>) {
        self.state.owners.park((kind.table_index(), key.clone()));
    }

    pub(crate) fn next_expired(&mut self) -> Option<(Kind, Arc<str>)> {
        let (table_index, key) = self.state.expiry.next_expired(Instant::now())?;
        Some((
            self.api().catalogue.find_by_table_index(table_index)?.clone(),
            key,
        ))
    }

    pub(crate) fn has_garbage(&self) -> bool {
        self.state.owners.has_work()
    }

    pub(crate) fn dependents(&self, uid: &str) -> Vec<(Kind, Arc<Object>)> {
        let api = self.api();
        let dependents = self.state.owners.dependents_of(uid).into_iter();
        dependents
            .filter_map(|(table_index, key)| {
                let object = self.state.tables[table_index].objects.get(&key)?.clone();
                Some((api.catalogue.find_by_table_index(table_index)?.clone(), object))
            })
            .collect()
    }

    pub(crate) fn observe(&self, event: Event) {
        if let Some(observer) = &self.store.observer {
            observer.observe(event);
        }
    }

    pub(crate) fn new_uid(&mut self) -> String {
        uuid::Builder::from_random_bytes(self.random().random())
            .into_uuid()
            .to_string()
    }

    pub(crate) fn random(&mut self) -> &mut impl RngExt {
        self.chance.as_mut().unwrap_or(&mut self.state.rng)
    }
}
