//! Follows a scenario file while its cluster is served: applies edits to the cluster, and reports edits that cannot be applied.
//!
//! Polls the file instead of using inotify: editors replace files, some mounts report no events, and reading a few kilobytes is cheap.

use std::path::PathBuf;
use std::time::Duration;

use suites::harness::LiveCluster;
use suites::harness::plan::{Plan, edit};

use crate::out::{eprintln, println};
use crate::serve::{Sockets, print_sockets, sockets};

/// Polling interval. An edit is applied once the file is unchanged for one interval, so that a partially written file is not applied.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

pub(crate) struct Followed<'a> {
    pub(crate) file: PathBuf,
    /// The plan that the cluster currently matches.
    pub(crate) plan: Plan,
    /// Reads the file and resolves the plan of its case; errors contain file and line.
    pub(crate) read: &'a dyn Fn() -> Result<Plan, String>,
}

impl Followed<'_> {
    /// Follows the file until the future is dropped.
    pub(crate) async fn follow(mut self, cluster: &mut LiveCluster) {
        // No text of the file counts as applied yet, so that an edit made after `plan` was read is applied too.
        let (mut seen, mut applied) = (None, None);
        let mut printed_sockets = sockets(cluster);
        loop {
            tokio::time::sleep(POLL_INTERVAL).await;
            // The file may not exist while an editor replaces it.
            let Ok(now) = std::fs::read_to_string(&self.file) else {
                continue;
            };
            let is_settled = seen.as_ref() == Some(&now);
            seen = Some(now);
            if !is_settled || seen == applied {
                continue;
            }
            let is_first = applied.is_none();
            applied.clone_from(&seen);
            match (self.read)() {
                Ok(new) if is_first && edit(&self.plan, &new).is_empty() => self.plan = new,
                Ok(new) => self.apply(cluster, new, &mut printed_sockets).await,
                Err(why) => eprintln!("error: {why}\nthe cluster is unchanged"),
            }
        }
    }

    async fn apply(&mut self, cluster: &mut LiveCluster, new: Plan, printed: &mut Sockets) {
        let edit = edit(&self.plan, &new);
        for name in &edit.fixed {
            eprintln!(
                "{name} cannot change while the cluster is up; restart the command to apply the change"
            );
        }
        let mut done = 0;
        for (words, result) in cluster.apply(&new, edit.actions).await {
            match result {
                Ok(()) => {
                    done += 1;
                    println!("  {words}");
                }
                Err(why) => eprintln!("error: the cluster rejects “{words}”: {why}"),
            }
        }
        let now = sockets(cluster);
        print_sockets(
            &now.iter()
                .filter(|socket| !printed.contains(socket))
                .cloned()
                .collect(),
        );
        *printed = now;
        println!("applied     {done} changes of {}", self.file.display());
        self.plan = new;
    }
}
