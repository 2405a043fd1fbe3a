//! Simulated time: a case on one thread, in memory, with a clock that moves when nobody has anything left to do.
//!
//! What would wait for a second waits for no time at all, and the seed decides everything, so that the same seed gives the same journal.
//! Knows nothing of cases: `run` runs one as it always does.

use std::sync::Arc;

use crate::clock;
use crate::plan::Plan;
use crate::run::{Outcome, run};
use crate::run_options::RunOptions;
use crate::start_error::StartError;
use crate::system::Systems;

/// Runs a plan to its verdict: in simulated time where the options have a seed, and in real time otherwise. An error says that the case
/// could not be run, and nothing about the systems.
pub async fn run_as_chosen(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
) -> Result<Outcome, StartError> {
    if options.seed.is_none() {
        return run(plan, systems, options).await;
    }
    let systems = systems.clone();
    let simulated = tokio::task::spawn_blocking(move || simulate(plan, &systems, options));
    simulated
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Runs a plan to its verdict in simulated time. Blocks the thread that calls it, which must not be one that others wait for. Systems that
/// are processes of their own, a driver that runs already and a real API server can't take part: they live in real time.
///
/// The seed is that of the options, or 0.
pub fn simulate(plan: Arc<Plan>, systems: &Systems, options: RunOptions) -> Result<Outcome, StartError> {
    let options = RunOptions {
        seed: Some(options.seed.unwrap_or_default()),
        ..options
    };
    // A thread of its own: whatever is kept by thread begins anew.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("simulation".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || on_this_thread(plan, systems, options));
        let ended = thread.map_err(start_error("start a thread"))?.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

fn on_this_thread(plan: Arc<Plan>, systems: &Systems, options: RunOptions) -> Result<Outcome, StartError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(start_error("make a runtime"))?;
    runtime.block_on(async {
        clock::begin();
        run(plan, systems, options).await
    })
}

fn start_error(what: &'static str) -> impl Fn(std::io::Error) -> StartError {
    move |source| StartError::Io { what, source }
}
