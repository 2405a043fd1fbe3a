//! Access of admission to the state of the server. Does not know webhooks and policies.

use super::Store;
use super::txn::Txn;
use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::admission::{AdmissionSession, Registry, StateReader};
use crate::kinds::Kind;
use crate::object::{Object, Objects};
use crate::outbound::Connections;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::sync::Arc;

impl Store {
    /// Idle connections to webhooks, for reuse.
    pub(crate) fn connections(&self) -> &Connections {
        &self.connections
    }

    /// The configured webhooks and policies. `None` if none are configured.
    pub(crate) fn registry(&self) -> Option<Arc<Registry>> {
        self.registrar.current(|| {
            let api = self.api();
            let state = self.state.lock();
            let objects = |plural: &str| {
                let kind = api
                    .catalogue
                    .find_resource("admissionregistration.k8s.io", plural);
                let table = |kind: &Kind| state.tables[kind.table_index()].objects.clone();
                kind.map(table).unwrap_or_default()
            };
            Registry::new(
                self.webhooks.map(|read| read(&objects)),
                self.policies.map(|read| read(&objects)),
            )
        })
    }
}

impl Txn<'_> {
    /// Attaches the admission session of the request. If the request is retried, time and random seed remain those of the first attempt.
    pub(crate) fn attach_admission_session(&mut self, mut session: Box<AdmissionSession>) {
        self.now = session.now.get_or_insert(self.now.clone()).clone();
        let seed = session.seed.get_or_insert_with(|| self.state.rng.random());
        self.chance = Some(StdRng::seed_from_u64(*seed));
        self.admission = Some(session);
    }
}

impl StateReader for Store {
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.state.lock().tables[kind.table_index()]
            .objects
            .get(key)
            .cloned()
    }

    fn objects(&self, kind: &Kind) -> Objects {
        self.state.lock().tables[kind.table_index()].objects.clone()
    }

    fn served_kind(&self, api_version: &str, kind: &str) -> Option<Kind> {
        self.api().served_kind(api_version, kind).cloned()
    }

    fn served_versions(&self, kind: &Kind) -> Vec<Kind> {
        self.api().served_versions(kind)
    }

    fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        Self::authorize(self, user, attributes)
    }
}

impl StateReader for Txn<'_> {
    fn object(&self, kind: &Kind, key: &str) -> Option<Arc<Object>> {
        self.get(kind, key)
    }

    fn objects(&self, kind: &Kind) -> Objects {
        self.state.tables[kind.table_index()].objects.clone()
    }

    fn served_kind(&self, api_version: &str, kind: &str) -> Option<Kind> {
        self.api().served_kind(api_version, kind).cloned()
    }

    fn served_versions(&self, kind: &Kind) -> Vec<Kind> {
        self.api().served_versions(kind)
    }

    fn authorize(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        Self::authorize(self, user, attributes)
    }
}
