//! The state of the server: all objects, the log of their changes, and open watches.
//!
//! The single write path is `Txn::commit`: one lock orders revision, log, watchers and observer. Does no I/O and does
//! not validate objects; `verbs` does that while it holds a transaction.

pub(crate) mod activity;
mod admission;
mod bootstrap_cache;
mod clock;
mod compaction;
mod custom_resources;
mod expiry;
mod extension;
mod fault_injection;
mod follow_up;
mod frames;
mod history;
mod owners;
mod parsed;
mod plugin;
mod selection;
mod size;
mod txn;
mod watcher;
mod watchers;

use expiry::Expiry;
pub use extension::Extension;
pub(crate) use follow_up::ControllerWork;
pub(crate) use frames::{FrameForm, Frames, QueuedEvent};
pub(crate) use history::History;
use owners::Owners;
pub(crate) use owners::{FOREGROUND, ORPHAN, waits_for_dependents};
pub(crate) use selection::Selection;
pub(crate) use txn::Txn;
pub(crate) use watcher::{Batch, Start, Watcher};
use watchers::Watchers;

use self::activity::Activity;
use self::clock::Clock;
use self::compaction::Compaction;
use self::parsed::ParsedCache;
use crate::access::auth::{Authenticator, User};
use crate::access::rbac::{self, Authorizer, Decision, Sources};
use crate::admission::{BuildFromObjects, Policies, RegistryCache, StateReader, Webhooks};
use crate::config::options::{Limits, ServerOptions};
use crate::config::release::Profile;
use crate::fault_injection::Rules;
use crate::kinds::{Api, Catalogue, Kind};
use crate::machinery::status::Status;
use crate::object::Objects;
use crate::observe::{Event, Observer, WatchEnd};
use crate::outbound::Connections;
use crate::plugin::{Controller, OpenApiEncoders, Plugins};
use parking_lot::{Mutex, RwLock};
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// How long a request waits for a revision that does not exist yet, as in kube-apiserver.
const FUTURE_WAIT: Duration = Duration::from_secs(3);

/// The state of a server behind one lock, and the components that are used without that lock.
pub(crate) struct Store {
    state: Mutex<State>,
    observer: Option<Arc<dyn Observer>>,
    activity: Activity,
    options: ServerOptions,
    authenticator: Authenticator,
    authorizer: Authorizer,
    registrar: RegistryCache,
    plugins: Plugins,
    controllers: Arc<[Arc<dyn Controller>]>,
    /// OpenAPI v2 and protobuf documents, if another crate adds an encoder for them.
    pub(crate) open_api: Option<OpenApiEncoders>,
    /// None if the server has no admission webhooks.
    webhooks: Option<BuildFromObjects<dyn Webhooks>>,
    /// None if the server has no admission policies.
    policies: Option<BuildFromObjects<dyn Policies>>,
    connections: Connections,
    clock: Clock,
    /// Notified at each commit, for requests that wait for a revision.
    committed: Notify,
    has_fault_rules: AtomicBool,
    /// The served resources and release. Written only while `state` is locked.
    api: RwLock<Api>,
}

struct State {
    revision: u64,
    /// All resources, indexed by `Kind::table_index`.
    tables: Vec<ResourceTable>,
    /// Table indexes of custom resources, by group and plural name. A recreated CRD uses the table index of the deleted CRD.
    numbers: HashMap<(&'static str, &'static str), usize>,
    history: History,
    owners: Owners,
    parsed: ParsedCache,
    expiry: Expiry,
    compaction: Compaction,
    watches: u64,
    rng: StdRng,
    fault_rules: Rules,
}

/// The objects and watches of one resource.
#[derive(Default)]
struct ResourceTable {
    objects: Objects,
    watchers: Watchers,
}

/// A consistent view of one resource. Reading it takes no lock.
pub(crate) struct Snapshot {
    pub(crate) objects: Objects,
    pub(crate) revision: u64,
}

impl Store {
    pub(crate) fn new(
        options: ServerOptions,
        observer: Option<Arc<dyn Observer>>,
        extensions: Vec<Extension>,
    ) -> Self {
        let Extension {
            resources,
            plugins,
            webhooks,
            policies,
            controllers,
            open_api,
        } = Extension::merge(extensions, &options);
        let catalogue = match resources.is_empty() {
            true => Catalogue::built_in().clone(),
            false => Arc::new(Catalogue::with_extensions(&resources)),
        };
        let built_in = catalogue.built_in_count();
        let profile = Profile::new(options.release, &options.gates).with_removed(options.removed_versions);
        let state = State {
            // Objects have revision 2 or later, so that a watch from revision 1 sees all changes.
            revision: 1,
            tables: std::iter::repeat_with(ResourceTable::default)
                .take(built_in)
                .collect(),
            numbers: HashMap::new(),
            history: History::new(built_in, options.history),
            owners: Owners::default(),
            parsed: ParsedCache::new(options.parsed_bytes),
            expiry: Expiry::new(options.event_ttl),
            compaction: Compaction::new(options.compaction, Instant::now()),
            watches: 0,
            rng: options.seed.map_or_else(rand::make_rng, StdRng::seed_from_u64),
            fault_rules: Rules::default(),
        };
        Self {
            state: Mutex::new(state),
            observer,
            activity: Activity::default(),
            authenticator: Authenticator::new(&options.account_tokens),
            authorizer: Authorizer::new(options.authorization),
            registrar: RegistryCache::default(),
            plugins: plugins.into(),
            controllers: controllers.into(),
            open_api,
            webhooks,
            policies,
            connections: Connections::default(),
            api: RwLock::new(Api { catalogue, profile }),
            clock: Clock::new(options.clock),
            options,
            committed: Notify::new(),
            has_fault_rules: AtomicBool::new(false),
        }
    }

