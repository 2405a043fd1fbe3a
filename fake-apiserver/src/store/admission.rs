//! Access of admission to the state of the server. Does not know webhooks and policies.

use super::Store;
use super::txn::Txn;
use crate::access::auth::User;
use crate::access::rbac::{Attributes, Decision};
use crate::admission::{Consultation, Registry, StateReader};
use crate::kinds::{Kind, MUTATING_WEBHOOK_CONFIGURATION, VALIDATING_WEBHOOK_CONFIGURATION};
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
            let api = self.api();
            let state = self.state.lock();
            let objects = |kind: &Kind| state.tables[kind.table_index()].objects.clone();
            let policies = self.policies.as_ref().map(|source| {
                source.read(&|plural| {
                    let kind = api
                        .catalogue
                        .find_resource("admissionregistration.k8s.io", plural);
                    kind.map(objects).unwrap_or_default()
                })
            });
            Registry::new(
                [&MUTATING_WEBHOOK_CONFIGURATION, &VALIDATING_WEBHOOK_CONFIGURATION].map(objects),
                policies,
            )
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

    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.authorize(user, attributes)
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

    fn judge(&self, user: &User, attributes: Attributes<'_>) -> Decision {
        self.authorize(user, attributes)
    }
}
