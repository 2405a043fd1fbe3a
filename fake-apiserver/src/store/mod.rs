//! The state of the server: all objects, the log of what happened to them, and who watches.
//!
//! Owns the single write path, `Txn::commit`: one lock orders revision, log, watchers and observer. Does no I/O and
//! does not know what a valid object is; `verbs` decides that while holding a transaction.

mod expiry;
mod frames;
mod history;
mod object;
mod owners;
mod perturbed;
mod watcher;
mod watchers;

use expiry::Expiry;
pub(crate) use frames::{FrameForm, Frames};
pub(crate) use history::{Gone, History, Logged};
pub(crate) use object::{Object, write_json};
use owners::Owners;
pub(crate) use owners::{FOREGROUND, ORPHAN, waits};
pub(crate) use watcher::{Batch, Delivered, Selection, Start, Watcher};
use watcher::{Head, Inbox};
use watchers::Watchers;

use crate::activity::Activity;
use crate::auth::{Authenticated, Authenticator, Claim, User};
use crate::clock::Clock;
use crate::kinds::{EVENT, KINDS, Kind};
use crate::managed;
use crate::meta;
use crate::observe::{Change, Event, Observer, WatchEnd};
use crate::options::{Limits, ServerOptions};
use crate::perturb::Table;
use crate::rbac::{self, Attributes, Authorizer, Decision, Rule, Sources};
use crate::release::Profile;
use crate::status::Status;
use imbl::OrdMap;
use parking_lot::{Mutex, MutexGuard, RwLock};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::Waker;
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// How long a request waits for a revision that is not written yet, as in the real server.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// Objects by storage key. Cloning is cheap: readers keep a version and writers go on.
pub(crate) type Objects = OrdMap<Arc<str>, Arc<Object>>;

/// Everything that the server holds.
pub(crate) struct Store {
    state: Mutex<State>,
    observer: Option<Arc<dyn Observer>>,
    activity: Activity,
    options: ServerOptions,
    authenticator: Authenticator,
    authorizer: Authorizer,
    clock: Clock,
    /// Wakes those who wait for a revision.
    committed: Notify,
    /// Whether any perturbation is installed.
    perturbed: AtomicBool,
    /// What is served. Only written while the state is locked.
    profile: RwLock<Profile>,
}

struct State {
    revision: u64,
    shelves: Vec<Shelf>,
    history: History,
    owners: Owners,
    /// The ends of events.
    expiry: Expiry,
    watches: u64,
    rng: StdRng,
    perturbations: Table,
}

/// One stored resource.
#[derive(Default)]
struct Shelf {
    objects: Objects,
    watchers: Watchers,
}

/// A consistent view of one resource, free of the lock.
pub(crate) struct Snapshot {
    pub(crate) objects: Objects,
    pub(crate) revision: u64,
}

impl Store {
    pub(crate) fn new(options: ServerOptions, observer: Option<Arc<dyn Observer>>) -> Self {
        let state = State {
            // Nothing has revision 1, so that a watch "from 1" sees all that ever happened.
            revision: 1,
            shelves: KINDS.iter().map(|_| Shelf::default()).collect(),
            history: History::new(KINDS.len(), options.history),
            owners: Owners::default(),
            expiry: Expiry::new(options.event_ttl),
            watches: 0,
            rng: StdRng::from_rng(&mut rand::rng()),
            perturbations: Table::default(),
        };
        Self {
            state: Mutex::new(state),
            observer,
            activity: Activity::default(),
            authenticator: Authenticator::new(),
            authorizer: Authorizer::new(options.authorization),
            profile: RwLock::new(Profile::new(options.release, &options.gates)),
            options,
            clock: Clock::default(),
            committed: Notify::new(),
            perturbed: AtomicBool::new(false),
        }
    }

