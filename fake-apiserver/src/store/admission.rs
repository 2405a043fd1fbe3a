//! Access of admission to the state of the server. Does not know webhooks and policies.

use super::Store;
use super::txn::Txn;
use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::admission::{Consultation, Registry, Sources, Surroundings};
use crate::kinds::{Api, Kind};
use crate::object::{Object, Objects};
use crate::outbound::Connections;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

impl Store {
    /// Client connections to webhooks.
    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The webhooks and policies that are configured. None if there are none.
    pub(crate) fn registry(&self) -> Option<Arc<Registry>> {
        self.registrar.current(|| {
            let state = self.state.lock();
            Sources::read(|kind| state.tables[kind.table_index()].objects.clone())
        })
    }
}

impl Txn<'_> {
    /// Attaches the admission session of the request. Time and random seed stay those of the first attempt when the request is repeated.
    pub(crate) fn consult(&mut self, mut consultation: Box<Consultation>) {
        self.now = consultation.now.get_or_insert(self.now.clone()).clone();
        let seed = consultation.seed.get_or_insert_with(|| self.state.rng.random());
        self.chance = Some(StdRng::seed_from_u64(*seed));
        self.consultation = Some(consultation);
    }
}

impl Surroundings for Store {
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.state.lock().tables[kind.table_index()]
            .objects
            .get(key)
            .cloned()
    }

    fn objects(&self, kind: &Kind) -> Objects {
        self.state.lock().tables[kind.table_index()].objects.clone()
    }

    fn served(&self) -> Api {
        self.api()
    }

    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.authorize(user, attributes)
    }
}

impl Surroundings for Txn<'_> {
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.get(kind, key)
    }

    fn objects(&self, kind: &Kind) -> Objects {
        self.state.tables[kind.table_index()].objects.clone()
    }

    fn served(&self) -> Api {
        self.api()
    }

    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.authorize(user, attributes)
    }
}
