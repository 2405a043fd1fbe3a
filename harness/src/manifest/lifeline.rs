//! Kills the programs under test if this process is killed: a shell reads the programs' process groups from a pipe.
//!
//! The operating system closes the pipe when this process ends for any reason; the shell then kills every registered process group.
//! PR_SET_PDEATHSIG is not sufficient: it fires when the thread that started a child ends, and does not reach descendants.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::LazyLock;

use parking_lot::Mutex;
use rustix::process::Pid;

use super::mark;

/// Shell script that reads the ids of registered and unregistered process groups. At the end of its input, it kills the registered groups and
/// the marked processes that have left their group. It repeats the search for marked processes, because they may fork meanwhile.
const SCRIPT: &str = r#"
held=
while read -r what group; do
    kept=
    for other in $held; do
        [ "$other" = "$group" ] || kept="$kept $other"
    done
    held=$kept
    [ "$what" = free ] || held="$held $group"
done
for group in $held; do
    kill -s KILL -- "-$group"
done
for round in 1 2 3 4 5 6 7 8; do
    found=
    for file in $(grep -lsz "^$1" /proc/[0-9]*/environ); do
        process=${file#/proc/}
        kill -s KILL "${process%/environ}" && found=1
    done
    [ "$found" ] || break
done
"#;

/// The pipe to the shell that kills the programs. `None` if the host has no shell; programs then survive a killed harness.
static SHELL: LazyLock<Option<Mutex<ChildStdin>>> = LazyLock::new(|| {
    let mut command = Command::new("sh");
    let marked = format!("{}={}", mark::NAME, *mark::OF_THIS_PROCESS);
    command.args(["-c", SCRIPT, "sh", &marked]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // If another run started this process as a program under test, the other run must not kill the shell by its mark.
    command.env_remove(mark::NAME);
    // In its own process group, the shell does not receive the SIGINT of Ctrl-C.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut shell = command.spawn().ok()?;
    shell.stdin.take().map(Mutex::new)
});

/// Starts the shell. Called before the first program starts, because this process may be killed before the program's process group is
/// registered.
pub(super) fn start() {
    LazyLock::force(&SHELL);
}

/// Registers a process group, which the shell kills when this process ends.
pub(super) fn register(group: Pid) {
    send("hold", group);
}

/// Unregisters a process group that has ended, because its id may be reused.
pub(super) fn unregister(group: Pid) {
    send("free", group);
}

/// Sends a command about a process group to the shell. Does nothing if the shell has exited.
fn send(what: &str, group: Pid) {
    if let Some(pipe) = SHELL.as_ref() {
        let line = format!("{what} {}\n", group.as_raw_nonzero());
        pipe.lock().write_all(line.as_bytes()).ok();
    }
}