    /// Resolves when a revision has been written, or after a while even if it has not.
    pub(crate) async fn reached(&self, revision: u64) {
        let written = async {
            loop {
                let mut committed = std::pin::pin!(self.committed.notified());
                committed.as_mut().enable();
                if self.revision() >= revision {
                    return;
                }
                committed.await;
            }
        };
        // Whoever gave up finds out from the revision.
        drop(tokio::time::timeout(FUTURE_WAIT, written).await);
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Takes the lock for one request of `client`.
    pub(crate) fn begin<'a>(&'a self, client: &'a Arc<str>) -> Txn<'a> {
        let now = self.clock.now();
        Txn {
            store: self,
            state: self.state.lock(),
            sleepers: Sleepers::default(),
            client,
            user: None,
            now,
            dry_run: false,
            warnings: Vec::new(),
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision
    }

    pub(crate) fn limits(&self) -> Limits {
        self.options.limits
    }

    pub(crate) fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    /// The user that an `Authorization` header stands for; whoever sends none of use is anonymous.
    pub(crate) fn identify(&self, header: &str) -> Option<Result<Arc<User>, Status>> {
        let lookup = |kind: &'static Kind, key: &str| {
            self.state.lock().shelves[kind.shelf()].objects.get(key).cloned()
        };
        self.authenticator.header(header, &lookup)
    }

    /// Decides about a request that holds no lock.
    pub(crate) fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.authorizer
            .decide(user, attributes, || self.state.lock().policy_sources())
    }

    pub(crate) fn profile(&self) -> Profile {
        *self.profile.read()
    }

    /// Serves another release, or the same one with other gates. Watches of what is no longer served end.
    pub(crate) fn set_profile(&self, profile: Profile) {
        let mut state = self.state.lock();
        *self.profile.write() = profile;
        state.owners.unpark();
        let watchers = state.shelves.iter().flat_map(|shelf| shelf.watchers.all());
        for watcher in watchers.filter(|watcher| !watcher.kind.life.contains(profile)) {
            watcher.end(WatchEnd::Unserved, &self.activity);
        }
    }

    /// Reports what a watch's connection has taken.
    pub(crate) fn delivered(&self, watcher: &Watcher, events: &[Delivered]) {
        let Some(observer) = &self.observer else { return };
        let _order = self.state.lock();
        for event in events {
            observer.observe(watcher.delivery(event));
        }
    }

    /// The revision that a bookmark may name: everything up to it has been sent.
    pub(crate) fn bookmark(&self, watcher: &Watcher) -> Option<u64> {
        let state = self.state.lock();
        watcher.is_drained().then_some(state.revision)
    }

    /// A number for a watch that could not start.
    pub(crate) fn number_watch(&self) -> u64 {
        let mut state = self.state.lock();
        state.watches += 1;
        state.watches
    }

    /// Reports the end of a watch that could not start.
    pub(crate) fn watch_failed(&self, client: &Arc<str>, watch: u64, kind: &Kind) {
        let Some(observer) = &self.observer else { return };
        let _order = self.state.lock();
        let (client, resource, why) = (client.clone(), kind.plural, WatchEnd::Failed);
        observer.observe(Event::WatchClosed {
            client,
            watch,
            resource,
            why,
        });
    }

    /// Takes a watch out of the index.
    pub(crate) fn unwatch(&self, watcher: &Arc<Watcher>, why: WatchEnd) {
        let mut state = self.state.lock();
        state.shelves[watcher.kind.shelf()].watchers.remove(watcher);
        let why = watcher.close(why);
        self.activity.done(watcher.discard());
        if let Some(observer) = &self.observer {
            observer.observe(Event::WatchClosed {
                client: watcher.client.clone(),
                watch: watcher.id,
                resource: watcher.kind.plural,
                why,
            });
        }
    }
}

impl State {
    fn policy_sources(&self) -> Sources {
        Sources::read(|kind| self.shelves[kind.shelf()].objects.clone())
    }
}

/// One request's hold on the state. Everything observable is reported before it is dropped.
pub(crate) struct Txn<'a> {
    store: &'a Store,
    state: MutexGuard<'a, State>,
    /// After the state, so that the lock is free when they wake.
    sleepers: Sleepers,
    client: &'a Arc<str>,
    /// Who asks; nobody where the server itself does.
    pub(crate) user: Option<Arc<User>>,
    /// The time of the request, as `metadata` writes it.
    pub(crate) now: Arc<str>,
    /// Nothing is kept: commits only render.
    pub(crate) dry_run: bool,
    /// Texts for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// Readers of watches that have something to send; they wake when this is dropped.
#[derive(Default)]
struct Sleepers(Vec<Waker>);

impl Drop for Sleepers {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Waker::wake);
    }
}

