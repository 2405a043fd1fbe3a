//! The signals that ask a command to end: Ctrl-C, SIGTERM, and SIGHUP when its terminal goes away.

use std::io::Result;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Hears the signals from the moment when it is made.
pub(crate) struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// None: whoever started the command wants it to outlive its terminal, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Interrupts {
    /// Listens from now on, so that no signal is lost.
    pub(crate) fn new() -> Result<Self> {
        let hang_up = (!is_hang_up_ignored()).then(|| signal(SignalKind::hangup()));
        Ok(Interrupts {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: hang_up.transpose()?,
        })
    }

    /// Resolves at the next one.
    pub(crate) async fn next(&mut self) {
        let hung_up = async {
            match &mut self.hang_up {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            () = hung_up => {}
        }
    }
}

/// Resolves when somebody asks for the end.
pub(crate) async fn interrupted() {
    match Interrupts::new() {
        Ok(mut interrupts) => interrupts.next().await,
        // Then they can't be heard, and end the process at once.
        Err(_) => std::future::pending().await,
    }
}

/// Where nobody can say, it is not.
fn is_hang_up_ignored() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGHUP != 0)
}
