//! An external driver in place of the fake driver, with a recording proxy in front of each of its sockets.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use fake_csi::Forwarder;
use tokio::sync::OwnedSemaphorePermit;

use super::observe::CsiObserver;
use crate::plan::Plan;
use crate::scenario::Role;
use crate::system::Systems;

/// An external driver with its recording proxies.
pub(super) struct ExternalDriver {
    pub(super) observer: Arc<CsiObserver>,
    /// Socket of a driver that is already running; `None` if the harness starts one process per endpoint.
    pub(super) socket: Option<PathBuf>,
    /// Recording proxies by client name.
    pub(super) forwarders: BTreeMap<String, Forwarder>,
    /// Permit to use a driver that is already running: only one case at a time may use it.
    _permit: Option<OwnedSemaphorePermit>,
}

impl ExternalDriver {
    /// The external driver with which a plan runs; `None` if the plan runs with the fake driver. Waits for the permit of a running driver.
    pub(super) async fn of(plan: &Plan, systems: &Systems, observer: CsiObserver) -> Option<Self> {
        let is_external = systems.by_role.contains_key(&Role::Driver) || systems.driver_socket.is_some();
        if !is_external || !plan.roles.contains(&Role::Driver) {
            return None;
        }
        let permit = match &systems.driver_socket {
            // Fails only if the semaphore is closed, which never happens.
            Some(socket) => socket.permits.clone().acquire_owned().await.ok(),
            None => None,
        };
        Some(ExternalDriver {
            observer: Arc::new(observer),
            socket: systems.driver_socket.as_ref().map(|socket| socket.path.clone()),
            forwarders: BTreeMap::new(),
            _permit: permit,
        })
    }

    /// Resolves when no CSI call is in flight.
    pub(super) async fn quiet(&self) {
        for forwarder in self.forwarders.values() {
            forwarder.wait_until_idle().await;
        }
    }
}