    /// Resolves when the revision is committed, or after `FUTURE_WAIT`.
    pub(crate) async fn wait_for_revision(&self, revision: u64) {
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
        // On a timeout, the verb finds that the store has not reached the revision.
        drop(tokio::time::timeout(FUTURE_WAIT, written).await);
    }

    pub(crate) fn activity(&self) -> &Activity {
        &self.activity
    }

    /// Locks the state for one request of `client`.
    pub(crate) fn begin<'a>(&'a self, client: &'a Arc<str>) -> Txn<'a> {
        Txn::begin(self, client)
    }

    pub(crate) fn revision(&self) -> u64 {
        self.state.lock().revision
    }

    pub(crate) fn options(&self) -> &ServerOptions {
        &self.options
    }

    pub(crate) fn limits(&self) -> Limits {
        self.options.limits
    }

    pub(crate) fn authenticator(&self) -> &Authenticator {
        &self.authenticator
    }

    /// Authenticates the value of an `Authorization` header. `None` if the header contains no bearer token.
    pub(crate) fn identify(&self, header: &str) -> Option<Result<Arc<User>, Status>> {
        let lookup = |kind: &Kind, key: &str| self.object(kind, key);
        self.authenticator.authenticate_header(header, &lookup)
    }

    /// Authorizes a request outside of a transaction.
    pub(crate) fn authorize(&self, user: &User, attributes: rbac::Attributes<'_>) -> Decision {
        self.authorizer
            .decide(user, attributes, || self.state.lock().policy_sources())
    }

    pub(crate) fn profile(&self) -> Profile {
        self.api.read().profile
    }

    /// The served resources and release at this moment.
    pub(crate) fn api(&self) -> Api {
        self.api.read().clone()
    }

    /// Switches to another release or other feature gates. Ends watches of resources that are no longer served.
    pub(crate) fn set_profile(&self, profile: Profile) {
        let mut state = self.state.lock();
        self.api.write().profile = profile;
        state.owners.unpark();
        let watchers = state.tables.iter().flat_map(|table| table.watchers.all());
        for watcher in watchers.filter(|watcher| !watcher.kind.life.contains(profile)) {
            watcher.end(WatchEnd::Unserved, &self.activity);
        }
    }

    /// Reports watch events to the observer after the connection of the watch has accepted them.
    pub(crate) fn report_delivery(&self, watcher: &Watcher, events: &[QueuedEvent]) {
        let Some(observer) = &self.observer else { return };
        let _order = self.state.lock();
        for event in events {
            observer.observe(watcher.delivery_event(event));
        }
    }

    /// The current revision for a bookmark. `None` if the watch has unsent events.
    pub(crate) fn bookmark_revision(&self, watcher: &Watcher) -> Option<u64> {
        let state = self.state.lock();
        watcher.is_drained().then_some(state.revision)
    }

    /// Allocates an id for a watch that failed to start.
    pub(crate) fn allocate_watch_id(&self) -> u64 {
        let mut state = self.state.lock();
        state.watches += 1;
        state.watches
    }

    /// Reports the end of a watch that failed to start.
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

    pub(crate) fn remove_unreported_watch(&self, watcher: &Arc<Watcher>) {
        let mut state = self.state.lock();
        state.tables[watcher.kind.table_index()].watchers.remove(watcher);
        self.activity.done(watcher.discard());
    }

    /// Removes a watch and reports its end.
    pub(crate) fn close_watch(&self, watcher: &Arc<Watcher>, why: WatchEnd) {
        let mut state = self.state.lock();
        state.tables[watcher.kind.table_index()].watchers.remove(watcher);
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
    /// Drops parsed values of objects until the cache is within its memory limit.
    pub(super) fn evict_parsed(&mut self) {
        while let Some((table_index, key)) = self.parsed.evict_oldest() {
            if let Some(object) = self.tables[table_index].objects.get_mut(&key) {
                *object = object.serialized_only();
                self.history.share_with_store(table_index, object);
            }
        }
    }

    fn policy_sources(&self) -> Sources {
        Sources::read(|kind| self.tables[kind.table_index()].objects.clone())
    }
}
