//! A process with all that it starts: a wrapper that does not become the program with `exec` would leave it running, and so would this
//! process when it is killed.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::Child;
use tokio::time::Instant;

use super::{lifeline, mark};

/// Pause between two looks at a group: nothing tells when the last of it has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How often processes outside the group are killed that start others again and again.
const ROUNDS: usize = 100;

/// The group that a process leads, and the marked processes that have left it. What is left of them is killed when this goes out of scope.
pub(super) struct ProcessGroup {
    group: Option<Pid>,
    mark: String,
}

impl ProcessGroup {
    /// Of a process that was started as the first of a group, with that mark in its environment.
    pub(super) fn of(leader: &Child, mark: String) -> Self {
        let group = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        if let Some(group) = group {
            lifeline::hold(group);
        }
        ProcessGroup { group, mark }
    }

    /// Asks all of it to end, and kills after `grace` what has not.
    pub(super) async fn end(&mut self, leader: &mut Child, grace: Duration) -> std::io::Result<()> {
        let due = Instant::now() + grace;
        self.signal(Signal::TERM);
        // The leader is waited for, as it would keep the group alive otherwise when it has ended.
        let left = tokio::time::timeout_at(due, leader.wait()).await;
        while left.is_ok() && self.is_alive() && Instant::now() < due {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.signal(Signal::KILL);
        leader.wait().await?;
        for _ in 0..ROUNDS {
            let mark = self.mark.clone();
            if !tokio::task::spawn_blocking(move || mark::kill(&mark))
                .await
                .unwrap_or_default()
            {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.free();
        Ok(())
    }

    /// It has ended.
    fn free(&mut self) {
        if let Some(group) = self.group.take() {
            lifeline::free(group);
        }
    }

    fn is_alive(&self) -> bool {
        self.group
            .is_some_and(|group| test_kill_process_group(group).is_ok())
    }

    /// It may have ended a moment ago: then there is nobody to hear it.
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
            mark::kill(&self.mark);
        }
        self.free();
    }
}
