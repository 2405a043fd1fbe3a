//! Kills a system under test when it meets a fault with `kill`. Knows clients by name; does not know programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::scenario::Role;

/// Kills the client that meets a fault with `kill`. The server reports a fault before applying it, so the client cannot react to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Killer(Arc<Mutex<Victims>>);

#[derive(Debug, Default)]
struct Victims {
    /// Ids of the fault rules that kill.
    rules: BTreeSet<u64>,
    running: BTreeMap<Arc<str>, Victim>,
}

#[derive(Debug)]
struct Victim {
    stop: CancellationToken,
    kill: CancellationToken,
}

impl Killer {
    /// Marks a fault rule as one that kills.
    pub(crate) fn arm(&self, rule: u64) {
        self.0.lock().rules.insert(rule);
    }

    /// Called when a client meets a fault rule. Returns the client and its role if that killed it.
    pub(crate) fn met(&self, rule: u64, client: Option<&Arc<str>>) -> Option<(Arc<str>, Role)> {
        let victims = self.0.lock();
        let client = client.filter(|_| victims.rules.contains(&rule))?;
        let victim = victims.running.get(client)?;
        let stop = Some(&victim.stop).filter(|stop| !stop.is_cancelled())?;
        stop.cancel();
        Some((client.clone(), Role::of_client(client)?))
    }

    /// Registers a started client. Returns the token that kills it without a grace period.
    pub(crate) fn watch(&self, client: &Arc<str>, stop: &CancellationToken) -> CancellationToken {
        let kill = CancellationToken::new();
        let victim = Victim {
            stop: stop.clone(),
            kill: kill.clone(),
        };
        self.0.lock().running.insert(client.clone(), victim);
        kill
    }

    /// Kills a client without a grace period, in which it could continue.
    pub(crate) fn kill(&self, client: &str) {
        if let Some(victim) = self.0.lock().running.get(client) {
            victim.stop.cancel();
            victim.kill.cancel();
        }
    }
}
