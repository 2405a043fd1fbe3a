//! The initial objects of a cluster, shared by servers with equal options.
//!
//! Most servers of a simulation differ only in their seed, and creating the 50 or so initial objects takes longer than
//! a short case. Does not know what the objects are.

use super::history::LoggedChange;
use super::owners::Owners;
use super::{State, Store, Txn};
use crate::config::network::Network;
use crate::config::options::{Authorization, ServerOptions};
use crate::config::release::Profile;
use crate::kinds::Catalogue;
use crate::object::Objects;
use parking_lot::Mutex;
use rand::SeedableRng;
use rand::rngs::StdRng;
use std::collections::VecDeque;
use std::sync::Arc;

pub(crate) type CreateObjects = fn(&mut Txn<'_>);

/// Maximum number of cached initial states: enough for one per release, with and without default roles.
const ENTRIES_MAX: usize = 64;

/// Seed for the UIDs of the initial objects of all servers with `ServerOptions::seed`, so that they can share these objects.
const SEED: u64 = 0;

static CACHE: Mutex<VecDeque<(CacheKey, Arc<BootstrapState>)>> = Mutex::new(VecDeque::new());

/// All options that determine the initial objects: the cache key.
#[derive(Debug, PartialEq)]
struct CacheKey {
    now: Arc<str>,
    profile: Profile,
    authorization: Authorization,
    default_service_accounts: bool,
    network: Network,
    client_authority: Option<String>,
    history: usize,
}

impl CacheKey {
    fn of(options: &ServerOptions, profile: Profile, now: Arc<str>) -> Self {
        // Without `..`, a new option causes a compile error here until it is added to the key or ignored.
        let ServerOptions {
            history,
            parsed_bytes: _,
            authorization,
            default_service_accounts,
            network,
            client_authority,
            account_tokens: _,
            watch_queue: _,
            kubelet_less: _,
            allow_privileged: _,
            admission: _,
            event_ttl: _,
            compaction: _,
            limits: _,
            release: _,
            gates: _,
            removed_versions: _,
            seed: _,
            latency: _,
            services: _,
            remote_webhooks: _,
            clock: _,
        } = options;
        CacheKey {
            now,
            profile,
            authorization: *authorization,
            default_service_accounts: *default_service_accounts,
            network: network.clone(),
            client_authority: client_authority.clone(),
            history: *history,
        }
    }
}

/// The state of a server with only its initial objects.
struct BootstrapState {
    revision: u64,
    tables: Vec<Objects>,
    owners: Owners,
    /// All changes, oldest revision first, each with the table index of its resource.
    changes: Vec<(usize, Arc<LoggedChange>)>,
}

impl Store {
    /// Creates the initial objects as `client`. Servers with a seed and equal options share the initial objects.
    pub(crate) fn bootstrap(&self, client: &Arc<str>, create_objects: CreateObjects) {
        let now = self.clock.now();
        if self.options.seed.is_none() {
            return create_objects(&mut Txn::begin_at(self, client, now));
        }
        let key = CacheKey::of(&self.options, self.profile(), now);
        let mut cache = CACHE.lock();
        let cached = cache.iter().find(|(cached, _)| *cached == key);
        let bootstrap_state = match cached {
            Some((_, bootstrap_state)) => bootstrap_state.clone(),
            None => {
                let bootstrap_state = Arc::new(BootstrapState::new(
                    &self.options,
                    client,
                    create_objects,
                    key.now.clone(),
                ));
                cache.truncate(ENTRIES_MAX - 1);
                cache.push_front((key, bootstrap_state.clone()));
                bootstrap_state
            }
        };
        drop(cache);
        self.load(&bootstrap_state, client);
    }

    fn load(&self, bootstrap_state: &BootstrapState, client: &Arc<str>) {
        let mut state = self.state.lock();
        let State {
            revision,
            tables,
            owners,
            history,
            ..
        } = &mut *state;
        *revision = bootstrap_state.revision;
        owners.clone_from(&bootstrap_state.owners);
        for (table, objects) in tables.iter_mut().zip(&bootstrap_state.tables) {
            table.objects.clone_from(objects);
        }
        let kinds = Catalogue::built_in();
        for (table_index, logged) in &bootstrap_state.changes {
            history.push(*table_index, logged.clone());
            if let (Some(observer), Some(kind)) = (&self.observer, kinds.find_by_table_index(*table_index)) {
                observer.observe(logged.commit_event(&kind.in_storage_version(), client));
            }
        }
    }
}

impl BootstrapState {
    fn new(options: &ServerOptions, client: &Arc<str>, create_objects: CreateObjects, now: Arc<str>) -> Self {
        let store = Store::new(options.clone(), None, Vec::new());
        store.state.lock().rng = StdRng::seed_from_u64(SEED);
        create_objects(&mut Txn::begin_at(&store, client, now));
        let state = store.state.into_inner();
        BootstrapState {
            revision: state.revision,
            tables: state.tables.into_iter().map(|table| table.objects).collect(),
            owners: state.owners,
            changes: state.history.into_changes(),
        }
    }
}
