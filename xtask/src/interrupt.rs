//! The signals that ask a command to end: Ctrl-C, SIGTERM, and SIGHUP when its terminal goes away.

use std::io::Result;
use std::sync::OnceLock;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// How often the end was asked for. What [`hear`] starts counts.
static ASKED: OnceLock<watch::Receiver<u32>> = OnceLock::new();

/// Hears the signals from now on, whatever the process does meanwhile: none ends it any more, and [`interrupted`] tells of each.
pub(crate) fn hear() -> watch::Receiver<u32> {
    let asked = ASKED.get_or_init(|| {
        let (tell, asked) = watch::channel(0);
        // Where they can't be heard, they end the process at once.
        if let Ok((runtime, mut signals)) = Signals::new() {
            std::thread::spawn(move || {
                loop {
                    runtime.block_on(signals.next());
                    tell.send_modify(|times| *times += 1);
                }
            });
        }
        asked
    });
    asked.clone()
}

/// Whether somebody has asked for the end.
pub(crate) fn is_interrupted() -> bool {
    *hear().borrow() > 0
}

/// Resolves when somebody has asked for the end, before or after this is called.
pub(crate) async fn interrupted() {
    asked(0).await;
}

/// Resolves when somebody asks for the end from now on, as often as that was asked for before.
pub(crate) async fn interrupted_once_more() {
    let before = *hear().borrow();
    asked(before).await;
}

async fn asked(before: u32) {
    if hear().wait_for(|times| *times > before).await.is_err() {
        std::future::pending::<()>().await;
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// None: whoever started the command wants it to outlive its terminal, as `nohup` does.
    hang_up: Option<Signal>,
}

impl Signals {
    /// With the runtime on which they come, which serves nothing else.
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

    /// Resolves at the next one.
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

/// Where nobody can say, it is not.
fn is_hang_up_ignored() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGHUP != 0)
}
