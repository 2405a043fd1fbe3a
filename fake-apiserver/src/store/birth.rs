//! What a cluster starts with, shared by servers that are born alike.
//!
//! Most servers of a simulation differ in nothing but their seed, and to make some fifty objects takes longer than a short case. Does not
//! know what the objects are.

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

/// Makes what a cluster starts with.
pub(crate) type Make = fn(&mut Txn<'_>);

/// How many births are kept: one for each release, with and without roles.
const KEPT: usize = 64;

/// The uids of what servers with a seed start with follow from this one, whatever theirs is.
const SEED: u64 = 0;

static BIRTHS: Mutex<VecDeque<(Alike, Arc<Birth>)>> = Mutex::new(VecDeque::new());

/// All that decides what a server starts with.
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
        // By name, so that a new option has to be thought of here.
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
            flags: _,
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

/// The state of a server that has just begun.
struct Birth {
    revision: u64,
    shelves: Vec<Objects>,
    owners: Owners,
    /// In the order of their revisions, with the numbers of their resources.
    changes: Vec<(usize, Arc<Logged>)>,
}

impl Store {
    /// Makes what a cluster starts with, as that client. Servers whose uids follow from a seed share it where they are alike.
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
