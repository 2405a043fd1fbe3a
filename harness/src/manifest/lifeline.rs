//! What ends programs under test when this process can't, because it was killed itself: a shell that holds the other end of a pipe.
//!
//! The system closes the pipe with this process, however that ends, and then the shell kills every group that is still held. A signal of the
//! system to the children would come when the thread ends that started them, and would not reach what they have started.

use std::io::Write as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::LazyLock;

use parking_lot::Mutex;
use rustix::process::Pid;

use super::mark;

/// Reads which groups are held and which have ended. At the end of its input it kills the rest, and the marked processes that have left
/// their groups: in several rounds, as one may be forking.
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

/// None: this machine has no shell, so that nothing ends the programs.
static SHELL: LazyLock<Option<Mutex<ChildStdin>>> = LazyLock::new(|| {
    let mut command = Command::new("sh");
    let marked = format!("{}={}", mark::NAME, *mark::OF_THIS_PROCESS);
    command.args(["-c", SCRIPT, "sh", &marked]).stdin(Stdio::piped());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // This process may be a program under test of another run, which must not end the shell with it.
    command.env_remove(mark::NAME);
    // In a group of its own it hears no Ctrl-C.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut shell = command.spawn().ok()?;
    shell.stdin.take().map(Mutex::new)
});

/// Starts the shell, before the first program: this process may be killed before it can hold the program's group.
pub(super) fn start() {
    LazyLock::force(&SHELL);
}

/// From now on the group does not outlive this process.
pub(super) fn hold(group: Pid) {
    tell("hold", group);
}

/// The group has ended; its number may be given to others.
pub(super) fn free(group: Pid) {
    tell("free", group);
}

/// A shell that is gone can't be told anything, and then nothing more can be done.
fn tell(what: &str, group: Pid) {
    if let Some(pipe) = SHELL.as_ref() {
        let line = format!("{what} {}\n", group.as_raw_nonzero());
        pipe.lock().write_all(line.as_bytes()).ok();
    }
}
