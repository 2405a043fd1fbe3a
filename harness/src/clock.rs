//! Simulated time: the clock, the latency of requests, and random seeds for the parts of a simulation. Starts no tasks.

use std::cell::Cell;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Time of day at which every simulation starts: 2026-01-01 00:00 UTC, in seconds since the Unix epoch.
const BEGIN_SECONDS: i64 = 1_767_225_600;

/// Simulated latency of an API request and of a CSI call. Without latency, simulated time would not advance while a client retries without
/// delay.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);

thread_local! {
    /// Instant at which simulated time started on this thread, and the number of clock reads since that instant.
    static CLOCK: Cell<Option<(Instant, u32)>> = const { Cell::new(None) };
}

/// Starts simulated time on this thread.
pub(crate) fn begin_simulated_time() {
    CLOCK.set(Some((Instant::now(), 0)));
}

/// Time of day: simulated if this thread runs a simulation, otherwise real. No two calls return the same time, because programs derive
/// object names from it.
pub(crate) fn time_of_day() -> Timestamp {
    let Some((began, reads)) = CLOCK.get() else {
        return Timestamp::now();
    };
    CLOCK.set(Some((began, reads.wrapping_add(1))));
    let passed = began.elapsed() + Duration::from_nanos(reads.into());
    let begin = Timestamp::from_second(BEGIN_SECONDS).unwrap_or_default();
    begin
        .checked_add(SignedDuration::try_from(passed).unwrap_or_default())
        .unwrap_or(begin)
}

pub(crate) fn derive_seed(seed: u64, name: &str, number: u64) -> u64 {
    /// Offset basis of the hash FNV-1a (64 bits), which has the same result on all platforms and in all releases.
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
    fn every_part_of_a_simulation_has_a_different_seed() {
        let seeds = [
            derive_seed(1, "publisher", 1),
            derive_seed(2, "publisher", 1),
            derive_seed(1, "scheduler", 1),
            derive_seed(1, "publisher", 2),
        ];
        let different: std::collections::BTreeSet<_> = seeds.iter().collect();
        assert_eq!(different.len(), seeds.len());
        assert_eq!(seeds[0], derive_seed(1, "publisher", 1));
    }

    #[tokio::test(start_paused = true)]
    async fn time_of_day_follows_the_clock_and_never_repeats() {
        begin_simulated_time();
        let first = time_of_day();
        assert_eq!(first.to_string(), "2026-01-01T00:00:00Z");
        let second = time_of_day();
        assert!(second > first);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(time_of_day().as_second(), first.as_second() + 5);
        CLOCK.set(None);
    }
}
