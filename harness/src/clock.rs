//! The clock of a simulation, the time that its requests take, and the seeds of its parts. Runs nothing.

use std::cell::Cell;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// The time of day at which every simulation begins: 2026-01-01 00:00 UTC, in seconds since 1970.
const BEGIN_SECONDS: i64 = 1_767_225_600;

/// How long a request to the API server and a call of the driver take in a simulation: whoever repeats one without a pause would otherwise
/// keep the clock where it is.
pub(crate) const LATENCY: Duration = Duration::from_millis(5);

thread_local! {
    /// When the simulation of this thread began, and how often somebody has looked at the time since.
    static CLOCK: Cell<Option<(Instant, u32)>> = const { Cell::new(None) };
}

/// From now on, this thread runs a simulation that begins now.
pub(crate) fn begin() {
    CLOCK.set(Some((Instant::now(), 0)));
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
        begin();
        let first = time_of_day();
        assert_eq!(first.to_string(), "2026-01-01T00:00:00Z");
        let second = time_of_day();
        assert!(second > first);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(time_of_day().as_second(), first.as_second() + 5);
        CLOCK.set(None);
    }
}
