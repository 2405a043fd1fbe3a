//! A process and all its descendants. Killing only the process would not be enough: a wrapper script that does not `exec` the program would
//! leave the program running.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::Instant;

use super::{lifeline, mark};

/// Interval between checks whether a group still exists: the operating system sends no notification when the group's last process ends.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Maximum number of rounds in which processes outside the group are killed. Several rounds are needed because a process may start
/// another process before it is killed.
const ROUNDS: usize = 100;

/// The process group of a program, and marked processes that have left the group. All these processes are killed on drop.
pub(super) struct ProcessGroup {
    group: Option<Pid>,
    mark: String,
}

impl ProcessGroup {
    /// Registers the process group that `leader` leads. The environment of the group's processes contains `mark`.
    pub(super) fn of(leader: &Child, mark: String) -> Self {
        let group = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            lifeline::register(group);
        }
        ProcessGroup { group, mark }
    }

    /// Sends SIGTERM to all processes, and after `grace` SIGKILL to the processes that still run.
    pub(super) async fn terminate(&mut self, leader: &mut Child, grace: Duration) -> std::io::Result<()> {
        let due = Instant::now() + grace;
        self.signal(Signal::TERM);
        // The leader must be reaped, otherwise its zombie would keep the group in existence.
        let left = tokio::time::timeout_at(due, leader.wait()).await;
        while left.is_ok() && self.is_alive() && Instant::now() < due {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        self.signal(Signal::KILL);
        leader.wait().await?;
        for _ in 0..ROUNDS {
            let mark = self.mark.clone();
            if !tokio::task::spawn_blocking(move || mark::kill_marked(&mark))
                .await
                .unwrap_or_default()
            {
                break;
            }
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
        self.unregister();
        Ok(())
    }

    /// Unregisters the process group from the shell after the group has ended.
    fn unregister(&mut self) {
        if let Some(group) = self.group.take() {
            lifeline::unregister(group);
        }
    }

    fn is_alive(&self) -> bool {
        self.group
            .is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    /// Sends a signal to the process group. Errors are ignored, because the group may have ended.
    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if self.group.is_some() {
            self.signal(Signal::KILL);
            mark::kill_marked(&self.mark);
        }
        self.unregister();
    }
}
