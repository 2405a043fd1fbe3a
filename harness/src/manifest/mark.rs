//! Finds all descendants of a program by an environment variable that they inherit, including descendants that left the process group with
//! `setsid` or became daemons. Works only on Linux, through `/proc`.
//!
//! Does not find processes that clear their environment, or whose environment this user may not read.

use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};

/// Environment variable that marks a program and its descendants.
pub(super) const NAME: &str = "CSI_CAPACITY_PROGRAM";

/// Prefix of all marks that this process creates. Random, so that no other process uses the prefix.
pub(super) static OF_THIS_PROCESS: LazyLock<String> =
    LazyLock::new(|| format!("{:016x}.", rand::random::<u64>()));

/// A new value of the environment variable [`NAME`] for one program.
pub(super) fn new_mark() -> String {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    format!("{}{number}", *OF_THIS_PROCESS)
}

/// Kills the processes with this mark. Returns whether there were any. A killed process may have started another process, so the caller
/// repeats the call.
pub(super) fn kill_marked(value: &str) -> bool {
    let entry = format!("{NAME}={value}");
    let is_marked = |process: &Path| {
        let environment = std::fs::read(process.join("environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|it| it == entry.as_bytes())
    };
    let mut any = false;
    for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
            .and_then(Pid::from_raw);
        if let Some(id) = id.filter(|_| is_marked(&process.path())) {
            any |= kill_process(id, Signal::KILL).is_ok();
        }
    }
    any
}
