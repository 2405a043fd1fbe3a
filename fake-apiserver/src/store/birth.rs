//! The initial objects of a cluster, shared by servers with equal options.
//!
//! Most servers of a simulation differ only in their seed, and creating the 50 or so initial objects takes longer than
//! a short case. Does not know what the objects are.

use super::history::Logged;
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

/// Creates the initial objects of a cluster.
pub(crate) type Make = fn(&mut Txn<'_>);

/// Limit of cached initial states: one for each release, with and without roles.
const KEPT: usize = 64;

/// Seed of the initial objects' uids for all servers with a seed, whatever their own seed is.
const SEED: u64 = 0;

static BIRTHS: Mutex<VecDeque<(Alike, Arc<Birth>)>> = Mutex::new(VecDeque::new());

/// All options that determine the initial objects: the cache key.
#[derive(Debug, PartialEq)]
struct Alike {
    now: Arc<str>,
    profile: Profile,
    authorization: Authorization,
    default_service_accounts: bool,
    network: Network,
    client_authority: Option<String>,
    history: usize,
}

impl Alike {
    fn of(options: &ServerOptions, profile: Profile, now: Arc<str>) -> Self {
        // Destructured in full, so that a new option does not compile until it is considered here.
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
        Alike {
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
struct Birth {
    revision: u64,
    shelves: Vec<Objects>,
    owners: Owners,
    /// Oldest revision first, each with the table index of its resource.
    changes: Vec<(usize, Arc<Logged>)>,
}

impl Store {
    /// Creates the initial objects as `client`. Servers with a seed and equal options share them.
    pub(crate) fn begin_with(&self, client: &Arc<str>, make: Make) {
        let now = self.clock.now();
        if self.options.seed.is_none() {
            return make(&mut Txn::begin_at(self, client, now));
        }
        let alike = Alike::of(&self.options, self.profile(), now);
        let mut births = BIRTHS.lock();
        let known = births.iter().find(|(known, _)| *known == alike);
        let birth = match known {
            Some((_, birth)) => birth.clone(),
            None => {
                let birth = Arc::new(Birth::new(&self.options, client, make, alike.now.clone()));
                births.truncate(KEPT - 1);
                births.push_front((alike, birth.clone()));
                birth
            }
        };
        drop(births);
        self.take_over(&birth, client);
    }

    fn take_over(&self, birth: &Birth, client: &Arc<str>) {
        let mut state = self.state.lock();
        let State {
            revision,
            shelves,
            owners,
            history,
            ..
        } = &mut *state;
        *revision = birth.revision;
        owners.clone_from(&birth.owners);
        for (shelf, objects) in shelves.iter_mut().zip(&birth.shelves) {
            shelf.objects.clone_from(objects);
        }
        let kinds = Catalogue::built_in();
        for (shelf, logged) in &birth.changes {
            history.push(*shelf, logged.clone());
            if let (Some(observer), Some(kind)) = (&self.observer, kinds.at(*shelf)) {
                observer.observe(logged.committed(&kind.stored(), client));
            }
        }
    }
}

impl Birth {
    fn new(options: &ServerOptions, client: &Arc<str>, make: Make, now: Arc<str>) -> Self {
        let store = Store::new(options.clone(), None, Vec::new());
        store.state.lock().rng = StdRng::seed_from_u64(SEED);
        make(&mut Txn::begin_at(&store, client, now));
        let state = store.state.into_inner();
        Birth {
            revision: state.revision,
            shelves: state.shelves.into_iter().map(|shelf| shelf.objects).collect(),
            owners: state.owners,
            changes: state.history.into_changes(),
        }
    }
}
