//! Stops a system under test in the middle of what it does: where it meets a fault that is meant to kill. Knows clients by their names, and
//! no program.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::scenario::Role;

/// Kills the client that meets a fault that is meant to kill. The server reports a fault before it acts, so nothing that the victim would do
/// about it happens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Killer(Arc<Mutex<Victims>>);

#[derive(Debug, Default)]
struct Victims {
    /// Rules that kill.
    rules: BTreeSet<u64>,
    running: BTreeMap<Arc<str>, Victim>,
}

#[derive(Debug)]
struct Victim {
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Killer {
    /// From now on, that rule kills.
    pub(crate) fn arm(&self, rule: u64) {
        self.0.lock().rules.insert(rule);
    }

    /// A client met a rule. Returns the client, with its role, if that has killed it.
    pub(crate) fn met(&self, rule: u64, client: Option<&Arc<str>>) -> Option<(Arc<str>, Role)> {
        let victims = self.0.lock();
        let client = client.filter(|_| victims.rules.contains(&rule))?;
        let victim = victims.running.get(client)?;
        let stop = Some(&victim.stop).filter(|stop| !stop.is_cancelled())?;
        stop.cancel();
        Some((client.clone(), Role::of_client(client)?))
    }

    /// Registers a client that was started. Returns the token by which it is killed without a grace period.
    pub(crate) fn watch(&self, client: &Arc<str>, stop: &CancellationToken) -> CancellationToken {
        let kill = CancellationToken::new();
        let victim = Victim {
            stop: stop.clone(),
            kill: kill.clone(),
        };
        self.0.lock().running.insert(client.clone(), victim);
        kill
    }

    /// Kills a client without a grace period, in which it could go on with what it does.
    pub(crate) fn kill(&self, client: &str) {
        if let Some(victim) = self.0.lock().running.get(client) {
            victim.stop.cancel();
            victim.kill.cancel();
        }
    }
}
