//! The signals that ask a program to end.

use tokio::signal::unix::{SignalKind, signal};

/// Resolves when the program is asked to end. Listens from the call on.
pub(super) fn asked_to_end() -> std::io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