impl Txn<'_> {
    pub(crate) fn options(&self) -> &ServerOptions {
        &self.store.options
    }

    /// What is served; it does not change during a transaction.
    pub(crate) fn profile(&self) -> Profile {
        self.store.profile()
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.revision
    }

    /// The user that a token stands for.
    pub(crate) fn authenticate(&self, token: &str, audiences: &[String]) -> Option<Authenticated> {
        let lookup = |kind: &'static Kind, key: &str| self.get(kind, key);
        self.store.authenticator.token(token, audiences, &lookup)
    }

    /// Signs a token for a service account.
    pub(crate) fn issue(&self, claim: &Claim) -> String {
        self.store.authenticator.issue(claim)
    }

    /// Decides whether a user may do something.
    pub(crate) fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.store
            .authorizer
            .decide(user, attributes, || self.state.policy_sources())
    }

    /// What a user may do in a namespace, and what could not be found out.
    pub(crate) fn rules_for(&self, user: &User, namespace: &str) -> (Vec<Rule>, Option<String>) {
        self.store
            .authorizer
            .rules_for(user, namespace, || self.state.policy_sources())
    }

    pub(crate) fn get(&self, kind: &'static Kind, key: &str) -> Option<Arc<Object>> {
        self.state.shelves[kind.shelf()].objects.get(key).cloned()
    }

    pub(crate) fn snapshot(&self, kind: &'static Kind) -> Snapshot {
        let objects = self.state.shelves[kind.shelf()].objects.clone();
        Snapshot {
            objects,
            revision: self.state.revision,
        }
    }

    /// The resource as it was at an earlier revision.
    pub(crate) fn snapshot_at(&self, kind: &'static Kind, revision: u64) -> Result<Snapshot, Gone> {
        let shelf = kind.shelf();
        let mut objects = self.state.shelves[shelf].objects.clone();
        self.state.history.rewind(shelf, revision, &mut objects)?;
        Ok(Snapshot { objects, revision })
    }

    /// Writes an object, new or changed. It gets its resourceVersion here, and unless it says who manages its fields,
    /// that stays as it was.
    pub(crate) fn put(&mut self, kind: &'static Kind, key: &str, mut value: Value) -> Arc<Object> {
        if value["metadata"].get("managedFields").is_none()
            && let Some(old) = self.get(kind, key)
        {
            managed::mark(&mut value, old.managed().to_owned());
        }
        if self.dry_run {
            let revision = meta::text(&value, "resourceVersion").parse().unwrap_or_default();
            return Object::new(value, revision);
        }
        let revision = self.state.revision + 1;
        meta::set(&mut value, "resourceVersion", Some(revision.to_string().into()));
        let object = Object::new(value, revision);
        self.commit(kind, key, Some(object.clone()));
        object
    }

    /// Removes an object. Watchers see its last state at a new revision.
    pub(crate) fn remove(&mut self, kind: &'static Kind, key: &str) {
        if !self.dry_run {
            self.commit(kind, key, None);
        }
    }

    /// The single write path: revision, objects, log, watchers, observer, in this order under one lock.
    fn commit(&mut self, kind: &'static Kind, key: &str, new: Option<Arc<Object>>) {
        let shelf_number = kind.shelf();
        let state = &mut *self.state;
        let shelf = &mut state.shelves[shelf_number];
        let (change, old, shown) = match new {
            Some(new) => {
                let old = shelf.objects.insert(key.into(), new.clone());
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
                let Some(old) = shelf.objects.remove(key) else {
                    return;
                };
                let last = history::at_revision(&old, state.revision + 1);
                (Change::Deleted, Some(old), last)
            }
        };
        let after = Some(&*shown).filter(|_| change != Change::Deleted);
        if std::ptr::eq(kind.stored(), EVENT) {
            match after {
                Some(_) => state.expiry.wrote(key, Instant::now()),
                None => state.expiry.removed(key),
            }
        }
        state.owners.note(shelf_number, key, old.as_deref(), after);
        state.revision += 1;
        let logged = Arc::new(Logged::new(key.into(), change, state.revision, shown, old));
        state.history.push(shelf_number, logged.clone());
        if rbac::is_source(kind) {
            self.store.authorizer.outdate();
        }
        self.store.committed.notify_waiters();
        let (namespace, name) = (
            meta::text(&logged.object.value, "namespace"),
            meta::text(&logged.object.value, "name"),
        );
        let (frames, activity) = (Arc::new(Frames::default()), &self.store.activity);
        let watchers = shelf.watchers.of(namespace, name);
        self.sleepers
            .0
            .extend(watchers.filter_map(|watcher| watcher.offer(&logged, &frames, activity)));
        if let Some(observer) = &self.store.observer {
            observer.observe(logged.committed(kind.stored(), self.client));
        }
    }

    /// Opens a watch. What it starts with and what comes later meet without a gap, for the lock is held.
    ///
    /// Where the log no longer reaches back far enough there is no watch, but a number for it.
    pub(crate) fn watch(
        &mut self,
        kind: &'static Kind,
        selection: Selection,
        start: Start,
    ) -> Result<Arc<Watcher>, (u64, Gone)> {
        let shelf = kind.shelf();
        self.state.watches += 1;
        let (id, now) = (self.state.watches, self.state.revision);
        let (head, after) = match start {
            Start::Now => (Head::Done, now),
            Start::State => (
                Head::State {
                    objects: selection.narrow(kind, self.state.shelves[shelf].objects.clone()),
                    last: None,
                },
                now,
            ),
            Start::After(revision) => {
                let log = self
                    .state
                    .history
                    .since(shelf, revision)
                    .map_err(|gone| (id, gone))?;
                (Head::Backlog { log, last: revision }, now.max(revision))
            }
        };
        let watcher = Arc::new(Watcher {
            id,
            client: self.client.clone(),
            kind,
            selection,
            after,
            limit: self.store.options.watch_queue,
            inbox: Mutex::new(Inbox::new(head, self.store.activity.begin())),
        });
        self.state.shelves[shelf].watchers.add(watcher.clone());
        self.store.perturb_new(&mut self.state, &watcher);
        Ok(watcher)
    }

    /// The objects of a namespace in a resource, with their keys.
    pub(crate) fn in_namespace(&self, kind: &'static Kind, namespace: &str) -> Vec<(Arc<str>, Arc<Object>)> {
        namespace_range(&self.state.shelves[kind.shelf()].objects, Some(namespace))
            .map(|(key, object)| (key.clone(), object.clone()))
            .collect()
    }

    /// Whether a resource has any object in a namespace.
    pub(crate) fn has_content(&self, kind: &'static Kind, namespace: &str) -> bool {
        let mut objects = namespace_range(&self.state.shelves[kind.shelf()].objects, Some(namespace));
        objects.next().is_some()
    }

    /// Lets others have the state for a moment, in the middle of what need not look like one change. What was read
    /// before may have changed since.
    pub(crate) fn pause(&mut self) {
        let sleepers = std::mem::take(&mut self.sleepers);
        MutexGuard::unlocked_fair(&mut self.state, || drop(sleepers));
    }

    /// The next object that garbage collection has to look at.
    pub(crate) fn next_to_collect(&mut self) -> Option<(&'static Kind, Arc<str>)> {
        let (shelf, key) = self.state.owners.next()?;
        Some((KINDS[shelf], key))
    }

    /// Leaves an object to garbage collection until other resources are served.
    pub(crate) fn collect_later(&mut self, kind: &'static Kind, key: &Arc<str>) {
        self.state.owners.park((kind.shelf(), key.clone()));
    }

    /// The key of an event whose time has come.
    pub(crate) fn next_expired(&mut self) -> Option<Arc<str>> {
        self.state.expiry.next(Instant::now())
    }

    pub(crate) fn has_garbage(&self) -> bool {
        self.state.owners.has_work()
    }

    /// What refers to an owner of that uid.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<(&'static Kind, Arc<Object>)> {
        let spots = self.state.owners.of(uid).into_iter();
        spots
            .filter_map(|(shelf, key)| {
                Some((KINDS[shelf], self.state.shelves[shelf].objects.get(&key)?.clone()))
            })
            .collect()
    }

    pub(crate) fn observe(&self, event: Event) {
        if let Some(observer) = &self.store.observer {
            observer.observe(event);
        }
    }

    pub(crate) fn random(&mut self) -> &mut impl RngExt {
        &mut self.state.rng
    }
}

/// The objects of one namespace, or all of them.
pub(crate) fn namespace_range<'a>(
    objects: &'a Objects,
    namespace: Option<&str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
    let bounds = match namespace {
        // "0" is the character after "/".
        Some(namespace) => (
            Bound::Included(format!("{namespace}/")),
            Bound::Excluded(format!("{namespace}0")),
        ),
        None => (Bound::Unbounded, Bound::Unbounded),
    };
    let bounds: (Bound<Arc<str>>, Bound<Arc<str>>) = (bounds.0.map(Arc::from), bounds.1.map(Arc::from));
    objects.range(bounds)
}
