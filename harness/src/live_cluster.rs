//! The cluster of a scenario without its steps: objects, driver and programs keep running until they are stopped.

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

/// Maximum number of facts in the journal. No verdict needs older facts.
const FACTS: usize = 100_000;

/// A running cluster of a scenario, in which no expectations are checked.
pub struct LiveCluster {
    cluster: Cluster,
}

impl LiveCluster {
    /// Starts everything that runs before the first step of a plan.
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

    /// Converts the cluster of a case with a known verdict, which continues to run.
    pub(crate) fn from_cluster(cluster: Cluster) -> Self {
        LiveCluster { cluster }
    }

    /// Drops old facts of the journal from now on, so that the cluster can run for a long time. Save the journal of the case before.
    pub fn drop_old_facts(&self) {
        self.cluster.limit_facts(FACTS);
    }

    /// Executes the actions that apply an edited scenario to the cluster. `plan`: the new plan. Returns each action, with the API server's
    /// message if the action failed.
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

    /// A collector of notes about objects that are created from now on and that no controller reconciles.
    pub fn unreconciled_objects(&self) -> Unattended {
        Unattended::of(self.cluster.commits())
    }

    /// The in-memory API server; `None` if a real one is used.
    pub fn api(&self) -> Option<&ApiServer> {
        self.cluster.api()
    }

    /// The driver's sockets, each with its node. The node `None` stands for the central driver.
    pub fn sockets(&self) -> impl Iterator<Item = (Option<&str>, &Path)> {
        self.cluster.sockets()
    }

    /// Stops the cluster. Returns the logs of child processes by client name.
    pub async fn stop(self) -> Vec<(String, Vec<u8>)> {
        self.cluster.stop().await
    }
}
