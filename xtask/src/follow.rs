//! Follows a scenario's file while its cluster is served: what is edited changes in the cluster, and what can't is reported.
//!
//! The file is read again and again instead of being watched by the kernel: editors replace files, some mounts report nothing, and a
//! file of a few kilobytes costs nothing.

use std::path::PathBuf;
use std::time::Duration;

use suites::harness::LiveCluster;
use suites::harness::plan::{Plan, edit};

use crate::out::{eprintln, println};
use crate::serve::{Sockets, sockets, tell_sockets};

/// How long an edit waits at most to be seen. It counts once the file has stayed the same for as long, so that no half of it does.
const LOOK: Duration = Duration::from_millis(200);

/// A file that is followed.
pub(crate) struct Followed<'a> {
    /// The file.
    pub(crate) file: PathBuf,
    /// The state of the cluster as far as the file is concerned.
    pub(crate) plan: Plan,
    /// Makes a plan of the file as it is now; the error has its place.
    pub(crate) read: &'a dyn Fn() -> Result<Plan, String>,
}

impl Followed<'_> {
    /// Follows the file until it is dropped.
    pub(crate) async fn follow(mut self, standing: &mut LiveCluster) {
        // Whatever was edited since the plan was made counts as an edit.
        let (mut seen, mut taken) = (None, None);
        let mut sockets_told = sockets(standing);
        loop {
            tokio::time::sleep(LOOK).await;
            // A file that is gone for the moment is being replaced.
            let Ok(now) = std::fs::read_to_string(&self.file) else {
                continue;
            };
            let is_settled = seen.as_ref() == Some(&now);
            seen = Some(now);
            if !is_settled || seen == taken {
                continue;
            }
            let is_first = taken.is_none();
            taken.clone_from(&seen);
            match (self.read)() {
                Ok(new) if is_first && edit(&self.plan, &new).is_empty() => self.plan = new,
                Ok(new) => self.apply(standing, new, &mut sockets_told).await,
                Err(why) => eprintln!("error: {why}\nthe cluster stays as it was"),
            }
        }
    }

    async fn apply(&mut self, standing: &mut LiveCluster, new: Plan, told: &mut Sockets) {
        let edit = edit(&self.plan, &new);
        for name in &edit.fixed {
            eprintln!("{name} can't change while the cluster is up; start it again for that");
        }
        let mut done = 0;
        for (words, result) in standing.apply(&new, edit.actions).await {
            match result {
                Ok(()) => {
                    done += 1;
                    println!("  {words}");
                }
                Err(why) => eprintln!("error: the cluster refuses “{words}”: {why}"),
            }
        }
        let now = sockets(standing);
        tell_sockets(
            &now.iter()
                .filter(|socket| !told.contains(socket))
                .cloned()
                .collect(),
        );
        *told = now;
        println!("applied     {done} changes of {}", self.file.display());
        self.plan = new;
    }
}
