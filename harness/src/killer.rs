//! Kills a program under test when a fault rule with `kill` applies to it. Knows only the client names of programs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::scenario::Role;

/// Kills clients to which a fault rule with `kill` applies. The server reports the fault before its effect, so the client cannot react
/// to the fault.
#[derive(Debug, Clone, Default)]
pub(crate) struct Killer(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Ids of the fault rules with `kill`.
    rules: BTreeSet<u64>,
    running: BTreeMap<Arc<str>, Tokens>,
}

#[derive(Debug)]
struct Tokens {
    /// Stops the client with a grace period.
    stop: CancellationToken,
    /// Kills the client without a grace period.
    kill: CancellationToken,
}

impl Killer {
    /// Registers a fault rule with `kill`.
    pub(crate) fn add_rule(&self, rule: u64) {
        self.0.lock().rules.insert(rule);
    }

    /// Called when a fault rule applies to a client. If the rule has `kill`, stops the client, and returns the client's name and role.
    pub(crate) fn kill_for(&self, rule: u64, client: Option<&Arc<str>>) -> Option<(Arc<str>, Role)> {
        let state = self.0.lock();
        let client = client.filter(|_| state.rules.contains(&rule))?;
        let tokens = state.running.get(client)?;
        let stop = Some(&tokens.stop).filter(|stop| !stop.is_cancelled())?;
        stop.cancel();
        Some((client.clone(), Role::of_client(client)?))
    }

    /// Registers a started client. Cancelling the returned token kills the client without a grace period.
    pub(crate) fn register(&self, client: &Arc<str>, stop: &CancellationToken) -> CancellationToken {
        let kill = CancellationToken::new();
        let tokens = Tokens {
            stop: stop.clone(),
            kill: kill.clone(),
        };
        self.0.lock().running.insert(client.clone(), tokens);
        kill
    }

    /// Kills a client immediately, because it could act during a grace period.
    pub(crate) fn kill(&self, client: &str) {
        if let Some(tokens) = self.0.lock().running.get(client) {
            tokens.stop.cancel();
            tokens.kill.cancel();
        }
    }
}
