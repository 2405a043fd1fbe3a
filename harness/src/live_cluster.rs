//! A scenario's cluster that stays up: its objects, its driver and its systems, and no steps.

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

/// Facts that are kept: no verdict needs them any more.
const FACTS: usize = 100_000;

/// A cluster that is up.
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
        cluster.keep_at_most(FACTS);
        for role in &plan.roles {
            cluster.start_role(*role)?;
        }
        Ok(LiveCluster { cluster })
    }

    /// The cluster of a run that has its verdict.
    pub(crate) fn of(cluster: Cluster) -> Self {
        LiveCluster { cluster }
    }

    /// From now on old facts are forgotten, so that it can stay up for long. The journal of a run is to be stored before.
    pub fn forget_old_facts(&self) {
        self.cluster.keep_at_most(FACTS);
    }

    /// Changes the cluster as an edit of its scenario requires, as far as possible. `plan`: the new one. Returns what was done, each
    /// with the words of a refusal where there was one.
    pub async fn apply(
        &mut self,
        plan: &Plan,
        actions: Vec<(Action, String)>,
    ) -> Vec<(String, Result<(), String>)> {
        let mut done_so_far = Vec::new();
        for (action, words) in actions {
            let done = self.cluster.change(plan, &action, &words).await;
            done_so_far.push((words, done));
        }
        done_so_far
    }

    /// The objects that are created from now on and that no controller acts upon.
    pub fn unattended(&self) -> Unattended {
        Unattended::of(self.cluster.commits())
    }

    /// Its API server, where it is the one in memory.
    pub fn api(&self) -> Option<&ApiServer> {
        self.cluster.api()
    }

    /// The driver's sockets, each with the node that it is on; none: the central one.
    pub fn sockets(&self) -> impl Iterator<Item = (Option<&str>, &Path)> {
        self.cluster.sockets()
    }

    /// Stops everything. Returns what child processes have said, by client name.
    pub async fn stop(self) -> Vec<(String, Vec<u8>)> {
        self.cluster.stop().await
    }
}
