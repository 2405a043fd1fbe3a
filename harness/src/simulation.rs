//! Simulated time: a case on one thread, in memory, with a clock that moves when nobody has anything left to do.
//!
//! What would wait for a second waits for no time at all, and the seed decides everything, so that the same seed gives the same journal.
//! Knows nothing of cases: `run` runs one as it always does.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

use crate::plan::Plan;
use crate::run::{Outcome, run};
use crate::run_options::RunOptions;
use crate::start_error::StartError;
use crate::system::Systems;

/// The time of day at which every simulation begins: 2026-01-01 00:00 UTC, in seconds since 1970.
const BEGIN_SECONDS: i64 = 1_767_225_600;

/// How long a request to the API server and a call of the driver take in a simulation: whoever repeats one without a pause would otherwise
/// keep the clock where it is.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);

thread_local! {
    /// When the simulation of this thread began, and how often somebody has looked at the time since.
    static CLOCK: Cell<Option<(Instant, u32)>> = const { Cell::new(None) };
}

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
        CLOCK.set(Some((Instant::now(), 0)));
        run(plan, systems, options).await
    })
}

fn start_error(what: &'static str) -> impl Fn(std::io::Error) -> StartError {
    move |source| StartError::Io { what, source }
}

/// The time of day in the simulation of this thread. No two looks at it give the same, since names are made of it.
pub(crate) fn time_of_day() -> Timestamp {
    let Some((began, looks)) = CLOCK.get() else {
        return Timestamp::now();
    };
    CLOCK.set(Some((began, looks.wrapping_add(1))));
    let passed = began.elapsed() + Duration::from_nanos(looks.into());
    let begin = Timestamp::from_second(BEGIN_SECONDS).unwrap_or_default();
    begin
        .checked_add(SignedDuration::try_from(passed).unwrap_or_default())
        .unwrap_or(begin)
}

/// A seed for a part of a simulation: another for every name and every number.
pub(crate) fn derived(seed: u64, name: &str, number: u64) -> u64 {
    /// FNV-1a, 64 bits: the same everywhere and for ever.
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = seed.to_le_bytes().into_iter().chain(number.to_le_bytes());
    bytes
        .chain(name.bytes())
        .fold(BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_a_seed_of_its_own() {
        let seeds = [
            derived(1, "publisher", 1),
            derived(2, "publisher", 1),
            derived(1, "scheduler", 1),
            derived(1, "publisher", 2),
        ];
        let different: std::collections::BTreeSet<_> = seeds.iter().collect();
        assert_eq!(different.len(), seeds.len());
        assert_eq!(seeds[0], derived(1, "publisher", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_day_follows_the_clock_and_never_stands_still() {
        CLOCK.set(Some((Instant::now(), 0)));
        let first = time_of_day();
        assert_eq!(first.to_string(), "2026-01-01T00:00:00Z");
        let second = time_of_day();
        assert!(second > first);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(time_of_day().as_second(), first.as_second() + 5);
        CLOCK.set(None);
    }
}
