//! Termination signals: Ctrl-C (SIGINT), SIGTERM, and SIGHUP when the terminal closes.

use std::io::Result;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Number of termination signals received since [`install_signal_handlers`] installed the handlers.
static SIGNALS_RECEIVED: OnceLock<watch::Receiver<u32>> = OnceLock::new();

/// Installs the signal handlers: from now on no signal terminates the process, and [`interrupted`] resolves instead.
pub(crate) fn install_signal_handlers() -> watch::Receiver<u32> {
    let receiver = SIGNALS_RECEIVED.get_or_init(|| {
        let (sender, receiver) = watch::channel(0);
        // If no handlers could be installed, the signals terminate the process at once.
        if let Ok((runtime, mut signals)) = Signals::new() {
            std::thread::spawn(move || {
                loop {
                    runtime.block_on(signals.next());
                    sender.send_modify(|times| *times += 1);
                }
            });
        }
        receiver
    });
    receiver.clone()
}

pub(crate) fn is_interrupted() -> bool {
    *install_signal_handlers().borrow() > 0
}

/// Resolves at the first termination signal, even if the signal arrived before the call.
pub(crate) async fn interrupted() {
    signal_after(0).await;
}

/// Resolves at the next termination signal, ignoring earlier ones.
pub(crate) async fn interrupted_once_more() {
    let before = *install_signal_handlers().borrow();
    signal_after(before).await;
}

async fn signal_after(before: u32) {
    if install_signal_handlers()
        .wait_for(|times| *times > before)
        .await
        .is_err()
    {
        std::future::pending::<()>().await;
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// Handler for SIGHUP; `None` if SIGHUP was ignored at start, as under `nohup`, so that the command outlives its terminal.
    hang_up: Option<Signal>,
}

impl Signals {
    /// Installs the signal handlers, on a separate tokio runtime.
    fn new() -> Result<(Runtime, Self)> {
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let signals = {
            let _here = runtime.enter();
            let hang_up = (!is_hang_up_ignored()).then(|| signal(SignalKind::hangup()));
            Signals {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: hang_up.transpose()?,
            }
        };
        Ok((runtime, signals))
    }

    /// Resolves at the next termination signal.
    async fn next(&mut self) {
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

/// Whether SIGHUP is ignored; false if `/proc` is not available.
fn is_hang_up_ignored() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGHUP != 0)
}
