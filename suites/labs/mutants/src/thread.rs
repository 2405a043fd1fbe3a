//! Runs a reference implementation on its own thread and runtime, because the active mutant is thread-local. Records the mutants whose code
//! the thread executed.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Once};
use std::thread::{Builder, JoinHandle};

use parking_lot::Mutex;
use suites::harness::system::{BoxError, ProgramInputs, Run};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::mutant::{self, MutantSet};

/// Name of the threads that run references with mutants.
const NAME: &str = "mutant";

/// How the program under test ended; `None` if the caller stopped it.
type SystemResult = std::thread::Result<Option<Result<(), BoxError>>>;

pub(crate) fn with_mutant(number: usize, run: Arc<Run>) -> Arc<Run> {
    hide_panics();
    Arc::new(move |access, stop| {
        let run = Arc::clone(&run);
        if access.seed.is_some() {
            // A simulation already runs on its own thread, so no thread is started.
            mutant::activate(number);
            return run(access, stop);
        }
        Box::pin(async move {
            let (sender, ended) = oneshot::channel();
            let killed = CancellationToken::new();
            let killer = killed.clone();
            let log = tracing::dispatcher::get_default(Clone::clone);
            let thread = Builder::new().name(NAME.to_owned()).spawn(move || {
                mutant::activate(number);
                let run = || on_this_thread(&run, access, stop, &killed);
                // The receiver is dropped if the system was killed.
                let _ = sender.send(tracing::dispatcher::with_default(&log, run));
            })?;
            let _thread = OwnThread {
                killer,
                thread: Some(thread),
            };
            match ended.await {
                Ok(Ok(Some(ended))) => ended,
                Ok(Err(panic)) => resume_unwind(panic),
                Ok(Ok(None)) | Err(_) => std::future::pending().await,
            }
        })
    })
}

/// Wraps a program so that the mutants whose code it executed are recorded when it ends. In simulated time, it stays on one thread.
pub(crate) fn record_executed_mutants(run: Arc<Run>, reached: Arc<Mutex<MutantSet>>) -> Arc<Run> {
    Arc::new(move |access, stop| {
        let run = Arc::clone(&run);
        let record = RecordOnDrop(Arc::clone(&reached));
        Box::pin(async move {
            let _record = record;
            run(access, stop).await
        })
    })
}

/// Records the executed mutants when dropped, whether the program ended or was stopped.
struct RecordOnDrop(Arc<Mutex<MutantSet>>);

impl Drop for RecordOnDrop {
    fn drop(&mut self) {
        *self.0.lock() |= mutant::executed_mutants();
    }
}

fn on_this_thread(
    run: &Arc<Run>,
    access: ProgramInputs,
    stop: CancellationToken,
    killed: &CancellationToken,
) -> SystemResult {
    catch_unwind(AssertUnwindSafe(|| {
        let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return Some(Err(error.into())),
        };
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = killed.cancelled() => None,
                ended = run(access, stop) => Some(ended),
            }
        })
    }))
}

/// A program under test on its own thread. Dropping the value stops the program.
struct OwnThread {
    killer: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        self.killer.cancel();
        if let Some(thread) = self.thread.take() {
            // The result of the join is not needed: the thread has already sent the program's result through the channel.
            let _ = thread.join();
        }
    }
}

/// Suppresses the panic messages of mutants on standard error: the verdict of the case already contains them.
fn hide_panics() {
    static HIDDEN: Once = Once::new();
    HIDDEN.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if mutant::is_active(0) {
                usual(panic);
            }
        }));
    });
}
