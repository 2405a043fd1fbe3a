//! Simulated time: a case runs on one thread, in memory, with a clock that advances only when all tasks are idle.
//!
//! Timers take no real time, and all random choices depend on the seed, so that the same seed results in the same journal. Does not know
//! cases, which `run` executes as in real time.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::plan::Plan;
use crate::run::{Outcome, run};
use crate::run_options::RunOptions;
use crate::start_error::StartError;
use crate::system::Systems;

/// Runs a plan until its verdict: in simulated time if the options have a seed, otherwise in real time. An error means that the case could
/// not run, for reasons other than the programs under test.
pub async fn run_in_real_or_simulated_time(
    plan: Arc<Plan>,
    systems: &Systems,
    options: RunOptions,
) -> Result<Outcome, StartError> {
    if options.seed.is_none() {
        return run(plan, systems, options).await;
    }
    let systems = systems.clone();
    // If the caller drops this future, the simulating thread must end too.
    let stop = CancellationToken::new();
    let _stop = stop.clone().drop_guard();
    let simulated = tokio::task::spawn_blocking(move || simulate_until(plan, &systems, options, &stop));
    simulated
        .await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// Runs a plan until its verdict in simulated time. Blocks the calling thread, which must not be a worker of an async runtime. Child
/// processes, a running driver and a real API server cannot be used, because they need real time.
///
/// Uses the seed of the options, or 0.
pub fn simulate(plan: Arc<Plan>, systems: &Systems, options: RunOptions) -> Result<Outcome, StartError> {
    simulate_until(plan, systems, options, &CancellationToken::new())
}

/// Maximum duration of a case in simulated time. A case is much shorter, because each step ends after some simulated seconds.
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
    // The case runs in a new thread, so that all thread-local state has its initial value.
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("simulation".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || simulate_on_this_thread(plan, systems, options, stop));
        let ended = thread.map_err(start_error("start a thread"))?.join();
        ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Stack size of the simulating thread: the usual size of a main thread.
const STACK_BYTES: usize = 8 << 20;

fn simulate_on_this_thread(
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
        clock::begin_simulated_time();
        tokio::select! {
            // The stop signal is polled first, because the run may always be ready, without simulated time advancing.
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
