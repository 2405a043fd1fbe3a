//! SIGTERM and SIGINT, which end the program.

use tokio::signal::unix::{SignalKind, signal};

/// Installs handlers for SIGTERM and SIGINT. The returned future resolves on either signal.
pub(super) fn termination_signal() -> std::io::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
