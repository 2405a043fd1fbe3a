//! Simulated time: a case on one thread, in memory, with a clock that moves when nobody has anything left to do.
//!
//! What would wait for a second waits for no time at all, and the seed decides everything, so that the same seed gives the same journal.
//! Knows nothing of cases: `run` runs one as it always does.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

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
    // Whoever waits no longer must not leave a thread behind that simulates on.
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    let simulated = tokio::task::spawn_blocking(move || simulate_until(plan, &systems, options, &stop));
    simulated
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Runs a plan to its verdict in simulated time. Blocks the thread that calls it, which must not be one that others wait for. Systems that
/// are processes of their own, a driver that runs already and a real API server can't take part: they live in real time.
///
/// The seed is that of the options, or 0.
pub fn simulate(plan: Arc<Plan>, systems: &Systems, options: RunOptions) -> Result<Outcome, StartError> {
    simulate_until(plan, systems, options, &CancellationToken::new())
}

/// The longest that a case may take in simulated time: each of its steps ends after some seconds of it.
const LONGEST: Duration = Duration::from_secs(30 * 60);

fn simulate_until(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
    stop: &CancellationToken,
) -> Result<Outcome, StartError> {
    let options = RunOptions {
        seed: Some(options.seed.unwrap_or_default()),
        ..options
    };
    // A thread of its own: whatever is kept by thread begins anew.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("simulation".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || on_this_thread(plan, systems, options, stop));
        let ended = thread.map_err(start_error("start a thread"))?.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// What the main thread of a process has.
const STACK_BYTES: usize = 8 << 20;

fn on_this_thread(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
    stop: &CancellationToken,
) -> Result<Outcome, StartError> {
    let longest = LONGEST.mul_f64(options.patience);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(start_error("make a runtime"))?;
    runtime.block_on(async {
        clock::begin();
        tokio::select! {
            // It is asked for between two turns of others, though the clock may stand still.
            biased;
            () = stop.cancelled() => Err(StartError::Abandoned),
            ended = tokio::time::timeout(longest, run(plan, systems, options)) => {
                ended.unwrap_or(Err(StartError::Endless { longest }))
            }
        }
    })
}

fn start_error(what: &'static str) -> impl Fn(std::io::Error) -> StartError {
    move |source| StartError::Io { what, source }
}
