//! An external driver in the place of the scripted one: a recording socket stands before each of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fake_csi::Forwarder;
use tokio::sync::OwnedSemaphorePermit;

use super::observe::CsiObserver;
use crate::plan::Plan;
use crate::scenario::Role;
use crate::system::Systems;

/// An external driver.
pub(super) struct ExternalDriver {
    pub(super) observer: Arc<CsiObserver>,
    /// Where it runs already; none: one process for each endpoint is started.
    pub(super) socket: Option<PathBuf>,
    /// By client name: the sockets before it.
    pub(super) forwarders: BTreeMap<String, Forwarder>,
    /// Kept for its drop: other cases wait for the same driver.
    _turn: Option<OwnedSemaphorePermit>,
}

impl ExternalDriver {
    /// For a plan with an external driver.
    pub(super) async fn of(plan: &Plan, systems: &Systems, observer: CsiObserver) -> Option<Self> {
        let is_played = systems.by_role.contains_key(&Role::Driver) || systems.driver_socket.is_some();
        if !is_played || !plan.roles.contains(&Role::Driver) {
            return None;
        }
        let turn = match &systems.driver_socket {
            // It is never closed, and without a permit it would only be busier.
            Some(socket) => socket.turn.clone().acquire_owned().await.ok(),
            None => None,
        };
        Some(ExternalDriver {
            observer: Arc::new(observer),
            socket: systems.driver_socket.as_ref().map(|socket| socket.path.clone()),
            forwarders: BTreeMap::new(),
            _turn: turn,
        })
    }

    /// Resolves when no call is in flight.
    pub(super) async fn quiet(&self) {
        for forwarder in self.forwarders.values() {
            forwarder.quiet().await;
        }
    }
}
