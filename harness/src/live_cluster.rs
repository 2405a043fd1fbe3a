//! A scenario's cluster that stays up: its objects, driver and systems, without steps.

use std::path::Path;
use std::time::Duration;

use fake_apiserver::ApiServer;

use crate::cluster::Cluster;
use crate::journal::Journal;
use crate::plan::{Action, Plan};
use crate::run_options::RunOptions;
use crate::start_error::StartError;
use crate::system::Systems;
use crate::unattended::Unattended;

/// Maximum number of stored facts, which no verdict needs.
const FACTS: usize = 100_000;

/// A running cluster.
pub struct LiveCluster {
    cluster: Cluster,
}

impl LiveCluster {
    /// Starts everything that a plan has before its first step.
    pub async fn start(plan: &Plan, systems: &Systems, refresh: Duration) -> Result<Self, StartError> {
        let journal = Journal::default();
        let options = RunOptions {
            refresh,
            ..RunOptions::default()
        };
        let mut cluster = Cluster::start(plan, systems, &journal, options).await?;
        cluster.limit_facts(FACTS);
        for role in &plan.roles {
            cluster.start_role(*role)?;
        }
        Ok(LiveCluster { cluster })
    }

    /// The cluster of a run that has a verdict.
    pub(crate) fn of(cluster: Cluster) -> Self {
        LiveCluster { cluster }
    }

    /// Drops old facts from now on, so that the cluster can stay up for long. Store the journal of a run before.
    pub fn drop_old_facts(&self) {
        self.cluster.limit_facts(FACTS);
    }

    /// Changes the cluster after an edit of its scenario, as far as possible. `plan`: the new plan. Returns each action with the API
    /// server's message if it failed.
    pub async fn apply(
        &mut self,
        plan: &Plan,
        actions: Vec<(Action, String)>,
    ) -> Vec<(String, Result<(), String>)> {
        let mut results = Vec::new();
        for (action, text) in actions {
            let result = self.cluster.execute(plan, &action, &text).await;
            results.push((text, result));
        }
        results
    }

    /// Receives objects created from now on that no controller reconciles.
    pub fn unattended(&self) -> Unattended {
        Unattended::of(self.cluster.commits())
    }

    /// The API server, if it is the in-memory one.
    pub fn api(&self) -> Option<&ApiServer> {
        self.cluster.api()
    }

    /// The driver's sockets, each with its node; `None`: the central one.
    pub fn sockets(&self) -> impl Iterator<Item = (Option<&str>, &Path)> {
        self.cluster.sockets()
    }

    /// Stops everything. Returns the logs of child processes, by client name.
    pub async fn stop(self) -> Vec<(String, Vec<u8>)> {
        self.cluster.stop().await
    }
}
