//! The runtime that commands run on, and a thread for those that only calculate.

use tokio::sync::oneshot;

use crate::Exit;
use crate::interrupt::interrupted;
use crate::out::eprintln;

/// The runtime that everything runs on; the error is reported already.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Exit> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    built.map_err(|error| {
        eprintln!("error: the asynchronous runtime does not start: {error}; check the limits of the process");
        Exit::Environment
    })
}

/// Does what calculates all the time and listens to nobody meanwhile: at Ctrl-C it is left behind, and ends with the process.
///
/// `why`: what an interrupt means for the result.
pub(crate) fn calculate(work: impl FnOnce() -> Exit + Send + 'static, why: &str) -> Exit {
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(exit) => return exit,
    };
    let (tell, told) = oneshot::channel();
    // Nobody listens any more after an interrupt.
    let thread = std::thread::spawn(move || {
        tell.send(work()).ok();
    });
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = told => Some(ended),
            () = interrupted() => None,
        }
    });
    match ended {
        Some(Ok(exit)) => exit,
        // It has panicked, and has said so.
        Some(Err(_)) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Exit::Environment,
        },
        None => {
            eprintln!("interrupted: {why}");
            Exit::Interrupted
        }
    }
}
